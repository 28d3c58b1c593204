// Loads, stores and atomic operations in every space, and what the watcher is told.
#include "emu/fixture.h"
#include "emu/recording.h"

namespace cohort::emu::test {
namespace {

std::string body(const std::string& code) {
  return std::string(kHeader) +
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .pred %p;\n"
         ".reg .b16 %h<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .b128 %q<3>;\n"
         ".shared .align 16 .b8 s[512];\n.local .align 16 .b8 l[64];\n"
         "ld.param.u64 %rd0, [in];\nld.param.u64 %rd1, [out];\nmov.u32 %r0, %tid.x;\n" +
         code + "ret;\n}\n";
}

std::vector<uint32_t> counting(size_t n) {
  std::vector<uint32_t> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<uint32_t>(i * 0x01010101);
  return v;
}

Outcome run_body(const std::string& code, std::vector<uint32_t> in, size_t out, uint32_t threads,
                 Events* events = nullptr) {
  RunInput input =
      simple(body(code), "k", {buffer_of(in), buffer_of(std::vector<uint32_t>(out))}, threads);
  input.schedule.kind = ScheduleKind::in_order;
  input.events = events;
  return run_input(std::move(input));
}

TEST(Memory, LoadsExtendByTheirType) {
  const Outcome o = run_body(
      "ld.global.u8 %r1, [%rd0];\nld.global.s8 %r2, [%rd0+1];\nld.global.s16 %r3, [%rd0+2];\n"
      "ld.global.s8 %rd2, [%rd0+1];\nst.global.v2.b32 [%rd1], {%r1, %r2};\n"
      "st.global.u32 [%rd1+8], %r3;\nst.global.u8 [%rd1+12], %rd2;\nst.global.b64 [%rd1+16], "
      "%rd2;\n",
      {0x80FF9081}, 6, 1);
  EXPECT_EQ(values_of<uint32_t>(o.result.buffers[1]),
            (std::vector<uint32_t>{0x81, 0xFFFFFF90, 0xFFFF80FF, 0x90, 0xFFFFFF90, 0xFFFFFFFF}));
}

TEST(Memory, MovesVectorsUpTo256Bits) {
  const Outcome o = run_body(
      "mul.wide.u32 %rd2, %r0, 32;\nadd.s64 %rd3, %rd0, %rd2;\nadd.s64 %rd4, %rd1, %rd2;\n"
      "ld.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd3];\n"
      "st.global.v4.b32 [%rd4], {%r8, %r7, %r6, %r5};\n"
      "ld.global.v2.b64 {%rd5, %rd6}, [%rd3];\nst.global.v2.b64 [%rd4+16], {%rd5, %rd6};\n",
      counting(64), 64, 8);
  const auto in = counting(64);
  const auto out = values_of<uint32_t>(o.result.buffers[1]);
  for (size_t t = 0; t < 8; ++t) {
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(out[8 * t + k], in[8 * t + 7 - k]);
      EXPECT_EQ(out[8 * t + 4 + k], in[8 * t + k]);
    }
  }
}

TEST(Memory, ReachesLocalSharedAndParametersGenerically) {
  const Outcome o = run_body(
      "mov.u64 %rd2, l;\ncvta.local.u64 %rd3, %rd2;\nmov.u64 %rd4, s;\ncvta.shared.u64 %rd5, "
      "%rd4;\nmul.wide.u32 %rd6, %r0, 4;\nadd.s64 %rd5, %rd5, %rd6;\nadd.u32 %r1, %r0, 100;\n"
      "st.u32 [%rd3+4], %r1;\nst.u32 [%rd5], %r0;\nld.local.u32 %r2, [l+4];\n"
      "add.s64 %rd4, %rd4, %rd6;\nld.shared.u32 %r3, [%rd4];\n"
      "mov.b64 %rd7, in;\ncvta.param.u64 %rd7, %rd7;\nld.u64 %rd8, [%rd7];\n"
      "setp.ne.b64 %p, %rd8, %rd0;\n@%p trap;\nisspacep.shared %p, %rd5;\n@!%p trap;\n"
      "isspacep.local %p, %rd3;\n@!%p trap;\nisspacep.global %p, %rd1;\n@!%p trap;\n"
      "mad.lo.u32 %r4, %r2, 1000, %r3;\nadd.s64 %rd9, %rd1, %rd6;\nst.global.u32 [%rd9], %r4;\n",
      {}, 64, 64);
  ASSERT_TRUE(o.result.completed);
  const auto out = values_of<uint32_t>(o.result.buffers[1]);
  for (uint32_t t = 0; t < 64; ++t) EXPECT_EQ(out[t], (t + 100) * 1000 + t);
}

TEST(Memory, LanesOfOneInstructionMayReachDifferentSpaces) {
  const Outcome o = run_body(
      "mov.u64 %rd4, s;\ncvta.shared.u64 %rd5, %rd4;\nst.shared.u32 [s], 77;\n"
      "setp.lt.u32 %p, %r0, 10;\nselp.b64 %rd6, %rd5, %rd0, %p;\nld.u32 %r1, [%rd6];\n"
      "mul.wide.u32 %rd7, %r0, 4;\nadd.s64 %rd8, %rd1, %rd7;\nst.global.u32 [%rd8], %r1;\n",
      {55}, 32, 32);
  const auto out = values_of<uint32_t>(o.result.buffers[1]);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 10 ? 77u : 55u);
}

