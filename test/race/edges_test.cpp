// What orders threads of several CTAs and relaxed operations, strong accesses, mbarriers, grids.
#include <gtest/gtest.h>

#include <utility>

#include "race/stream.h"

namespace {

using namespace cohort::race_test;

constexpr Space kShared = Space::shared;
constexpr Space kGlobal = Space::global;
const Seen kRace = {FaultCode::race, Missing::edge};

TEST(Scopes, OfACtaOrderNothingAcrossCtas) {
  const std::pair<Scope, Scope> narrow[] = {{Scope::cta, Scope::cluster},
                                            {Scope::cluster, Scope::cta},
                                            {Scope::unspelled, Scope::cluster},
                                            {Scope::cluster, Scope::unspelled}};
  for (const auto& [release, acquire] : narrow) {
    Stream r(cohort::emu::strict_rules(), {.ctas = 2, .warps_per_cta = 1, .cluster_size = 2});
    const Bar b = r.bar();
    r.warp(0).write(kShared, 1, 0).arrive(b, release);
    r.warp(1).acquire(b, acquire).read(kShared, 1, 0);
    EXPECT_EQ(r.found(), (Faults{{FaultCode::scope, Missing::wider_scope}}));
  }
}

TEST(Scopes, ThatIncludeEachOtherOrder) {
  Stream r(cohort::emu::strict_rules(), {.ctas = 4, .warps_per_cta = 1, .cluster_size = 2});
  r.buffer(0, 4096);
  const Bar b = r.bar();
  const Bar c = r.bar();
  r.warp(0).write(kShared, 1, 0).arrive(b, Scope::cluster);
  r.warp(1).acquire(b, Scope::cluster).read(kShared, 1, 0);
  r.warp(1).write(kGlobal, 0, 0).arrive(c, Scope::cluster);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(2).acquire(c, Scope::gpu).read(kGlobal, 0, 0);
  EXPECT_EQ(r.found(), (Faults{{FaultCode::scope, Missing::wider_scope}})) << "another cluster";
  r.warp(1).arrive(c, Scope::gpu);
  r.warp(3).acquire(c, Scope::sys).read(kGlobal, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Scopes, UnspelledIsAClusterInPractice) {
  Stream r(cohort::emu::practice_rules(), {.ctas = 2, .warps_per_cta = 1, .cluster_size = 2});
  const Bar b = r.bar();
  r.warp(0).write(kShared, 1, 0).arrive(b);
  r.warp(1).acquire(b).read(kShared, 1, 0);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(0).write(kShared, 1, 0).arrive(b, Scope::cta);
  EXPECT_EQ(r.found(), Faults{kRace}) << "warp 1 read it";
  r.warp(1).acquire(b).read(kShared, 1, 0);
  EXPECT_EQ(r.found(), (Faults{{FaultCode::scope, Missing::wider_scope}})) << "spelled .cta";
}

TEST(Relaxed, OrdersNothingByItself) {
  const std::pair<Order, Order> weak[] = {{Order::relaxed, Order::full},
                                          {Order::full, Order::relaxed},
                                          {Order::relaxed, Order::relaxed}};
  for (const auto& [release, acquire] : weak) {
    Stream r;
    const Bar b = r.bar();
    r.warp(0).write(kShared, 0, 0).arrive(b, Scope::cta, release);
    r.warp(1).acquire(b, Scope::cta, acquire).read(kShared, 0, 0);
    EXPECT_EQ(r.found(), (Faults{{FaultCode::relaxed, Missing::memory_fence}}));
  }
}

TEST(Relaxed, WithFencesOrders) {
  Stream r;
  const Bar b = r.bar();
  r.warp(0).write(kShared, 0, 0).fence(Fence::memory, Scope::cta).write(kShared, 0, 128);
  r.warp(0).arrive(b, Scope::cta, Order::relaxed);
  r.warp(1).acquire(b, Scope::cta, Order::relaxed).fence(Fence::memory, Scope::cta);
  r.warp(1).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(1).read(kShared, 0, 128);
  EXPECT_EQ(r.found(), (Faults{{FaultCode::relaxed, Missing::memory_fence}})) << "after the fence";
}

TEST(Relaxed, TheScopeOfTheFenceCounts) {
  for (const bool writer_is_wide : {false, true}) {
    for (const bool reader_is_wide : {false, true}) {
      Stream r(cohort::emu::strict_rules(), {.ctas = 2, .warps_per_cta = 1});
      r.buffer(0, 4096);
      const Bar b = r.bar();
      r.warp(0).write(kGlobal, 0, 0);
      r.warp(0).fence(Fence::memory, writer_is_wide ? Scope::gpu : Scope::cta);
      r.warp(0).arrive(b, Scope::gpu, Order::relaxed);
      r.warp(1).acquire(b, Scope::gpu, Order::relaxed);
      r.warp(1).fence(Fence::memory, reader_is_wide ? Scope::gpu : Scope::cta);
      r.warp(1).read(kGlobal, 0, 0);
      EXPECT_EQ(r.found().empty(), writer_is_wide && reader_is_wide);
    }
  }
}

TEST(Strong, AccessesOfMutualScopesDoNotRace) {
  Stream r(cohort::emu::strict_rules(), {.ctas = 2, .warps_per_cta = 1});
  r.buffer(0, 4096);
  const auto update = [&](uint32_t warp, Scope scope, uint8_t bytes) {
    r.warp(warp).lane(0).access(Kind::update, kGlobal, 0, 0, bytes, 0, scope);
  };
  update(0, Scope::gpu, 4);
  update(1, Scope::gpu, 4);
  EXPECT_EQ(r.found(), Faults{});
  update(0, Scope::cta, 4);
  EXPECT_EQ(r.found(), (Faults{{FaultCode::atomic, Missing::mutual_scope}}));
  update(1, Scope::gpu, 8);
  EXPECT_EQ(r.found(), (Faults{{FaultCode::atomic, Missing::mutual_scope}}));
  update(0, Scope::gpu, 4);
  EXPECT_EQ(r.found(), (Faults{{FaultCode::atomic, Missing::same_bytes}}));
  r.warp(1).lane(0).access(Kind::read, kGlobal, 0, 0, 4, 0);
  EXPECT_EQ(r.found(), Faults{kRace}) << "a weak read";
}

// A strong write races with the weak read that a strong one of the same lane followed, and with a
// strong read of another size.
TEST(Strong, AReadDoesNotStandForAnotherKindOfRead) {
  for (const uint8_t bytes : {uint8_t{4}, uint8_t{8}}) {
    for (const bool others : {false, true}) {
      Stream r(cohort::emu::strict_rules(), {.ctas = 1, .warps_per_cta = 4});
      r.buffer(0, 4096);
      const auto read = [&](uint32_t warp, uint8_t size, Scope scope) {
        r.warp(warp).lane(0).access(Kind::read, kGlobal, 0, 0, size, 0, scope);
      };
      if (others) read(2, 4, Scope::gpu);
      read(0, bytes, bytes == 4 ? Scope::weak : Scope::gpu);
      if (others) read(3, 4, Scope::gpu);
      read(0, 4, Scope::gpu);
      r.warp(1).lane(0).access(Kind::write, kGlobal, 0, 0, 4, 0, Scope::gpu);
      EXPECT_EQ(r.found(),
                bytes == 4 ? Faults{kRace} : (Faults{{FaultCode::atomic, Missing::same_bytes}}));
    }
  }
}

TEST(Strong, AReleaseSequenceGoesThroughUpdates) {
  for (const bool keep : {false, true}) {
    Stream r(cohort::emu::strict_rules(), {.ctas = 3, .warps_per_cta = 1});
    r.buffer(0, 4096);
    const Bar word = r.bar();
    r.warp(0).write(kGlobal, 0, 0).arrive(word, Scope::gpu);
    r.warp(1).release(word, Scope::gpu, Order::relaxed);
    r.flip(word, keep);
    r.warp(2).acquire(word, Scope::gpu).read(kGlobal, 0, 0);
    EXPECT_EQ(r.found(), keep ? Faults{} : Faults{kRace});
  }
}

TEST(Barriers, OperationsDoNotRaceAndTheirLifetimeIsChecked) {
  const Box init = {kShared, Proxy::generic, Kind::barrier_init, 0, 64, 8};
  const Box arrive = {kShared, Proxy::generic, Kind::barrier, 0, 64, 8};
  const Box inval = {kShared, Proxy::generic, Kind::barrier_inval, 0, 64, 8};
  const Seen lifetime = {FaultCode::lifetime, Missing::edge};
  Stream r;
  r.warp(0).lane(0).touch(init);
  r.warp(1).touch(arrive);
  EXPECT_EQ(r.found(), Faults{lifetime}) << "init is not visible";
  r.barrier({r.warp(0), r.warp(1), r.warp(2)});
  r.warp(0).lane(0).touch(arrive);
  r.warp(1).touch(arrive);
  r.warp(2).lane(0).touch(arrive);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(0).lane(0).touch(inval);
  EXPECT_EQ(r.found(), (Faults{lifetime, lifetime})) << "warps 1 and 2 still use it";
  r.warp(0).lane(0).access(Kind::read, kShared, 0, 64, 4, 0);
  EXPECT_EQ(r.found(), (Faults{{FaultCode::uninitialised, Missing::nothing}}));
}

TEST(Grids, AreOrderedUnlessTheyOverlap) {
  Stream r(cohort::emu::strict_rules(), {.ctas = 1, .warps_per_cta = 1});
  r.buffer(0, 4096, false);
  r.warp(0).write(kGlobal, 0, 0);
  r.grid({.ctas = 1, .warps_per_cta = 1}, false);
  r.warp(1).read(kGlobal, 0, 0).write(kGlobal, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(1).read(kGlobal, 0, 128);
  EXPECT_EQ(r.found(), (Faults{{FaultCode::uninitialised, Missing::nothing}}));
  const Bar end = r.bar();
  r.warp(1).arrive(end, Scope::gpu, Order::grid);
  r.grid({.ctas = 1, .warps_per_cta = 1}, true);
  r.warp(2).read(kGlobal, 0, 0);
  EXPECT_EQ(r.found(), Faults{kRace}) << "no griddepcontrol.wait";
  r.warp(2).acquire(end, Scope::gpu, Order::grid).write(kGlobal, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
}

}  // namespace
