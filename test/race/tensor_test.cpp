// Tensor memory: the pipe's pairs, commits, loads, the two fences, allocation.
#include <gtest/gtest.h>

#include "race/tensor.h"

namespace {

using namespace cohort::race_test;
using cohort::emu::practice_rules;
using cohort::emu::strict_rules;

constexpr Space kShared = Space::shared;
const Seen kPair = {FaultCode::pipeline, Missing::pipelined_pair};
const Seen kIncomplete = {FaultCode::incomplete, Missing::completion};
const Seen kBefore = {FaultCode::tensor_fence, Missing::tensor_before};
const Seen kAfter = {FaultCode::tensor_fence, Missing::tensor_after};

Op copy_scales(const Lanes& t) {
  Op op = t.cp();
  op.touch(columns(Kind::write, 128, 4));
  return op;
}

TEST(Pipe, ProductsOfOneShapeRunInOrder) {
  Stream r;
  fill(r);
  mma(r, 0, 1);
  mma(r, 0, 1);
  EXPECT_EQ(r.found(), Faults{});
  mma(r, 0, 2);
  EXPECT_EQ(r.found(), Faults{kPair});
}

TEST(Pipe, ProductsOfOtherThreadsAreApart) {
  Stream r;
  fill(r);
  mma(r, 0, 1);
  mma(r, 1, 1);
  EXPECT_EQ(r.found(), (Faults{{FaultCode::race, Missing::edge}}));
}

TEST(Pipe, CopyThenProductIsAPair) {
  Stream r;
  fill(r);
  const Lanes t = r.warp(0).lane(0);
  copy_scales(t);
  t.mma().touch(columns(Kind::read, 128, 4));
  EXPECT_EQ(r.found(), Faults{});
}

// The text orders no such pair; public kernels rely on it.
TEST(Pipe, ProductThenCopyOntoItsScales) {
  for (const bool strict : {true, false}) {
    Stream r(strict ? strict_rules() : practice_rules());
    fill(r);
    const Lanes t = r.warp(0).lane(0);
    for (int k = 0; k < 2; ++k) {
      copy_scales(t);
      t.mma().touch(columns(Kind::read, 128, 4));
    }
    EXPECT_EQ(r.found(), strict ? (Faults{kPair, kPair}) : Faults{});
  }
}

TEST(Pipe, ProductThenCopyWithACompletedCommitBetween) {
  Stream r;
  fill(r);
  const Bar done = r.bar();
  const Lanes t = r.warp(0).lane(0);
  for (int k = 0; k < 2; ++k) {
    copy_scales(t);
    t.mma().touch(columns(Kind::read, 128, 4));
    t.commit(done).acquire(done).fence(Fence::tensor_after);
  }
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Pipe, TwoCopiesOntoTheSameColumns) {
  for (const bool strict : {true, false}) {
    Stream r(strict ? strict_rules() : practice_rules());
    fill(r);
    copy_scales(r.warp(0).lane(0));
    copy_scales(r.warp(0).lane(0));
    EXPECT_EQ(r.found(), Faults{kPair});
  }
}

TEST(Pipe, ShiftIsBetweenProducts) {
  Stream r;
  fill(r);
  const Lanes t = r.warp(0).lane(0);
  mma(r, 0, 1);
  t.begin(Agent::tensor_pipe, {PipeStep::Op::shift, 1, 0}).touch(columns(Kind::update, 0, 64));
  mma(r, 0, 2);
  EXPECT_EQ(r.found(), Faults{}) << "mma, shift, mma: two pairs in a row";
  t.begin(Agent::tensor_pipe, {PipeStep::Op::cp, 1, 0}).touch(columns(Kind::write, 0, 64));
  EXPECT_EQ(r.found(), Faults{kPair});
}

// PTX 9.7.16.6.4.3: cp by one thread, mma by another, without waiting for completion.
TEST(Pipe, APairAcrossThreads) {
  for (const bool before : {false, true}) {
    for (const bool after : {false, true}) {
      Stream r;
      fill(r);
      const Bar b = r.bar();
      copy_scales(r.warp(0).lane(0));
      if (before) r.warp(0).lane(0).fence(Fence::tensor_before);
      r.warp(0).lane(0).arrive(b, Scope::cluster, Order::relaxed);
      r.warp(1).lane(0).acquire(b, Scope::cluster, Order::relaxed);
      if (after) r.warp(1).lane(0).fence(Fence::tensor_after);
      r.warp(1).lane(0).mma().touch(columns(Kind::read, 128, 4));
      EXPECT_EQ(r.found().empty(), before && after);
    }
  }
}

TEST(Commit, LetsAnotherThreadLoad) {
  for (const bool after : {true, false}) {
    Stream r;
    fill(r);
    const Bar full = r.bar();
    mma(r, 0);
    r.warp(0).lane(0).commit(full);
    r.warp(1).acquire(full, Scope::cluster, Order::relaxed);
    if (after) r.warp(1).fence(Fence::tensor_after);
    load(r, 1);
    EXPECT_EQ(r.found(), after ? Faults{} : Faults{kAfter});
  }
}

TEST(Commit, ByAnotherThreadTracksNothing) {
  Stream r;
  fill(r);
  const Bar full = r.bar();
  mma(r, 0);
  r.warp(0).lane(1).commit(full);
  r.warp(1).acquire(full).fence(Fence::tensor_after);
  load(r, 1);
  EXPECT_EQ(r.found().size(), 1U);
}

TEST(Commit, OfTheOtherCtaGroupTracksNothing) {
  Stream r;
  fill(r);
  const Bar full = r.bar();
  mma(r, 0);
  r.warp(0).lane(0).commit(full, 2);
  r.warp(1).acquire(full).fence(Fence::tensor_after);
  load(r, 1);
  EXPECT_EQ(r.found().size(), 1U);
}

TEST(Commit, CoversWhatCameBeforeItOnly) {
  Stream r;
  fill(r);
  const Bar full = r.bar();
  mma(r, 0, 1);
  r.warp(0).lane(0).commit(full);
  r.warp(0).lane(0).mma(1).touch(columns(Kind::write, 64, 8));
  r.warp(1).acquire(full).fence(Fence::tensor_after);
  load(r, 1, 0, 64);
  EXPECT_EQ(r.found(), Faults{});
  load(r, 1, 64, 8);
  EXPECT_EQ(r.found().size(), 1U);
}

// A commit arrives some time after its issue: what was begun between them is none of its own.
TEST(Commit, CoversWhatCameBeforeItsIssueOnly) {
  Stream r;
  fill(r);
  const Bar full = r.bar();
  const Lanes t = r.warp(0).lane(0);
  mma(r, 0, 1);
  Op commit = t.begin(Agent::tensor_commit, {PipeStep::Op::mma, 1, 0});
  t.mma(1).touch(columns(Kind::write, 64, 8));
  commit.publish(full);
  r.flip(full);
  r.warp(1).acquire(full).fence(Fence::tensor_after);
  load(r, 1, 0, 64);
  EXPECT_EQ(r.found(), Faults{});
  load(r, 1, 64, 8);
  EXPECT_EQ(r.found().size(), 1U);
}

// The order of a shared stage: load, wait, products, commit, the next load.
TEST(Commit, HandsAStageBackToTheCopies) {
  for (const bool strict : {true, false}) {
    for (const bool commit : {true, false}) {
      Stream r(strict ? strict_rules() : practice_rules());
      fill(r);
      r.buffer(0, 4096);
      const Bar full = r.bar();
      const Bar empty = r.bar();
      const auto stage = [&] {
        r.warp(0).lane(0).copy().write(kShared, 0, 0, 1024).publish(full);
        r.flip(full);
        const Lanes t = r.warp(1).lane(0);
        t.acquire(full);
        if (strict) t.fence(Fence::tensor_after);
        t.mma().touch({kShared, Proxy::async, Kind::read, 0, 0, 1024});
        if (commit) t.commit(empty);
        r.warp(0).lane(0).acquire(empty);
      };
      stage();
      stage();
      EXPECT_EQ(r.found().empty(), commit);
    }
  }
}

// PTX 9.7.16.6.3: a product comes after a wait only by the fence.
TEST(Fences, AfterTheWaitForACopy) {
  for (const bool strict : {true, false}) {
    Stream r(strict ? strict_rules() : practice_rules());
    fill(r);
    const Bar full = r.bar();
    r.warp(0).lane(0).copy().write(kShared, 0, 0, 1024).publish(full);
    r.flip(full);
    r.warp(1).lane(0).acquire(full);
    r.warp(1).lane(0).mma().touch({kShared, Proxy::async, Kind::read, 0, 0, 1024});
    EXPECT_EQ(r.found(), strict ? Faults{kAfter} : Faults{});
  }
}

TEST(Fences, OperandsThatThreadsWroteNeedTheProxyFenceToo) {
  for (const bool proxy : {true, false}) {
    Stream r;
    fill(r);
    r.warp(1).write(kShared, 0, 0);
    if (proxy) r.warp(1).fence(Fence::async_shared);
    r.barrier({r.warp(0), r.warp(1)});
    r.warp(0).lane(0).fence(Fence::tensor_after);
    r.warp(0).lane(0).mma().touch({kShared, Proxy::async, Kind::read, 0, 0, 128});
    EXPECT_EQ(r.found(),
              proxy ? Faults{} : (Faults{{FaultCode::proxy, Missing::async_proxy_fence}}));
  }
}

// Load, wait, fence, arrive; wait, fence, the next product (9.7.16.6.4.4).
Faults release_stage(const cohort::emu::Rules& rules, bool wait, bool before, bool after) {
  Stream r(rules);
  fill(r);
  const Bar full = r.bar();
  const Bar empty = r.bar();
  mma(r, 0);
  r.warp(0).lane(0).commit(full);
  r.warp(1).acquire(full).fence(Fence::tensor_after);
  const Op ld = load(r, 1);
  if (wait) r.warp(1).drain(ld);
  if (before) r.warp(1).fence(Fence::tensor_before);
  r.warp(1).arrive(empty);
  r.warp(0).lane(0).acquire(empty);
  if (after) r.warp(0).lane(0).fence(Fence::tensor_after);
  mma(r, 0);
  return r.found();
}

TEST(Loads, AStageIsReleasedAfterTheyAreComplete) {
  EXPECT_EQ(release_stage(strict_rules(), true, true, true), Faults{});
  EXPECT_EQ(release_stage(strict_rules(), false, true, true), Faults{kIncomplete});
  EXPECT_EQ(release_stage(strict_rules(), true, false, true), Faults{kBefore});
  EXPECT_EQ(release_stage(strict_rules(), true, true, false), Faults{kAfter});
}

TEST(Loads, InPracticeTheBarrierCarriesTheOrderAndTheWaitIsStillNeeded) {
  EXPECT_EQ(release_stage(practice_rules(), true, false, false), Faults{});
  EXPECT_EQ(release_stage(practice_rules(), false, true, true), Faults{kIncomplete});
}

// The use of a register completes that load and no other.
TEST(Loads, OneThatIsCompleteSaysNothingOfALaterOne) {
  for (const bool strict : {true, false}) {
    Stream r(strict ? strict_rules() : practice_rules());
    fill(r);
    const Bar empty = r.bar();
    const Op first = load(r, 1, 0, 32);
    load(r, 1, 32, 32);
    r.warp(1).drain(first).fence(Fence::tensor_before).arrive(empty);
    r.warp(0).lane(0).acquire(empty).fence(Fence::tensor_after);
    mma(r, 0);
    ASSERT_EQ(r.found(), Faults{kIncomplete});
    EXPECT_EQ(r.faults()[0].offset % cohort::emu::kTensorRow, 128U) << "the second load's columns";
  }
}

TEST(Loads, OfTheSameThreadAreNoPairWithProducts) {
  Stream r;
  fill(r);
  mma(r, 1);
  load(r, 1);
  EXPECT_EQ(r.found().size(), 1U);
  Stream other;
  fill(other);
  load(other, 1);
  mma(other, 1);
  EXPECT_EQ(other.found(), Faults{kIncomplete});
}

}  // namespace
