// Control flow: divergence, loops, calls, what compilers make of C++.
#include "emu/fixture.h"

namespace cohort::emu::test {
namespace {

TEST(Control, LoopsAsOftenAsEachLaneWants) {
  std::vector<In> in;
  for (uint64_t l = 0; l < 96; ++l) in.push_back({l % 7, 3, l});
  const auto out = apply(
      "mov.b32 %d, 0;\nL:\nsetp.eq.b32 %p, %a, 0;\n@%p bra E;\nadd.u32 %d, %d, %b;\n"
      "sub.u32 %a, %a, 1;\nand.b32 %i, %d, 1;\nsetp.eq.b32 %q, %i, 1;\n@%q add.u32 %d, %d, 1;\n"
      "bra L;\nE:\n",
      {"b32", "b32", "b32"}, in);
  for (size_t i = 0; i < in.size(); ++i) {
    uint32_t d = 0;
    for (uint64_t k = 0; k < in[i].a; ++k) {
      d += 3;
      if (d % 2 == 1) ++d;
    }
    ASSERT_EQ(out[i], d) << i;
  }
}

TEST(Control, JumpsByIndex) {
  std::vector<In> in;
  for (uint64_t l = 0; l < 64; ++l) in.push_back({l % 3, l, 0});
  const auto out = apply(
      "T: .branchtargets A, B, C;\nbrx.idx %a, T;\nA:\nmov.b32 %d, 10;\nbra E;\nB:\nmov.b32 %d, "
      "20;\nbra E;\nC:\nmov.b32 %d, 30;\nE:\nadd.u32 %d, %d, %b;\n",
      {"b32", "b32", "b32"}, in);
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], 10 * (i % 3 + 1) + i);
}

TEST(Control, ExpandsCalls) {
  const std::string text =
      std::string(kHeader) +
      ".func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %r<3>;\n.reg .pred %p;\n"
      "ld.param.b32 %r1, [x];\nadd.u32 %r2, %r1, %r1;\nsetp.gt.u32 %p, %r1, 5;\n@%p bra L;\n"
      "st.param.b32 [r], %r2;\nret;\nL:\nst.param.b32 [r], 99;\nret;\n}\n"
      ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<5>;\n.reg .b64 %to;\n.reg .pred %p;\n"
      "ld.param.u64 %to, [out];\nmov.u32 %r0, %tid.x;\nmov.b32 %r1, 1000;\n"
      "setp.lt.u32 %p, %r0, 8;\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r0;\n"
      "@%p call.uni (b), twice, (a);\n@%p ld.param.b32 %r1, [b];\n}\n"
      "mad.wide.u32 %to, %r0, 4, %to;\nst.global.u32 [%to], %r1;\nret;\n}\n";
  const Outcome o = run_input(simple(text, "k", {buffer_of(std::vector<uint32_t>(32))}, 32));
  const auto out = values_of<uint32_t>(o.result.buffers[0]);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t >= 8 ? 1000 : t > 5 ? 99 : 2 * t);
}

TEST(Control, RefusesRecursion) {
  const std::string text = std::string(kHeader) +
                           ".func f()\n{\ncall f;\nret;\n}\n.visible .entry k()\n{\ncall f;\n"
                           "ret;\n}\n";
  auto module = ptx::parse(text);
  ASSERT_TRUE(module) << module.findings().text();
  const auto kernel = decode(*module, "k");
  ASSERT_FALSE(kernel);
  EXPECT_NE(std::string(kernel.findings().text()).find("recursion"), std::string::npos);
}

TEST(Control, LetsLanesOfOneWarpWaitForEachOther) {
  // Lane 0 spins until lane 1 has stored: the lower address spins.
  const std::string text =
      std::string(kHeader) +
      ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<5>;\n.reg .b64 %to;\n.reg .pred %p;\n"
      "ld.param.u64 %to, [out];\nmov.u32 %r0, %tid.x;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra B;\n"
      "A:\nld.acquire.gpu.global.u32 %r1, [%to];\nsetp.eq.u32 %p, %r1, 0;\n@%p bra A;\n"
      "st.global.u32 [%to+4], 1;\nret;\nB:\nst.release.gpu.global.u32 [%to], 1;\nret;\n}\n";
  for (const auto kind : {ScheduleKind::random, ScheduleKind::in_order}) {
    RunInput in = simple(text, "k", {buffer_of(std::vector<uint32_t>(2))}, 2);
    in.schedule.kind = kind;
    const Outcome o = run_input(in);
    EXPECT_TRUE(o.result.completed);
    EXPECT_EQ(values_of<uint32_t>(o.result.buffers[0]), (std::vector<uint32_t>{1, 1}));
  }
}

