// Warps that wait for each other, and what the watcher is told about it.
#include "emu/fixture.h"
#include "emu/recording.h"

namespace cohort::emu::test {
namespace {

// out[t] = shared[(t + 37) % n] after each thread has stored its index.
std::string exchange(const std::string& barrier) {
  return std::string(kHeader) +
         ".visible .entry k(.param .u64 out)\n{\n.shared .align 4 .b8 s[1024];\n"
         ".reg .b32 %r<9>;\n.reg .b64 %to;\n.reg .pred %p;\n"
         "ld.param.u64 %to, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ntid.x;\n"
         "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r0, 4, %r2;\nst.shared.u32 [%r3], %r0;\n" +
         barrier +
         "add.u32 %r4, %r0, 37;\nrem.u32 %r4, %r4, %r1;\nmad.lo.u32 %r5, %r4, 4, %r2;\n"
         "ld.shared.u32 %r6, [%r5];\nmad.wide.u32 %to, %r0, 4, %to;\n"
         "st.global.u32 [%to], %r6;\nret;\n}\n";
}

TEST(NamedBarrier, OrdersTheWarpsOfACta) {
  for (uint64_t seed = 1; seed < 30; ++seed) {
    RunInput in =
        simple(exchange("bar.sync 0;\n"), "k", {buffer_of(std::vector<uint32_t>(224))}, 224);
    in.schedule.seed = seed;
    const Outcome o = run_input(in);
    ASSERT_TRUE(o.result.completed);
    const auto out = values_of<uint32_t>(o.result.buffers[0]);
    for (uint32_t t = 0; t < 224; ++t) ASSERT_EQ(out[t], (t + 37) % 224) << seed;
  }
}

TEST(NamedBarrier, IsMissedWhenItIsNotThere) {
  // Some schedule reads before the neighbour has written: this is what the barrier is for.
  bool wrong = false;
  for (uint64_t seed = 1; seed < 30 && !wrong; ++seed) {
    RunInput in = simple(exchange(""), "k", {buffer_of(std::vector<uint32_t>(224))}, 224);
    in.schedule.seed = seed;
    const auto out = values_of<uint32_t>(run_input(in).result.buffers[0]);
    for (uint32_t t = 0; t < 224; ++t) wrong = wrong || out[t] != (t + 37) % 224;
  }
  EXPECT_TRUE(wrong);
}

TEST(NamedBarrier, TellsReleaseFlipAcquire) {
  RunInput in = simple(exchange("bar.sync 0;\n"), "k", {buffer_of(std::vector<uint32_t>(64))}, 64);
  in.schedule.kind = ScheduleKind::in_order;
  Recording events;
  in.events = &events;
  run_input(in);
  EXPECT_EQ(events.of_kind("access shared"),
            (std::vector<std::string>{
                "access shared write w0 ffffffff 1024 4", "access shared write w1 ffffffff 1152 4",
                "access shared read w1 ffffffff 1044 4", "access shared read w0 ffffffff 1172 4"}))
      << events.text();
  EXPECT_EQ(events.without("access"),
            (std::vector<std::string>{"buffer 0 256", "grid w0 c0 1x2", "release w0 s0 cta full",
                                      "release w1 s0 cta full", "flip s0", "acquire w0 s0 cta full",
                                      "acquire w1 s0 cta full", "end 0"}))
      << events.text();
}

TEST(NamedBarrier, ReportsWhatADeadlockWaitsFor) {
  const std::string text = std::string(kHeader) +
                           ".visible .entry k()\n{\n.reg .pred %p;\n.reg .b32 %r;\n"
                           "mov.u32 %r, %tid.x;\nsetp.lt.u32 %p, %r, 32;\n@%p bra A;\n"
                           "bar.sync 3, 64;\nret;\nA:\nbar.sync 4, 64;\nret;\n}\n";
  const Outcome o = run_input(simple(text, "k", {}, 64));
  EXPECT_FALSE(o.result.completed);
  ASSERT_EQ(o.faults.size(), 2u);
  EXPECT_EQ(o.faults[0].code, FaultCode::deadlock);
  ASSERT_EQ(o.result.waiting.size(), 2u);
  EXPECT_EQ(describe(o.result.waiting[0]),
            "warp 0 of CTA 0, lanes 0xffffffff: wait at barrier 4 for 64 threads");
  EXPECT_EQ(describe(o.result.waiting[1]),
            "warp 1 of CTA 0, lanes 0xffffffff: wait at barrier 3 for 64 threads");
}

TEST(NamedBarrier, CountsThreadsThatVote) {
  const std::string text = std::string(kHeader) +
                           ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p, %q;\n"
                           ".reg .b32 %r<4>;\n.reg .b64 %to;\nld.param.u64 %to, [out];\n"
                           "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %p, %r0, 50;\n"
                           "bar.red.popc.u32 %r1, 0, %p;\nbar.red.and.pred %q, 0, %p;\n"
                           "selp.b32 %r2, 1000, 0, %q;\nbar.red.or.pred %q, 0, %p;\n"
                           "selp.b32 %r3, 2000, 0, %q;\nadd.u32 %r1, %r1, %r2;\n"
                           "add.u32 %r1, %r1, %r3;\nmad.wide.u32 %to, %r0, 4, %to;\n"
                           "st.global.u32 [%to], %r1;\nret;\n}\n";
  const Outcome o = run_input(simple(text, "k", {buffer_of(std::vector<uint32_t>(96))}, 96));
  EXPECT_EQ(values_of<uint32_t>(o.result.buffers[0]), std::vector<uint32_t>(96, 2050));
}

TEST(NamedBarrier, ForgetsThreadsThatHaveEnded) {
  const std::string text = std::string(kHeader) +
                           ".visible .entry k()\n{\n.reg .pred %p;\n.reg .b32 %r;\n"
                           "mov.u32 %r, %tid.x;\nsetp.ge.u32 %p, %r, 32;\n@%p exit;\n"
                           "bar.sync 0;\nret;\n}\n";
  EXPECT_TRUE(run_input(simple(text, "k", {}, 128)).result.completed);
}

TEST(ClusterBarrier, OrdersTheCtasOfACluster) {
  // Each CTA stores to its neighbour's shared memory, then reads its own.
  const std::string text =
      std::string(kHeader) +
      ".visible .entry k(.param .u64 out)\n{\n.shared .align 4 .b8 s[4];\n.reg .b32 %r<9>;\n"
      ".reg .b64 %to;\nld.param.u64 %to, [out];\nmov.u32 %r0, %cluster_ctarank;\n"
      "add.u32 %r1, %r0, 1;\nand.b32 %r1, %r1, 3;\nmov.u32 %r2, s;\n"
      "mapa.shared::cluster.u32 %r3, %r2, %r1;\nmov.u32 %r4, %ctaid.x;\n"
      "st.shared::cluster.u32 [%r3], %r4;\n"
      "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
      "ld.shared.u32 %r5, [s];\nmad.wide.u32 %to, %r4, 4, %to;\nst.global.u32 [%to], %r5;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nret;\n}\n";
  RunInput in = simple(text, "k", {buffer_of(std::vector<uint32_t>(8))}, 1, 8);
  in.launches[0].cluster = {4, 1, 1};
  for (uint64_t seed = 1; seed < 20; ++seed) {
    in.schedule.seed = seed;
    const Outcome o = run_input(in);
    ASSERT_TRUE(o.result.completed);
    EXPECT_EQ(values_of<uint32_t>(o.result.buffers[0]),
              (std::vector<uint32_t>{3, 0, 1, 2, 7, 4, 5, 6}));
  }
}

TEST(WarpSync, MeetsAtDifferentPlaces) {
  const std::string text =
      std::string(kHeader) +
      ".visible .entry k(.param .u64 out)\n{\n.shared .align 4 .b8 s[8];\n.reg .pred %p;\n"
      ".reg .b32 %r<4>;\n.reg .b64 %to;\nld.param.u64 %to, [out];\nmov.u32 %r0, %tid.x;\n"
      "setp.lt.u32 %p, %r0, 16;\n@%p bra A;\nmov.b32 %r1, 7;\nst.shared.u32 [s], %r1;\n"
      "bar.warp.sync -1;\nret;\nA:\nbar.warp.sync -1;\nld.shared.u32 %r2, [s];\n"
      "mad.wide.u32 %to, %r0, 4, %to;\nst.global.u32 [%to], %r2;\nret;\n}\n";
  RunInput in = simple(text, "k", {buffer_of(std::vector<uint32_t>(16))}, 32);
  Recording events;
  in.events = &events;
  const Outcome o = run_input(in);
  ASSERT_TRUE(o.result.completed);
  EXPECT_EQ(values_of<uint32_t>(o.result.buffers[0]), std::vector<uint32_t>(16, 7));
  EXPECT_EQ(events.of_kind("warp_sync"), std::vector<std::string>{"warp_sync w0 ffffffff"});
}

TEST(WarpSync, HangsWhenALaneNeverComes) {
  const std::string text = std::string(kHeader) +
                           ".visible .entry k()\n{\n.reg .pred %p;\n.reg .b32 %r;\n"
                           "mov.u32 %r, %tid.x;\nsetp.eq.u32 %p, %r, 0;\n@%p bra A;\n"
                           "bar.warp.sync -1;\nret;\nA:\nbar.sync 1, 64;\nret;\n}\n";
  const Outcome o = run_input(simple(text, "k", {}, 64));
  EXPECT_FALSE(o.result.completed);
  ASSERT_FALSE(o.faults.empty());
  EXPECT_EQ(o.faults[0].code, FaultCode::divergence);
}

}  // namespace
}  // namespace cohort::emu::test
