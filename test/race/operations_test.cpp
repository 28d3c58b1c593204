// Asynchronous operations: copies, proxies, completions, tensor maps.
#include <gtest/gtest.h>

#include "race/stream.h"

namespace {

using namespace cohort::race_test;

constexpr Space kShared = Space::shared;
constexpr Space kGlobal = Space::global;
const Seen kIncomplete = {FaultCode::incomplete, Missing::completion};
const Seen kNoEdge = {FaultCode::race, Missing::edge};
const Seen kNoProxyFence = {FaultCode::proxy, Missing::async_proxy_fence};

// A load by lane 0 of warp 0 into 128 bytes of shared memory.
Op load(Stream& r, uint64_t at = 0) {
  Op op = r.warp(0).lane(0).copy();
  op.read(kGlobal, 0, at, 128).write(kShared, 0, at, 128);
  return op;
}

TEST(Copies, CompletionIsKnownAfterTheWait) {
  Stream r;
  r.buffer(0, 4096);
  const Bar full = r.bar();
  load(r).publish(full);
  r.flip(full);
  r.warp(1).acquire(full).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Copies, AreNotWaitedForByTheirIssuer) {
  Stream r;
  r.buffer(0, 4096);
  const Op op = load(r);
  r.warp(0).lane(0).access(Kind::read, kShared, 0, 0, 4, 0);
  EXPECT_EQ(r.found(), Faults{kIncomplete});
  r.warp(0).lane(0).drain(op).access(Kind::read, kShared, 0, 4, 4, 0);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Copies, ABarrierOfThreadsDoesNotWaitForThem) {
  Stream r;
  r.buffer(0, 4096);
  load(r);
  r.barrier({r.warp(0), r.warp(1)});
  r.warp(1).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{kIncomplete});
}

TEST(Copies, NothingAtAllLeadsToThem) {
  Stream r;
  r.buffer(0, 4096);
  load(r);
  r.warp(1).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{kNoEdge});
}

// PTX 8.9.1.1: complete_tx vouches for the copy alone.
TEST(Copies, CompletionSaysNothingOfTheIssuersPast) {
  Stream r;
  r.buffer(0, 4096);
  const Bar full = r.bar();
  r.warp(0).lane(0).access(Kind::write, kShared, 0, 1024, 4, 0);
  load(r).publish(full);
  r.flip(full);
  r.warp(1).acquire(full).lane(0).access(Kind::read, kShared, 0, 1024, 4, 0);
  EXPECT_EQ(r.found(), Faults{kNoEdge});
}

TEST(Copies, OfOneThreadAreNotOrdered) {
  Stream r;
  r.buffer(0, 4096);
  load(r);
  load(r);
  EXPECT_EQ(r.found(), Faults{kIncomplete});
}

TEST(Copies, OneAfterTheOtherIsComplete) {
  Stream r;
  r.buffer(0, 4096);
  for (int i = 0; i < 3; ++i) {
    const Op op = load(r);
    r.warp(0).lane(0).drain(op);
  }
  EXPECT_EQ(r.found(), Faults{});
}

TEST(Copies, AWaitThatCoversReadsFreesTheSourceOnly) {
  for (const Covers covers : {Covers::reads, Covers::all}) {
    Stream r;
    r.buffer(0, 4096);
    const Lanes t = r.warp(0).lane(0);
    t.access(Kind::write, kShared, 0, 0, 4, 0).fence(Fence::async_all);
    Op store = t.copy();
    store.read(kShared, 0, 0, 4).write(kGlobal, 0, 0, 4);
    t.drain(store, covers).access(Kind::write, kShared, 0, 0, 4, 0);
    EXPECT_EQ(r.found(), Faults{});
    t.access(Kind::read, kGlobal, 0, 0, 4, 0);
    EXPECT_EQ(r.found(), covers == Covers::all
                             ? Faults{}
                             : (Faults{{FaultCode::incomplete, Missing::full_completion}}));
  }
}

TEST(Copies, OfTheSourceThatIsReusedTooEarly) {
  Stream r;
  r.buffer(0, 4096);
  const Lanes t = r.warp(0).lane(0);
  t.access(Kind::write, kShared, 0, 0, 4, 0).fence(Fence::async_all);
  t.copy().read(kShared, 0, 0, 4).write(kGlobal, 0, 0, 4);
  t.access(Kind::write, kShared, 0, 0, 4, 0);
  EXPECT_EQ(r.found(), Faults{kIncomplete});
}