TEST(Memory, MovesB128) {
  const Outcome o = run_body(
      "ld.global.b128 %q1, [%rd0];\nmov.b128 {%rd2, %rd3}, %q1;\nmov.b128 %q2, {%rd3, %rd2};\n"
      "st.global.b128 [%rd1], %q2;\n",
      {1, 2, 3, 4}, 4, 1);
  EXPECT_EQ(values_of<uint32_t>(o.result.buffers[1]), (std::vector<uint32_t>{3, 4, 1, 2}));
}

void expect_fault(const std::string& code, FaultCode want, uint64_t offset) {
  const Outcome o = run_body(code, counting(16), 16, 1);
  EXPECT_FALSE(o.result.completed) << code;
  ASSERT_EQ(o.faults.size(), 1u) << code;
  EXPECT_EQ(o.faults[0].code, want) << code;
  EXPECT_EQ(o.faults[0].offset, offset) << code;
}

TEST(Memory, FindsWhatIsOutOfBounds) {
  expect_fault("ld.global.u32 %r1, [%rd0+64];\n", FaultCode::bounds, 64);
  expect_fault("ld.global.u64 %rd2, [%rd0+60];\n", FaultCode::bounds, 60);
  expect_fault("ld.global.u32 %r1, [%rd0+2];\n", FaultCode::alignment, 2);
  expect_fault("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+8];\n", FaultCode::alignment, 8);
  expect_fault("st.shared.u32 [s+512], %r0;\n", FaultCode::bounds, 1024 + 512);
  expect_fault("st.shared.u32 [0], %r0;\n", FaultCode::bounds, 0);
  expect_fault("st.local.u32 [l+64], %r0;\n", FaultCode::bounds, 64);
  expect_fault("mov.u64 %rd2, in;\ncvta.param.u64 %rd2, %rd2;\nst.u64 [%rd2], %rd2;\n",
               FaultCode::read_only, 0);
  expect_fault("mov.u64 %rd2, 1234;\nld.u32 %r1, [%rd2];\n", FaultCode::bounds, 1234);
}

