// The machine and the race checker together: what the watcher concludes from a run.
#include "race/checker.h"

#include <algorithm>

#include "emu/fixture.h"

namespace cohort::emu::test {
namespace {

// Faults of a run under the text's rules.
std::vector<Fault> watched(const std::string& code, uint64_t seed, uint32_t threads = 64) {
  const std::string text =
      std::string(kHeader) +
      ".visible .entry k(.param .u64 out)\n{\n.shared .align 4 .b8 s[512];\n.reg .pred %p;\n"
      ".reg .b32 %r<9>;\n.reg .b64 %to;\nld.param.u64 %to, [out];\nmov.u32 %r0, %tid.x;\n"
      "mov.u32 %r2, s;\nmad.lo.u32 %r3, %r0, 4, %r2;\n" +
      code + "ret;\n}\n";
  FaultList list;
  const auto checker = race::make_checker(strict_rules(), list);
  RunInput in = simple(text, "k", {buffer_of(std::vector<uint32_t>(64))}, threads);
  in.schedule.seed = seed;
  in.events = checker.get();
  in.faults = &list;
  EXPECT_TRUE(run_input(std::move(in)).result.completed);
  return list.faults();
}

std::string exchange(const std::string& barrier) {
  return "st.shared.u32 [%r3], %r0;\n" + barrier +
         "xor.b32 %r4, %r0, 33;\nmad.lo.u32 %r5, %r4, 4, %r2;\nld.shared.u32 %r6, [%r5];\n";
}

bool has(const std::vector<Fault>& faults, FaultCode code) {
  return std::any_of(faults.begin(), faults.end(), [&](const Fault& f) { return f.code == code; });
}

TEST(Race, IsFoundWhereABarrierIsMissing) {
  for (uint64_t seed = 1; seed < 10; ++seed) {
    EXPECT_TRUE(watched(exchange("bar.sync 0;\n"), seed).empty()) << seed;
    const auto faults = watched(exchange("bar.warp.sync -1;\n"), seed);
    EXPECT_TRUE(has(faults, FaultCode::race) || has(faults, FaultCode::uninitialised)) << seed;
  }
}

TEST(Race, IsFoundBetweenLanesOfAWarp) {
  const std::string code =
      "st.shared.u32 [%r3], %r0;\n%sxor.b32 %r4, %r0, 1;\n"
      "mad.lo.u32 %r5, %r4, 4, %r2;\nld.shared.u32 %r6, [%r5];\n";
  const auto with = [&](const std::string& sync) {
    std::string c = code;
    return c.replace(c.find("%s"), 2, sync);
  };
  EXPECT_TRUE(watched(with("bar.warp.sync -1;\n"), 1).empty());
  EXPECT_TRUE(has(watched(with(""), 1), FaultCode::race));
}

TEST(Race, KnowsReleaseAndAcquire) {
  // Warp 0 stores data and raises a flag; warp 1 waits for it and reads.
  const auto code = [](const std::string& store, const std::string& load) {
    return "setp.ge.u32 %p, %r0, 32;\n@%p bra B;\nst.shared.u32 [%r3], %r0;\nbar.warp.sync -1;\n"
           "setp.ne.u32 %p, %r0, 0;\n@%p ret;\n" +
           store +
           " [%to], 1;\nret;\nB:\n"
           "setp.ne.u32 %p, %r0, 32;\n@%p ret;\nL:\n" +
           load +
           " %r4, [%to];\n"
           "setp.eq.u32 %p, %r4, 0;\n@%p bra L;\nld.shared.u32 %r5, [s+8];\n";
  };
  for (uint64_t seed = 1; seed < 5; ++seed) {
    EXPECT_TRUE(
        watched(code("st.release.gpu.global.u32", "ld.acquire.gpu.global.u32"), seed).empty());
    EXPECT_TRUE(has(watched(code("st.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32"), seed),
                    FaultCode::relaxed));
    EXPECT_TRUE(
        watched(code("fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32"),
                seed)
            .empty());
  }
}

TEST(Race, FindsReadsOfWhatNobodyWrote) {
  EXPECT_TRUE(has(watched("ld.shared.u32 %r5, [s+8];\n", 1), FaultCode::uninitialised));
}

}  // namespace
}  // namespace cohort::emu::test
