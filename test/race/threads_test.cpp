// Threads and memory: order within a warp, barriers, scopes, strong accesses, cells.
#include <gtest/gtest.h>

#include <utility>

#include "race/stream.h"

namespace {

using namespace cohort::race_test;

constexpr Space kShared = Space::shared;
constexpr Space kGlobal = Space::global;
const Seen kRace = {FaultCode::race, Missing::edge};

TEST(Warps, WithoutABarrierRace) {
  Stream r;
  r.warp(0).write(kShared, 0, 0);
  r.warp(1).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{kRace});
}

TEST(Warps, ABarrierOrders) {
  Stream r;
  r.warp(0).write(kShared, 0, 0);
  r.barrier({r.warp(0), r.warp(1)});
  r.warp(1).read(kShared, 0, 0);
  r.warp(1).write(kShared, 0, 128);
  r.barrier({r.warp(0), r.warp(1)});
  r.warp(0).write(kShared, 0, 0);
  r.warp(0).read(kShared, 0, 128);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Warps, OneThatIsNotAtTheBarrierRaces) {
  Stream r;
  r.warp(0).write(kShared, 0, 0);
  r.barrier({r.warp(0), r.warp(1)});
  r.warp(2).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{kRace});
}

TEST(Warps, AReadAfterTheReleaseIsNotCovered) {
  Stream r;
  const Bar b = r.bar();
  r.warp(0).write(kShared, 0, 0).arrive(b).read(kShared, 0, 0);
  r.warp(1).acquire(b).write(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{kRace});
}