TEST(Memory, TellsScopesAndOrders) {
  Recording events;
  run_body(
      "st.release.gpu.global.u32 [%rd1], 1;\nld.acquire.cluster.global.u32 %r1, [%rd1];\n"
      "ld.relaxed.sys.global.u32 %r1, [%rd1+4];\nst.volatile.shared.u32 [s], %r1;\n"
      "fence.acq_rel.gpu;\nfence.proxy.async.shared::cta;\nst.global.u16 [%rd1+8], %r1;\n",
      {}, 16, 1, &events);
  EXPECT_EQ(
      events.lines(),
      (std::vector<std::string>{
          "buffer 0 0", "buffer 1 64", "grid w0 c0 1x1", "access global write w0 00000001 0 4 gpu",
          "release w0 s0 gpu full", "flip s0", "access global read w0 00000001 0 4 cluster",
          "acquire w0 s0 cluster full", "access global read w0 00000001 4 4 sys",
          "acquire w0 s1 sys relaxed", "access shared write w0 00000001 1024 4 sys",
          "release w0 s2 sys relaxed", "flip s2", "fence w0 0 gpu", "fence w0 1 sys",
          "access global write w0 00000001 8 2", "end 0"}))
      << events.text();
}

TEST(Atomic, UpdatesLaneAfterLane) {
  const Outcome o = run_body(
      "atom.global.add.u32 %r1, [%rd1], 3;\nred.global.max.s32 [%rd1+4], %r0;\n"
      "atom.global.exch.b32 %r2, [%rd1+8], %r0;\natom.global.inc.u32 %r3, [%rd1+12], 9;\n"
      "atom.global.cas.b32 %r4, [%rd1+16], 0, 5;\nred.global.or.b32 [%rd1+20], %r0;\n"
      "cvt.rn.f32.u32 %r5, %r0;\nred.global.add.f32 [%rd1+24], %r5;\n"
      "atom.global.add.u64 %rd2, [%rd1+32], 1;\n",
      {}, 10, 32);
  const auto out = values_of<uint32_t>(o.result.buffers[1]);
  EXPECT_EQ(out[0], 96u);
  EXPECT_EQ(out[1], 31u);
  EXPECT_EQ(out[2], 31u);
  EXPECT_EQ(out[3], 2u);
  EXPECT_EQ(out[4], 5u);
  EXPECT_EQ(out[5], 31u);
  EXPECT_EQ(out[6], std::bit_cast<uint32_t>(496.0f));
  EXPECT_EQ(out[8], 32u);
}

TEST(Atomic, AddsVectorsOfFloats) {
  const Outcome o = run_body(
      "mov.b32 %r1, 0f3F800000;\nmov.b32 %r2, 0f40000000;\nmov.b32 %r6, 0x3C004000;\n"
      "red.global.add.v2.f32 [%rd1], {%r1, %r2};\n"
      "atom.global.add.v4.f32 {%r7, %r8, %r9, %r10}, [%rd1+16], {%r1, %r2, %r1, %r2};\n"
      "red.global.add.noftz.f16x2 [%rd1+8], %r6;\n"
      "red.global.add.noftz.v2.bf16x2 [%rd1+32], {%r6, %r6};\n",
      {}, 10, 4);
  const auto out = values_of<uint32_t>(o.result.buffers[1]);
  EXPECT_EQ(std::bit_cast<float>(out[0]), 4.0f);
  EXPECT_EQ(std::bit_cast<float>(out[1]), 8.0f);
  EXPECT_EQ(out[2], 0x44004800u);  // 4 * 1 and 4 * 2 as f16
  EXPECT_EQ(std::bit_cast<float>(out[7]), 8.0f);
  EXPECT_EQ(out[8], 0x3D004100u);  // 4 * 2^-7 (0x3C00) and 4 * 2 as bf16
}

TEST(Atomic, TellsAnUpdate) {
  Recording events;
  run_body("atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 3;\nred.shared.add.u32 [s], 1;\n", {}, 4,
           1, &events);
  EXPECT_EQ(events.of_kind("access"),
            (std::vector<std::string>{"access global update w0 00000001 0 4 gpu",
                                      "access shared update w0 00000001 1024 4 gpu"}));
  EXPECT_EQ(events.of_kind("flip"), (std::vector<std::string>{"flip s0 keep", "flip s1 keep"}));
  EXPECT_EQ(events.of_kind("acquire"), std::vector<std::string>{"acquire w0 s0 gpu full"});
}

}  // namespace
}  // namespace cohort::emu::test