// Bulk groups are waited for by the thread that made them.
TEST(Copies, OtherLanesNeedAWarpSyncAfterTheWait) {
  for (const bool sync : {false, true}) {
    Stream r;
    r.buffer(0, 4096);
    const Lanes w = r.warp(0);
    w.write(kShared, 0, 0).fence(Fence::async_all).sync();
    Op store = w.lane(0).copy();
    store.read(kShared, 0, 0, 128).write(kGlobal, 0, 0, 128);
    w.lane(0).drain(store, Covers::reads);
    if (sync) w.sync();
    w.write(kShared, 0, 0);
    EXPECT_EQ(r.found(), sync ? Faults{} : Faults{kNoEdge});
  }
}

TEST(Proxies, AFenceLetsACopyReadWhatThreadsWrote) {
  for (const int fence : {0, 1, 2, 3}) {
    Stream r;
    r.buffer(0, 4096);
    r.warp(1).write(kShared, 0, 0);
    if (fence == 1) r.warp(1).fence(Fence::async_shared);
    if (fence == 3) r.warp(1).fence(Fence::async_global);
    r.barrier({r.warp(0), r.warp(1)});
    if (fence == 2) r.warp(0).lane(0).fence(Fence::async_all);
    r.warp(0).lane(0).copy().read(kShared, 0, 0, 128).write(kGlobal, 0, 0, 128);
    EXPECT_EQ(r.found(), fence == 1 || fence == 2 ? Faults{} : Faults{kNoProxyFence}) << fence;
  }
}

TEST(Proxies, AFenceBeforeTheWriteIsNone) {
  Stream r;
  r.buffer(0, 4096);
  const Lanes t = r.warp(0).lane(0);
  t.fence(Fence::async_all).access(Kind::write, kShared, 0, 0, 4, 0);
  t.copy().read(kShared, 0, 0, 4).write(kGlobal, 0, 0, 4);
  EXPECT_EQ(r.found(), Faults{kNoProxyFence});
}

TEST(Proxies, OverwritingWhatThreadsRead) {
  for (const bool strict : {true, false}) {
    Stream r(strict ? cohort::emu::strict_rules() : cohort::emu::practice_rules());
    r.buffer(0, 4096);
    const Bar full = r.bar();
    const Bar empty = r.bar();
    load(r).publish(full);
    r.flip(full);
    r.warp(1).acquire(full).read(kShared, 0, 0).arrive(empty);
    r.warp(0).lane(0).acquire(empty);
    load(r);
    EXPECT_EQ(r.found(), strict ? Faults{kNoProxyFence} : Faults{});
    // Without the wait it is a race under both.
    r.warp(1).read(kShared, 0, 0);
    EXPECT_EQ(r.found().size(), 1U);
  }
}

TEST(Proxies, OverwritingWhatThreadsWroteNeedsAFenceInBoth) {
  for (const bool strict : {true, false}) {
    Stream r(strict ? cohort::emu::strict_rules() : cohort::emu::practice_rules());
    r.buffer(0, 4096);
    r.warp(0).lane(0).access(Kind::write, kShared, 0, 0, 4, 0);
    load(r);
    EXPECT_EQ(r.found(), Faults{kNoProxyFence});
  }
}

// A bulk copy reaches its mbarrier through the generic proxy: init needs no proxy fence.
TEST(Proxies, TheMbarrierOfACopyIsGeneric) {
  const Box init = {kShared, Proxy::generic, Kind::barrier_init, 0, 512, 8};
  const Box complete = {kShared, Proxy::generic, Kind::barrier, 0, 512, 8};
  for (const bool strict : {true, false}) {
    Stream r(strict ? cohort::emu::strict_rules() : cohort::emu::practice_rules());
    r.buffer(0, 4096);
    r.warp(0).lane(0).touch(init);
    load(r).touch(complete);
    EXPECT_EQ(r.found(), Faults{});
    Op other = r.warp(1).lane(0).copy();
    other.touch(complete);
    EXPECT_EQ(r.found(), (Faults{{FaultCode::lifetime, Missing::edge}}));
  }
}

TEST(Proxies, ReducingCopiesDoNotRaceWithEachOther) {
  Stream r;
  r.buffer(0, 4096);
  const Box reduce = {kGlobal, Proxy::async, Kind::update, 0, 0, 128};
  r.warp(0).lane(0).copy().touch(reduce);
  r.warp(1).lane(0).copy().touch(reduce);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(2).lane(0).access(Kind::update, kGlobal, 0, 0, 4, 0, Scope::gpu);
  // With both of the copies; one pair of instructions each.
  EXPECT_EQ(r.found(), (Faults{{FaultCode::atomic, Missing::same_proxy}}));
}

TEST(ThreadCopies, AreCompleteForTheLanesThatWaited) {
  Stream r;
  r.buffer(0, 4096);
  Op op = r.warp(0).begin(Agent::thread_copy);
  const cohort::emu::Who who = r.warp(0).who();
  op.lanes(Kind::read, kGlobal, 0, 0, who).lanes(Kind::write, kShared, 0, 0, who);
  r.warp(0).only(0xffff).drain(op);
  r.warp(0).only(0xffff).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
  r.warp(0).only(0xffff0000).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{kIncomplete});
  EXPECT_EQ(r.faults().back().count, 16U);
}

