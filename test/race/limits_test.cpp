// What a run costs, and what happens when a limit is passed.
#include <gtest/gtest.h>

#include <string>

#include "base/diagnostics.h"
#include "race/stream.h"

namespace {

using namespace cohort::race_test;
using cohort::base::FindingsError;

template <class F>
std::string limit_of(F&& f) {
  try {
    f();
  } catch (const FindingsError& error) {
    EXPECT_EQ(error.findings.kind(), cohort::ErrorKind::limit);
    return std::string(error.findings.text());
  }
  return {};
}

TEST(Memory, UntouchedMemoryCostsATableAtMost) {
  Stream r;
  r.buffer(0, uint64_t{1} << 30);
  EXPECT_LE(r.checker().usage().shadow_bytes, uint64_t{64} << 10);
  // The last word of it.
  r.warp(0).lane(0).access(Kind::write, Space::global, 0, (uint64_t{1} << 30) - 4, 4, 0);
  EXPECT_LE(r.checker().usage().shadow_bytes, uint64_t{64} << 10);
}

TEST(Memory, FourBytesAByteByWordsAndSixteenByBytes) {
  for (const uint8_t bytes : {uint8_t{4}, uint8_t{1}}) {
    Stream r;
    constexpr uint64_t kWindow = uint64_t{128} << 10;
    for (uint64_t at = 0; at < kWindow; at += 32 * uint64_t{bytes}) {
      r.warp(0).access(Kind::write, Space::shared, 0, at, bytes, bytes);
    }
    const double ratio = static_cast<double>(r.checker().usage().shadow_bytes) / kWindow;
    EXPECT_GE(ratio, bytes == 4 ? 4.0 : 16.0);
    EXPECT_LE(ratio, bytes == 4 ? 4.2 : 16.2);
  }
}

TEST(Memory, OfACtaIsGivenBackAtItsEnd) {
  Stream r(cohort::emu::strict_rules(), {.ctas = 2, .warps_per_cta = 1});
  r.warp(0).write(Space::shared, 0, 0);
  r.warp(1).write(Space::shared, 1, 0);
  const uint64_t both = r.checker().usage().shadow_bytes;
  r.checker().end_cta(0);
  EXPECT_LT(r.checker().usage().shadow_bytes, both);
  r.warp(1).read(Space::shared, 1, 0);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Memory, OperationsThatAreCompleteCostNothingMore) {
  Stream r;
  r.buffer(0, 4096);
  const cohort::emu::Who who = {{0}, 1, 7};
  const auto round = [&](int times) {
    for (int i = 0; i < times; ++i) {
      const cohort::emu::OpId op = r.checker().begin(who, Agent::copy);
      r.checker().access(op, Box{Space::global, Proxy::async, Kind::read, 0, 0, 128});
      r.checker().end(op);
      r.checker().drain(who, op, Covers::all);
    }
    return r.checker().usage().knowledge_bytes;
  };
  const uint64_t first = round(100);
  EXPECT_EQ(round(1000), first);
}

TEST(Limits, OfAgentsEndInWords) {
  EXPECT_NE(limit_of([] {
              Stream r(cohort::emu::strict_rules(), {.ctas = 1000, .warps_per_cta = 32});
              r.grid({.ctas = 2000, .warps_per_cta = 32}, true);
            }).find("at most 65534 warps and operations"),
            std::string::npos);
}

TEST(Limits, OfOpenOperationsEndInWords) {
  Stream r(cohort::emu::strict_rules(), {.ctas = 800, .warps_per_cta = 32});
  EXPECT_NE(limit_of([&] {
              for (int i = 0; i < 70000; ++i) r.checker().end(r.warp(0).lane(0).copy().id());
            }).find("warps and operations"),
            std::string::npos);
}

TEST(Limits, OfTicksEndInWords) {
  Stream r(cohort::emu::strict_rules(), {.ctas = 1, .warps_per_cta = 1});
  const cohort::emu::Who who = {{0}, kAll, 1};
  EXPECT_NE(limit_of([&] {
              for (uint32_t i = 0; i < (uint32_t{1} << 24); ++i) r.checker().warp_sync(who);
            }).find("at most 16777215 synchronising instructions of a warp"),
            std::string::npos);
}

TEST(Limits, OfSitesEndInWords) {
  Stream r;
  uint64_t offset[32] = {};
  EXPECT_NE(
      limit_of([&] {
        for (uint32_t pc = 0; pc < 140000; ++pc) {
          r.checker().access({{{0}, 1, pc}, Space::shared, Kind::write, Scope::weak, 4, 0, offset});
        }
      }).find("instructions that touch memory"),
      std::string::npos);
}

}  // namespace
