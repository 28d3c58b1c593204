// Threads and memory: order within a warp, barriers, lanes, cells, bytes that nobody wrote.
#include <gtest/gtest.h>

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
  ASSERT_EQ(r.found(), Faults{kRace}) << "with warp 2";
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

}  // namespace