TEST(ThreadCopies, ArriveOnAnMbarrier) {
  Stream r;
  r.buffer(0, 4096);
  const Bar full = r.bar();
  Op op = r.warp(0).begin(Agent::thread_copy);
  op.lanes(Kind::write, kShared, 0, 0, r.warp(0).who()).publish(full);
  r.flip(full);
  r.warp(1).acquire(full).read(kShared, 0, 0);
  EXPECT_EQ(r.found(), Faults{});
  // They are generic accesses: an async read of them needs a proxy fence.
  r.warp(1).lane(0).copy().read(kShared, 0, 0, 128);
  EXPECT_EQ(r.found(), Faults{kNoProxyFence});
}

TEST(ThreadCopies, EachLaneComesAfterItself) {
  for (const uint64_t shift : {0U, 4U}) {
    Stream r;
    r.buffer(0, 4096);
    r.warp(0).write(kShared, 0, 0);
    Op op = r.warp(0).begin(Agent::thread_copy);
    op.lanes(Kind::write, kShared, 0, shift, r.warp(0).who());
    EXPECT_EQ(r.found(), shift == 0 ? Faults{} : Faults{kNoEdge}) << "a neighbour's word";
  }
}

// A tensor map that threads write: release to its proxy, then acquire by whoever uses it.
TEST(TensorMaps, NeedBothFences) {
  for (int fences = 0; fences < 4; ++fences) {
    Stream r;
    r.buffer(0, 4096);
    r.buffer(1, 128);
    const Bar ready = r.bar();
    r.warp(1).write(kGlobal, 1, 0);
    if ((fences & 1) != 0) r.warp(1).fence(Fence::tensor_map_release, Scope::gpu);
    r.warp(1).arrive(ready);
    r.warp(0).lane(0).acquire(ready);
    if ((fences & 2) != 0) r.warp(0).lane(0).fence(Fence::tensor_map_acquire, Scope::gpu);
    r.warp(0).lane(0).copy().read(kGlobal, 1, 0, 128, Proxy::tensor_map);
    const Missing missing =
        (fences & 1) != 0 ? Missing::tensor_map_acquire : Missing::tensor_map_release;
    EXPECT_EQ(r.found(), fences == 3 ? Faults{} : (Faults{{FaultCode::tensor_map, missing}}));
  }
}

// PTX 8.9.4: the start of a kernel does not acquire the tensor map's proxy.
TEST(TensorMaps, OfAnEarlierGridNeedTheAcquire) {
  for (const bool acquire : {false, true}) {
    Stream r;
    r.buffer(0, 128);
    r.warp(0).write(kGlobal, 0, 0);
    r.grid({}, false);
    if (acquire) r.warp(4).lane(0).fence(Fence::tensor_map_acquire, Scope::gpu);
    r.warp(4).lane(0).copy().read(kGlobal, 0, 0, 128, Proxy::tensor_map);
    EXPECT_EQ(r.found(),
              acquire ? Faults{} : (Faults{{FaultCode::tensor_map, Missing::tensor_map_acquire}}));
  }
}

TEST(TensorMaps, OfTheHostAreReady) {
  Stream r;
  r.buffer(0, 128);
  r.warp(0).lane(0).copy().read(kGlobal, 0, 0, 128, Proxy::tensor_map);
  EXPECT_EQ(r.found(), Faults{});
}

TEST(TensorMaps, ChangedWhileACopyUsesThem) {
  for (const bool wait : {false, true}) {
    Stream r;
    r.buffer(0, 4096);
    r.buffer(1, 128);
    const Lanes t = r.warp(0).lane(0);
    Op store = t.copy();
    store.read(kGlobal, 1, 0, 128, Proxy::tensor_map).write(kGlobal, 0, 0, 128);
    if (wait) t.drain(store);
    t.access(Kind::write, kGlobal, 1, 0, 4, 0);
    EXPECT_EQ(r.found(), wait ? Faults{} : Faults{kIncomplete});
  }
}

TEST(Grids, AWaitForTheGridBeforeHoldsForCopies) {
  for (const Order order : {Order::full, Order::grid}) {
    Stream r;
    r.buffer(0, 4096);
    const Bar end = r.bar();
    r.warp(0).write(kGlobal, 0, 0).arrive(end, Scope::gpu, order);
    r.grid({}, true);
    r.warp(4).lane(0).acquire(end, Scope::gpu, order);
    r.warp(4).lane(0).copy().read(kGlobal, 0, 0, 128);
    EXPECT_EQ(r.found(), order == Order::grid ? Faults{} : Faults{kNoProxyFence});
  }
}

}  // namespace
