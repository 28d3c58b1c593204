// Tensor memory: stores, allocation; and operands of wgmma.
#include <gtest/gtest.h>

#include "race/tensor.h"

namespace {

using namespace cohort::race_test;

constexpr Space kShared = Space::shared;
const Seen kIncomplete = {FaultCode::incomplete, Missing::completion};

TEST(Stores, NeedAWaitBeforeALoadOfTheSameWarp) {
  for (const bool wait : {true, false}) {
    Stream r;
    fill(r);
    Op st = r.warp(1).begin(Agent::tensor_store);
    st.touch(columns(Kind::write, 0, 8, 1));
    if (wait) r.warp(1).drain(st);
    load(r, 1, 0, 8);
    EXPECT_EQ(r.found(), wait ? Faults{} : Faults{kIncomplete});
  }
}

TEST(Stores, TwoWithoutAWaitAreNotOrdered) {
  Stream r;
  fill(r);
  r.warp(1).begin(Agent::tensor_store).touch(columns(Kind::write, 0, 8, 1));
  r.warp(1).begin(Agent::tensor_store).touch(columns(Kind::write, 0, 8, 1));
  EXPECT_EQ(r.found(), Faults{kIncomplete});
}

TEST(Allocation, MustBeKnownToTheUser) {
  Stream r;
  r.warp(0).touch(columns(Kind::allocate, 0, 512));
  mma(r, 1);
  EXPECT_EQ(r.found(), (Faults{{FaultCode::lifetime, Missing::edge}}));
}

TEST(Allocation, LeavesColumnsUninitialised) {
  Stream r;
  r.warp(0).touch(columns(Kind::allocate, 0, 512));
  mma(r, 0);
  EXPECT_EQ(r.found(), Faults{}) << "the warp that allocates may use it";
  r.warp(0).lane(0).mma(2).touch(columns(Kind::read, 64, 8));
  EXPECT_EQ(r.found(), (Faults{{FaultCode::uninitialised, Missing::nothing}}));
}

TEST(Allocation, EndsAfterTheLastUse) {
  for (const bool wait : {true, false}) {
    Stream r;
    fill(r);
    const Op ld = load(r, 1);
    if (wait) r.warp(1).drain(ld);
    r.warp(1).fence(Fence::tensor_before);
    r.barrier({r.warp(0), r.warp(1)});
    r.warp(0).touch(columns(Kind::free, 0, 512));
    EXPECT_EQ(r.found(), wait ? Faults{} : (Faults{{FaultCode::lifetime, Missing::completion}}));
  }
}

// An instruction of the whole warp runs once all lanes have come: what one lane waited for counts.
TEST(Allocation, IsOfTheWarpAsOne) {
  for (const uint32_t lane : {0U, 5U}) {
    Stream r;
    fill(r);
    const Bar done = r.bar();
    const Op ld = load(r, 1);
    r.warp(1).drain(ld).fence(Fence::tensor_before).arrive(done);
    r.warp(0).lane(lane).acquire(done);
    r.warp(0).touch(columns(Kind::free, 0, 512));
    EXPECT_EQ(r.found(), Faults{}) << lane;
  }
}

TEST(Allocation, OfADeallocationBeforeAnotherWarpsUse) {
  Stream r;
  fill(r);
  const Op ld = load(r, 1);
  r.warp(1).drain(ld);
  r.warp(0).touch(columns(Kind::free, 0, 512));
  EXPECT_EQ(r.found(), (Faults{{FaultCode::lifetime, Missing::edge}}));
}

TEST(WarpgroupMma, ReadsOperandsUntilItIsWaitedFor) {
  for (const bool wait : {true, false}) {
    Stream r;
    r.warp(0).write(kShared, 0, 0).fence(Fence::async_shared);
    Op op = r.warp(0).begin(Agent::warpgroup_mma);
    op.read(kShared, 0, 0, 128);
    if (wait) r.warp(0).drain(op);
    r.warp(0).write(kShared, 0, 0);
    EXPECT_EQ(r.found(), wait ? Faults{} : Faults{kIncomplete});
  }
}

}  // namespace