TEST(Control, FindsALivelock) {
  const std::string text =
      std::string(kHeader) +
      ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r;\n.reg .b64 %to;\n.reg .pred %p;\n"
      "ld.param.u64 %to, [out];\nA:\nld.acquire.gpu.global.u32 %r, [%to];\n"
      "setp.eq.u32 %p, %r, 0;\n@%p bra A;\nret;\n}\n";
  RunInput in = simple(text, "k", {buffer_of(std::vector<uint32_t>(1))}, 1);
  in.limits.idle_instructions = 100000;
  const Outcome o = run_input(in);
  EXPECT_FALSE(o.result.completed);
  ASSERT_EQ(o.faults.size(), 1u);
  EXPECT_EQ(o.faults[0].code, FaultCode::livelock);
}

TEST(Control, StopsAtATrap) {
  const std::string text = std::string(kHeader) + ".visible .entry k()\n{\ntrap;\nret;\n}\n";
  const Outcome o = run_input(simple(text, "k", {}, 32));
  EXPECT_FALSE(o.result.completed);
  ASSERT_EQ(o.faults.size(), 1u);
  EXPECT_EQ(o.faults[0].code, FaultCode::trap);
}

TEST(Control, PrintsAndAsserts) {
  const std::string text = file("print.ptx");
  RunInput in = simple(text, "print", {}, 2);
  in.schedule.kind = ScheduleKind::in_order;
  Arguments a;
  a.add(7);
  in.launches[0].arguments = a.bytes();
  const Outcome o = run_input(in);
  EXPECT_EQ(o.result.printed, "thread 0 of 2: 3.50 text 100%\nthread 1 of 2: 4.50 text 100%\n");
  in.launches[0].arguments = Arguments().add(-1).bytes();
  const Outcome failed = run_input(in);
  EXPECT_FALSE(failed.result.completed);
  EXPECT_NE(failed.result.printed.find("assertion `n > 0` failed"), std::string::npos);
  ASSERT_EQ(failed.faults.size(), 1u);
  EXPECT_EQ(failed.faults[0].code, FaultCode::trap);
}

TEST(Control, KnowsWhereThreadsStand) {
  const std::string text =
      std::string(kHeader) +
      ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<30>;\n.reg .b64 %to;\n"
      "ld.param.u64 %to, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.z;\n"
      "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ctaid.y;\nmov.u32 %r5, %nctaid.x;\n"
      "mov.u32 %r6, %ntid.x;\nmov.u32 %r7, %ntid.y;\nmad.lo.u32 %r8, %r4, %r5, %r3;\n"
      "mad.lo.u32 %r9, %r2, %r7, %r1;\nmad.lo.u32 %r9, %r9, %r6, %r0;\nmul.lo.u32 %r8, %r8, 24;\n"
      "add.u32 %r9, %r9, %r8;\nmov.u32 %r10, %cluster_ctarank;\nmad.lo.u32 %r10, %r10, 1000, %r9;\n"
      "mad.wide.u32 %to, %r9, 4, %to;\nst.global.u32 [%to], %r10;\nret;\n}\n";
  RunInput in = simple(text, "k", {buffer_of(std::vector<uint32_t>(24 * 8))}, 1);
  in.launches[0].block = {4, 3, 2};
  in.launches[0].grid = {4, 2, 1};
  in.launches[0].cluster = {2, 2, 1};
  const auto out = values_of<uint32_t>(run_input(in).result.buffers[0]);
  for (uint32_t i = 0; i < 24 * 8; ++i) {
    const uint32_t x = i / 24 % 4;
    const uint32_t y = i / 24 / 4;
    EXPECT_EQ(out[i], (x % 2 + 2 * y) * 1000 + i);
  }
}

TEST(Control, WaitsForTheGridBefore) {
  const std::string text =
      std::string(kHeader) +
      ".visible .entry first(.param .u64 out)\n{\n.reg .b32 %r<3>;\n.reg .b64 %to;\n"
      "ld.param.u64 %to, [out];\ngriddepcontrol.launch_dependents;\nmov.u32 %r0, %ctaid.x;\n"
      "add.u32 %r1, %r0, 5;\nmad.wide.u32 %to, %r0, 4, %to;\nst.global.u32 [%to], %r1;\nret;\n}\n"
      ".visible .entry second(.param .u64 out)\n{\n.reg .b32 %r<3>;\n.reg .b64 %to;\n"
      "ld.param.u64 %to, [out];\ngriddepcontrol.wait;\nmov.u32 %r0, %ctaid.x;\n"
      "mad.wide.u32 %to, %r0, 4, %to;\nld.global.u32 %r1, [%to];\nmul.lo.u32 %r1, %r1, 2;\n"
      "st.global.u32 [%to], %r1;\nret;\n}\n";
  for (uint64_t seed = 1; seed < 20; ++seed) {
    RunInput in = simple(text, "first", {buffer_of(std::vector<uint32_t>(8))}, 1, 8);
    in.launches.push_back(in.launches[0]);
    in.launches[1].kernel = kernel_of(text, "second");
    in.launches[1].programmatic = true;
    in.schedule.seed = seed;
    const auto out = values_of<uint32_t>(run_input(in).result.buffers[0]);
    for (uint32_t i = 0; i < 8; ++i) ASSERT_EQ(out[i], 2 * (i + 5));
  }
}

}  // namespace
}  // namespace cohort::emu::test