TEST(Warps, KnowledgeIsPassedOn) {
  Stream r;
  const Bar first = r.bar();
  const Bar second = r.bar();
  r.warp(0).write(kShared, 0, 0).arrive(first);
  r.warp(1).acquire(first).arrive(second);
  r.warp(2).acquire(second).write(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Warps, AnAcquireGetsThePhaseThatWasFlipped) {
  Stream r;
  const Bar b = r.bar();
  r.warp(0).write(kShared, 0, 0).arrive(b);
  r.warp(2).write(kShared, 0, 256).release(b);  // of the next phase
  r.warp(1).acquire(b).read(kShared, 0, 0).read(kShared, 0, 256);
  EXPECT_EQ(r.found(), Faults{kRace});
}

TEST(Warps, AFaultNamesBothAccesses) {
  Stream r;
  r.warp(3).lane(7).access(Kind::write, kShared, 0, 64, 4, 0);
  r.warp(2).lane(9).access(Kind::read, kShared, 0, 64, 4, 0);
  ASSERT_EQ(r.faults().size(), 1U);
  const cohort::emu::Fault& f = r.faults()[0];
  EXPECT_EQ(f.earlier.by.warp, 3U);
  EXPECT_EQ(f.earlier.by.lanes, uint32_t{1} << 7);
  EXPECT_EQ(f.earlier.kind, Kind::write);
  EXPECT_EQ(f.earlier.pc, 100U);
  EXPECT_EQ(f.now.by.warp, 2U);
  EXPECT_EQ(f.now.by.lanes, uint32_t{1} << 9);
  EXPECT_EQ(f.now.kind, Kind::read);
  EXPECT_EQ(f.now.pc, 101U);
  EXPECT_EQ(f.space, kShared);
  EXPECT_EQ(f.block, 0U);
  EXPECT_EQ(f.offset, 64U);
  EXPECT_EQ(f.bytes, 4U);
  EXPECT_FALSE(f.now.by.is_operation);
}

TEST(Warps, AFaultIsFoldedPerPairOfInstructions) {
  Stream r;
  r.warp(0).write(kShared, 0, 0);
  r.warp(1).read(kShared, 0, 0);
  ASSERT_EQ(r.faults().size(), 1U);
  EXPECT_EQ(r.faults()[0].count, 32U);
}

TEST(Lanes, OfOneWarpRaceWithoutAWarpSync) {
  Stream r;
  r.warp(0).lane(0).access(Kind::write, kShared, 0, 0, 4, 0);
  r.warp(0).lane(1).access(Kind::read, kShared, 0, 0, 4, 0);
  EXPECT_EQ(r.found(), Faults{kRace});
  r.warp(0).sync();
  r.warp(0).lane(2).access(Kind::read, kShared, 0, 0, 4, 0);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Lanes, ALaneKnowsItself) {
  Stream r;
  r.warp(0).write(kShared, 0, 0).read(kShared, 0, 0).write(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Lanes, AnElectedArriveHandsOnThatLaneOnly) {
  Stream r;
  const Bar b = r.bar();
  r.warp(0).write(kShared, 0, 0).lane(0).arrive(b);
  r.warp(1).acquire(b);
  r.warp(1).lane(0).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(1).lane(1).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{kRace});
}

TEST(Lanes, AWarpSyncBeforeTheElectedArriveHandsOnAll) {
  Stream r;
  const Bar b = r.bar();
  r.warp(0).write(kShared, 0, 0).sync().lane(0).arrive(b);
  r.warp(1).acquire(b).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Lanes, AnElectedWaitIsKnownToThatLaneUntilAWarpSync) {
  Stream r;
  const Bar b = r.bar();
  r.warp(0).write(kShared, 0, 0).arrive(b);
  r.warp(1).lane(3).acquire(b);
  r.warp(1).lane(3).access(Kind::read, kShared, 0, 0, 4, 0);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(1).lane(4).access(Kind::read, kShared, 0, 4, 4, 0);
  EXPECT_EQ(r.found(), Faults{kRace});
  r.warp(1).sync().read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Lanes, HalvesThatArriveApartCoverTheWarp) {
  Stream r;
  const Bar b = r.bar();
  // All lanes read one word: one epoch stands for them.
  r.warp(0).lane(0).access(Kind::write, kShared, 0, 0, 4, 0);
  r.warp(0).sync().access(Kind::read, kShared, 0, 0, 4, 0);
  r.warp(0).only(0xffff).release(b);
  r.warp(0).only(0xffff0000).arrive(b);
  r.warp(1).acquire(b).lane(0).access(Kind::write, kShared, 0, 0, 4, 0);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Lanes, HalfThatArrivesCoversItsReadsOnly) {
  for (const uint32_t readers : {0x0000ffffU, 0x0001ffffU}) {
    Stream r;
    const Bar b = r.bar();
    r.warp(0).lane(0).access(Kind::write, kShared, 0, 0, 4, 0);
    r.warp(0).sync().only(readers).access(Kind::read, kShared, 0, 0, 4, 0);
    r.warp(0).only(0xffff).arrive(b);
    r.warp(1).acquire(b).lane(0).access(Kind::write, kShared, 0, 0, 4, 0);
    EXPECT_EQ(r.found(), readers == 0xffff ? Faults{} : Faults{kRace});
  }
}

TEST(Lanes, APartOfAWarpIsAWholeOne) {
  Stream r(cohort::emu::strict_rules(), {.ctas = 1, .warps_per_cta = 2, .threads_per_cta = 40});
  const Bar b = r.bar();
  r.warp(1).only(0xff).write(kShared, 0, 0);
  r.warp(1).only(0xff).arrive(b);
  r.warp(0).acquire(b).read(kShared, 0, 0);
  // Lanes 8 to 31 of what warp 0 reads were never written.
  EXPECT_EQ(r.found(), (Faults{{FaultCode::uninitialised, Missing::nothing}}));
  EXPECT_EQ(r.faults()[0].count, 24U);
}

TEST(Lanes, OfOneStoreToOneWord) {
  Stream strict;
  strict.warp(0).access(Kind::write, kShared, 0, 0, 4, 0);
  EXPECT_EQ(strict.found(), Faults{kRace});
  Stream practice(cohort::emu::practice_rules());
  practice.warp(0).access(Kind::write, kShared, 0, 0, 4, 0);
  EXPECT_EQ(practice.found(), Faults{});
  practice.warp(0).lane(1).access(Kind::write, kShared, 0, 0, 4, 0);
  EXPECT_EQ(practice.found(), Faults{kRace}) << "another instruction";
}

TEST(Cells, NeighboursOfAWordDoNotRace) {
  Stream r;
  r.warp(0).access(Kind::write, kShared, 0, 0, 4, 8);
  r.warp(1).access(Kind::write, kShared, 0, 4, 4, 8);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Cells, BytesOfAWordAreApart) {
  Stream r;
  r.warp(0).access(Kind::write, kShared, 0, 0, 1, 4);
  r.warp(1).access(Kind::write, kShared, 0, 1, 1, 4);
  r.warp(2).access(Kind::write, kShared, 0, 2, 2, 4);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(3).access(Kind::write, kShared, 0, 3, 1, 4);
  EXPECT_EQ(r.found(), Faults{kRace});
}

TEST(Cells, AWordThatBecomesBytesKeepsItsReaders) {
  Stream r;
  r.warp(0).write(kShared, 0, 0);
  r.barrier({r.warp(0), r.warp(1), r.warp(2), r.warp(3)});
  r.warp(1).read(kShared, 0, 0);
  r.warp(2).read(kShared, 0, 0);
  r.barrier({r.warp(1), r.warp(3)});
  r.warp(3).access(Kind::write, kShared, 0, 2, 1, 4);
  EXPECT_EQ(r.found(), Faults{kRace}) << "with warp 2";
  EXPECT_EQ(r.faults()[0].earlier.by.warp, 2U);
}

TEST(Cells, WideAccessesAcrossPages) {
  for (const uint8_t bytes : {uint8_t{8}, uint8_t{12}, uint8_t{16}, uint8_t{32}}) {
    Stream r;
    r.warp(0).access(Kind::write, kShared, 0, 1020, bytes, bytes);
    r.barrier({r.warp(0), r.warp(1)});
    r.warp(1).access(Kind::read, kShared, 0, 1020, bytes, bytes);
    EXPECT_EQ(r.found(), Faults{});
    r.warp(2).lane(0).access(Kind::read, kShared, 0, 1020 + bytes - 4, 4, 0);
    EXPECT_EQ(r.found(), Faults{kRace});
  }
}

TEST(Uninitialised, SharedMemoryAndBuffers) {
  const Seen wanted = {FaultCode::uninitialised, Missing::nothing};
  Stream r;
  r.buffer(0, 4096, true);
  r.buffer(1, 4096, false);
  r.warp(0).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{wanted});
  r.warp(0).read(kGlobal, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(0).read(kGlobal, 1, 0);
  EXPECT_EQ(r.found(), Faults{wanted});
  r.warp(0).write(kGlobal, 1, 512).read(kGlobal, 1, 512);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(0).lane(0).access(Kind::write, kGlobal, 1, 1024, 2, 0);
  r.warp(0).lane(0).access(Kind::read, kGlobal, 1, 1024, 4, 0);
  EXPECT_EQ(r.found(), Faults{wanted}) << "half of a word";
  r.warp(0).access(Kind::update, kGlobal, 1, 2048, 4, 4, Scope::gpu);
  EXPECT_EQ(r.found(), Faults{wanted}) << "an update reads";
}

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
