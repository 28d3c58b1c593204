// mbarrier: counts, phases, waits, what is told about them, and what is wrong with their use.
#include <algorithm>

#include "emu/fixture.h"
#include "emu/recording.h"
#include "race/checker.h"

namespace cohort::emu::test {
namespace {

std::string kernel(const std::string& code) {
  return std::string(kHeader) +
         ".visible .entry k(.param .u64 out)\n{\n.shared .align 8 .b8 bar[32];\n"
         ".shared .align 4 .b8 s[256];\n.reg .pred %p, %q;\n.reg .b32 %r<20>;\n"
         ".reg .b64 %to, %st<4>;\nld.param.u64 %to, [out];\nmov.u32 %r0, %tid.x;\n" +
         code + "ret;\n}\n";
}

struct Seen {
  Outcome outcome;
  std::vector<uint32_t> out;
  bool has(FaultCode code) const {
    return std::any_of(outcome.faults.begin(), outcome.faults.end(),
                       [&](const Fault& f) { return f.code == code; });
  }
};

Seen run_code(const std::string& code, uint32_t threads = 1, uint32_t ctas = 1,
              ScheduleSpec schedule = {}, Events* events = nullptr, bool checks = true) {
  FaultList list;
  const auto checker = race::make_checker(strict_rules(), list);
  RunInput in = simple(kernel(code), "k", {buffer_of(std::vector<uint32_t>(256))}, threads, ctas);
  in.launches[0].cluster = {ctas, 1, 1};
  in.schedule = std::move(schedule);
  in.events = events != nullptr ? events : checks ? checker.get() : nullptr;
  in.faults = &list;
  Seen seen;
  seen.outcome = run_input(std::move(in));
  seen.outcome.faults = list.faults();
  if (!seen.outcome.result.buffers.empty()) {
    seen.out = values_of<uint32_t>(seen.outcome.result.buffers[0]);
  }
  return seen;
}

FaultCode first(const Seen& s) {
  EXPECT_FALSE(s.outcome.faults.empty());
  return s.outcome.faults.empty() ? FaultCode::misuse : s.outcome.faults[0].code;
}

const std::string kInit3 = "mbarrier.init.shared::cta.b64 [bar], 3;\n";

TEST(Mbarrier, CountsArrivals) {
  const Seen s =
      run_code(kInit3 +
               "mbarrier.arrive.shared::cta.b64 %st0, [bar];\n"
               "mbarrier.pending_count.b64 %r1, %st0;\nst.global.u32 [%to], %r1;\n"
               "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %st1, [bar], 1;\n"
               "mbarrier.pending_count.b64 %r1, %st1;\nst.global.u32 [%to+4], %r1;\n"
               "mbarrier.test_wait.shared::cta.b64 %p, [bar], %st0;\nselp.u32 %r1, 1, 0, %p;\n"
               "st.global.u32 [%to+8], %r1;\n"
               "mbarrier.arrive.b64 %st2, [bar], 1;\n"
               "mbarrier.test_wait.shared::cta.b64 %p, [bar], %st0;\nselp.u32 %r1, 1, 0, %p;\n"
               "st.global.u32 [%to+12], %r1;\n"
               "mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], 0;\nselp.u32 %r1, 1, 0, %p;\n"
               "st.global.u32 [%to+16], %r1;\n"
               "mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], 1;\nselp.u32 %r1, 1, 0, %p;\n"
               "st.global.u32 [%to+20], %r1;\nmbarrier.inval.shared.b64 [bar];\n");
  // The generic form of arrive has an address of 64 bits or of the shared window: [bar] is one.
  EXPECT_TRUE(s.outcome.faults.empty());
  EXPECT_EQ(std::vector<uint32_t>(s.out.begin(), s.out.begin() + 6),
            (std::vector<uint32_t>{3, 2, 0, 1, 1, 0}));
}

TEST(Mbarrier, AFreshOneHasCompletedTheOddPhase) {
  const Seen s = run_code(kInit3 +
                          "mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 1;\n"
                          "selp.u32 %r1, 1, 0, %p;\nst.global.u32 [%to], %r1;\n");
  EXPECT_TRUE(s.outcome.faults.empty());
  EXPECT_EQ(s.out[0], 1u);
}

TEST(Mbarrier, DropsParticipants) {
  // Three, then two arrivals complete a phase.
  const Seen s =
      run_code(kInit3 +
               "mbarrier.arrive_drop.shared::cta.b64 %st0, [bar];\n"
               "mbarrier.arrive.shared::cta.b64 _, [bar], 2;\n"
               "mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], 0;\nselp.u32 %r1, 1, 0, %p;\n"
               "st.global.u32 [%to], %r1;\nmbarrier.arrive.shared::cta.b64 %st0, [bar], 2;\n"
               "mbarrier.pending_count.b64 %r1, %st0;\nst.global.u32 [%to+4], %r1;\n"
               "mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], 1;\nselp.u32 %r1, 1, 0, %p;\n"
               "st.global.u32 [%to+8], %r1;\n");
  EXPECT_TRUE(s.outcome.faults.empty());
  EXPECT_EQ(std::vector<uint32_t>(s.out.begin(), s.out.begin() + 3),
            (std::vector<uint32_t>{1, 2, 1}));
}

TEST(Mbarrier, WaitsForBytesThatMayComeFirst) {
  const std::string test =
      "mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], 0;\nselp.u32 %r1, 1, 0, %p;\n"
      "st.global.u32 [%to";
  const Seen s =
      run_code("mbarrier.init.b64 [bar], 1;\nmbarrier.complete_tx.relaxed.cta.b64 [bar], 64;\n" +
               test + "], %r1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 96;\n" + test +
               "+4], %r1;\nmbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 32;\n"
               "mbarrier.complete_tx.b64 [bar], 60;\n" +
               test + "+8], %r1;\nmbarrier.complete_tx.b64 [bar], 4;\n" + test + "+12], %r1;\n");
  EXPECT_TRUE(s.outcome.faults.empty());
  EXPECT_EQ(std::vector<uint32_t>(s.out.begin(), s.out.begin() + 4),
            (std::vector<uint32_t>{0, 0, 0, 1}));
}

TEST(Mbarrier, TellsWhoArrivesAndWaits) {
  Recording events;
  run_code(
      "mbarrier.init.shared::cta.b64 [bar], 2;\n"
      "mbarrier.arrive.release.cluster.shared::cta.b64 _, [bar];\n"
      "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [bar];\n"
      "mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], 1;\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [bar], 0;\n",
      1, 1, {}, &events);
  EXPECT_EQ(events.without("grid"),
            (std::vector<std::string>{"buffer 0 1024", "box w0 1024 8", "box w0 1024 8",
                                      "release w0 s0 cluster full", "box w0 1024 8",
                                      "release w0 s0 cta relaxed", "flip s0", "box w0 1024 8",
                                      "box w0 1024 8", "acquire w0 s0 cluster full", "end 0"}))
      << events.text();
}

TEST(Mbarrier, ReportsMisuse) {
  const auto code = [](const std::string& text, uint32_t threads = 1) {
    return first(run_code(text, threads, 1, {}, nullptr, false));
  };
  EXPECT_EQ(code("mbarrier.arrive.shared::cta.b64 _, [bar];\n"), FaultCode::barrier_invalid);
  EXPECT_EQ(code(kInit3 + "mbarrier.inval.b64 [bar];\nmbarrier.arrive.b64 _, [bar];\n"),
            FaultCode::barrier_invalid);
  EXPECT_EQ(code(kInit3 + kInit3), FaultCode::barrier_bytes);
  EXPECT_EQ(code(kInit3, 2), FaultCode::barrier_bytes);
  EXPECT_EQ(code(kInit3 + "ld.shared.u8 %r1, [bar+7];\n"), FaultCode::barrier_bytes);
  EXPECT_EQ(code(kInit3 + "st.shared.u32 [bar+4], %r0;\n"), FaultCode::barrier_bytes);
  EXPECT_EQ(code("mbarrier.init.b64 [bar+4], 1;\n"), FaultCode::alignment);
  EXPECT_EQ(code("mbarrier.init.b64 [bar+8192], 1;\n"), FaultCode::bounds);
  EXPECT_EQ(code("mbarrier.init.b64 [bar], 0;\n"), FaultCode::barrier_overflow);
  EXPECT_EQ(code("mbarrier.init.b64 [bar], 1048576;\n"), FaultCode::barrier_overflow);
  EXPECT_EQ(code(kInit3 + "mbarrier.arrive.b64 _, [bar], 4;\n"), FaultCode::barrier_underflow);
  EXPECT_EQ(code(kInit3 + "mbarrier.arrive.b64 _, [bar], 0;\n"), FaultCode::barrier_overflow);
  EXPECT_EQ(code(kInit3 + "mbarrier.expect_tx.b64 [bar], 1048576;\n"), FaultCode::barrier_overflow);
  EXPECT_EQ(code(kInit3 + "mbarrier.expect_tx.b64 [bar], 16;\n"), FaultCode::barrier_unmet);
  EXPECT_EQ(code(kInit3 + "mbarrier.test_wait.parity.b64 %p, [bar], 2;\n"), FaultCode::misuse);
  EXPECT_EQ(code(kInit3 + "mbarrier.arrive.noComplete.b64 %st0, [bar], 3;\n"), FaultCode::misuse);
  EXPECT_EQ(code(kInit3 + "mbarrier.arrive.b64 _, [bar], 3;\nmbarrier.arrive.b64 _, [bar];\n"),
            FaultCode::barrier_unobserved);
  // Bytes beside a live object are free, and so are its own after inval.
  EXPECT_TRUE(run_code(kInit3 + "st.shared.u32 [bar+8], %r0;\nmbarrier.inval.b64 [bar];\n"
                                "st.shared.u64 [bar], %to;\n")
                  .outcome.faults.empty());
}

TEST(Mbarrier, ReportsWaitsThatLag) {
  const std::string arrive = "mbarrier.arrive.shared::cta.b64 ";
  const std::string wait = "mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], ";
  // One thread waits for phase 0, another for 1 and 2; then the first comes for phase 1.
  const std::string code =
      "setp.eq.u32 %q, %r0, 0;\n@%q mbarrier.init.b64 [bar], 1;\nbar.warp.sync -1;\n@%q " + arrive +
      "%st0, [bar];\n@%q " + wait + "0;\n@%q " + arrive + "_, [bar];\n@!%q " + wait + "1;\n@%q " +
      arrive + "_, [bar];\n@!%q " + wait + "0;\n@%q ";
  EXPECT_EQ(first(run_code(code + wait + "1;\n", 2)), FaultCode::barrier_lag);
  EXPECT_EQ(first(run_code(code + "mbarrier.test_wait.b64 %p, [bar], %st0;\n", 2)),
            FaultCode::barrier_lag);
}

// One stage: warp 0 fills it four times, warp 1 reads it.
std::string ring(const std::string& wait_empty, const std::string& wait_full,
                 const std::string& arrive_full, const std::string& arrive_empty,
                 const std::string& full_count = "32") {
  return "setp.ne.u32 %p, %r0, 0;\n@%p bra S;\nmbarrier.init.shared::cta.b64 [bar], " + full_count +
         ";\nmbarrier.init.shared::cta.b64 [bar+8], 32;\nS:\nbar.sync 0;\n"
         "mov.u32 %r1, 0;\nand.b32 %r2, %r0, 31;\nmov.u32 %r3, s;\nmad.lo.u32 %r3, %r2, 4, %r3;\n"
         "setp.ge.u32 %p, %r0, 32;\n@%p bra C;\n"
         "P:\nand.b32 %r4, %r1, 1;\nxor.b32 %r4, %r4, 1;\n" +
         wait_empty + "mad.lo.u32 %r5, %r1, 100, %r2;\nst.shared.u32 [%r3], %r5;\n" + arrive_full +
         "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, 4;\n@%p bra P;\nret;\n"
         "C:\nmad.wide.u32 %to, %r2, 4, %to;\n"
         "D:\nand.b32 %r4, %r1, 1;\n" +
         wait_full + "ld.shared.u32 %r5, [%r3];\nst.global.u32 [%to], %r5;\n" + arrive_empty +
         "add.u64 %to, %to, 128;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, 4;\n@%p bra D;\n";
}
const std::string kWaitEmpty =
    "W:\nmbarrier.try_wait.parity.shared::cta.b64 %q, [bar+8], %r4;\n@!%q bra W;\n";
const std::string kWaitFull =
    "V:\nmbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %q, [bar], %r4, 1000;\n@!%q bra V;\n";
const std::string kArriveFull = "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];\n";
const std::string kArriveEmpty = "mbarrier.arrive.shared::cta.b64 %st0, [bar+8];\n";

ScheduleSpec spec(ScheduleKind kind, uint64_t seed) {
  ScheduleSpec s;
  s.kind = kind;
  s.seed = seed;
  return s;
}

TEST(MbarrierRing, IsSound) {
  for (const ScheduleKind kind :
       {ScheduleKind::random, ScheduleKind::in_order, ScheduleKind::starve}) {
    for (uint64_t seed = 1; seed < 12; ++seed) {
      const Seen s =
          run_code(ring(kWaitEmpty, kWaitFull, kArriveFull, kArriveEmpty), 64, 1, spec(kind, seed));
      EXPECT_TRUE(s.outcome.faults.empty()) << code_of(first(s));
      ASSERT_TRUE(s.outcome.result.completed);
      for (uint32_t k = 0; k < 128; ++k) ASSERT_EQ(s.out[k], k / 32 * 100 + k % 32);
    }
  }
}

TEST(MbarrierRing, IsReportedWithoutItsParts) {
  const auto caught = [&](const std::string& code, std::initializer_list<FaultCode> wanted) {
    for (uint64_t seed = 1; seed < 6; ++seed) {
      const Seen s = run_code(code, 64, 1, spec(ScheduleKind::random, seed));
      if (std::none_of(wanted.begin(), wanted.end(), [&](FaultCode c) { return s.has(c); })) {
        return false;
      }
    }
    return true;
  };
  using enum FaultCode;
  EXPECT_TRUE(caught(ring("", kWaitFull, kArriveFull, kArriveEmpty),
                     {race, barrier_unobserved, barrier_underflow}));
  EXPECT_TRUE(caught(ring(kWaitEmpty, "", kArriveFull, kArriveEmpty),
                     {race, uninitialised, barrier_underflow}));
  EXPECT_TRUE(caught(ring(kWaitEmpty, kWaitFull, "", kArriveEmpty), {deadlock}));
  EXPECT_TRUE(caught(ring(kWaitEmpty, kWaitFull, kArriveFull, ""), {deadlock}));
  EXPECT_TRUE(caught(ring(kWaitEmpty, kWaitFull, kArriveFull, kArriveEmpty, "31"),
                     {barrier_underflow, barrier_unobserved}));
  EXPECT_TRUE(caught(
      ring(kWaitEmpty, kWaitFull, "mbarrier.arrive.relaxed.cta.b64 _, [bar];\n", kArriveEmpty),
      {relaxed}));
}

TEST(MbarrierRing, SaysWhatAWaitLacks) {
  const Seen s = run_code(
      ring(kWaitEmpty, kWaitFull, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n",
           kArriveEmpty, "33"),
      64);
  EXPECT_FALSE(s.outcome.result.completed);
  EXPECT_TRUE(s.has(FaultCode::deadlock));
  ASSERT_EQ(s.outcome.result.waiting.size(), 2u);
  EXPECT_EQ(describe(s.outcome.result.waiting[1]),
            "warp 1 of CTA 0, lanes 0xffffffff: wait for the mbarrier at shared offset 1024, whose "
            "phase lacks 1 arrivals and 512 bytes");
  const Seen t = run_code(
      ring(kWaitEmpty, kWaitFull, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n",
           kArriveEmpty, "32"),
      64);
  EXPECT_TRUE(t.has(FaultCode::barrier_unmet));
}

// In every kind of schedule a wait blocks in the end, and no spinning hides that nothing goes on.
TEST(MbarrierRing, IsADeadlockInEveryKindOfSchedule) {
  for (const ScheduleKind kind :
       {ScheduleKind::random, ScheduleKind::in_order, ScheduleKind::starve}) {
    const Seen s = run_code(ring(kWaitEmpty, kWaitFull, "", kArriveEmpty), 64, 1, spec(kind, 3));
    EXPECT_TRUE(s.has(FaultCode::deadlock)) << static_cast<int>(kind);
    EXPECT_FALSE(s.has(FaultCode::livelock)) << static_cast<int>(kind);
  }
}

// Each CTA writes into its neighbour and arrives there.
std::string neighbours(const std::string& arrive) {
  return "mov.u32 %r1, %cluster_ctarank;\nxor.b32 %r2, %r1, 1;\nmov.u32 %r3, bar;\n"
         "mov.u32 %r4, s;\nmapa.shared::cluster.u32 %r5, %r3, %r2;\n"
         "mapa.shared::cluster.u32 %r6, %r4, %r2;\nmbarrier.init.shared::cta.b64 [bar], 1;\n"
         "fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
         "st.shared::cluster.u32 [%r6], %r2;\n" +
         arrive +
         "W:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [bar], 0;\n@!%p bra W;\n"
         "ld.shared.u32 %r7, [s];\nmad.wide.u32 %to, %r1, 4, %to;\nst.global.u32 [%to], %r7;\n"
         "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
}

TEST(Mbarrier, ArrivesInAnotherCta) {
  for (uint64_t seed = 1; seed < 6; ++seed) {
    const ScheduleSpec any = spec(ScheduleKind::random, seed);
    const Seen s = run_code(
        neighbours("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];\n"), 1, 2, any);
    EXPECT_TRUE(s.outcome.faults.empty());
    EXPECT_EQ(s.out[0], 0u);
    EXPECT_EQ(s.out[1], 1u);
    EXPECT_TRUE(run_code(neighbours("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r5];\n"),
                         1, 2, any)
                    .has(FaultCode::scope));
    EXPECT_EQ(first(run_code(neighbours("mbarrier.arrive.shared::cta.b64 _, [%r5];\n"), 1, 2, any)),
              FaultCode::misuse);
  }
}

}  // namespace
}  // namespace cohort::emu::test
