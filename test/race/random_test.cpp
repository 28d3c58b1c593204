// Random traces: the checker finds what a graph of all events finds, and nothing else.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include "race/oracle.h"
#include "race/stream.h"

namespace {

using namespace cohort::race_test;
using cohort::emu::Events;
using cohort::emu::OpId;
using cohort::emu::Rules;
using cohort::emu::SyncId;
using cohort::emu::Who;

// One trace, given to the checker and to the oracle event by event.
class Trace {
 public:
  Trace(uint64_t seed, const Rules& rules)
      : random_(seed), checker_(cohort::race::make_checker(rules, list_)), oracle_(rules) {}

  void run() {
    // Mostly warps of eight lanes: ancestors of each lane's events are what costs.
    const bool small = pick(8) != 0;
    grid_.cluster_size = 1 + pick(small ? 4 : 2);
    grid_.ctas = grid_.cluster_size * (1 + pick(2));
    grid_.warps_per_cta = small ? 1 : 1 + pick(3);
    grid_.threads_per_cta = small ? 8 : 32 * grid_.warps_per_cta;
    all_ = small ? 0xff : kAll;
    grid_.shared_bytes = 8192;
    // Few objects and much synchronisation, or the other way round.
    objects_ = 1 + pick(4);
    quiet_ = pick(4);
    both([&](Events& e) { e.begin_grid(grid_); });
    // Most of half of the traces keeps to locks and barriers.
    const uint32_t wild = pick(2) == 0 ? 1 : 60;
    for (uint32_t i = 10 + pick(wild == 1 ? (small ? 60 : 10) : (small ? 20 : 1)); i > 0; --i) {
      if (pick(wild) == 0) {
        event();
      } else if (pick(4) == 0) {
        barrier();
      } else {
        critical();
      }
    }
  }

  [[nodiscard]] std::string difference() const {
    std::set<uint32_t> found;
    std::set<uint32_t> unwritten;
    for (const cohort::emu::Fault& f : list_.faults()) {
      if (f.code == FaultCode::uninitialised) {
        unwritten.insert(f.now.pc);
        continue;
      }
      found.insert(f.now.pc);
      if (!oracle_.races().contains({f.earlier.pc, f.now.pc})) {
        return "reported and no race: " + std::to_string(f.earlier.pc) + ", " +
               std::to_string(f.now.pc);
      }
    }
    for (const auto& [earlier, now] : oracle_.races()) {
      if (!found.contains(now)) {
        return "missed: " + std::to_string(earlier) + ", " + std::to_string(now);
      }
    }
    // A read of bytes that also races may be told as the race alone.
    for (const uint32_t pc : unwritten) {
      if (!oracle_.uninitialised().contains(pc)) return "written: " + std::to_string(pc);
    }
    for (const uint32_t pc : oracle_.uninitialised()) {
      if (!unwritten.contains(pc)) return "never written: " + std::to_string(pc);
    }
    return {};
  }
  [[nodiscard]] size_t races() const { return oracle_.races().size(); }

 private:
  struct Copy {
    OpId checker;
    OpId oracle;
    uint32_t warp;
    uint32_t lane;
  };

  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  template <class F>
  void both(F&& f) {
    f(*checker_);
    f(oracle_);
  }

  Who who() {
    static constexpr std::array kMasks = {~0U, ~0U, 1U, 2U, 3U, 0xf0U, 0xff00U, 0xffffff00U};
    const uint32_t mask = kMasks[pick(kMasks.size())] & all_;
    return {{pick(grid_.ctas * grid_.warps_per_cta)}, mask != 0 ? mask : all_, pc_++};
  }
  Scope scope() {
    return std::array{Scope::unspelled, Scope::cta, Scope::cluster, Scope::gpu}[pick(4)];
  }
  Order order() { return pick(3) == 0 ? Order::relaxed : Order::full; }

  // Shared memory of a CTA of the warp's cluster.
  uint32_t block_near(uint32_t warp) {
    const uint32_t cta = warp / grid_.warps_per_cta;
    return cta - cta % grid_.cluster_size + pick(grid_.cluster_size);
  }

  void lanes() {
    static constexpr std::array<uint8_t, 8> kBytes = {4, 4, 4, 1, 2, 8, 16, 12};
    const Who w = who();
    const uint8_t bytes = kBytes[pick(kBytes.size())];
    Kind kind = pick(2) == 0 ? Kind::read : Kind::write;
    Scope strength = Scope::weak;
    if ((bytes == 4 || bytes == 8) && pick(4) == 0) {
      kind = pick(3) == 0 ? kind : Kind::update;
      strength = std::array{Scope::cta, Scope::cluster, Scope::gpu}[pick(3)];
    }
    // Reads may meet in one word; writes of one instruction do not.
    const uint64_t stride = kind == Kind::read && pick(3) == 0 ? 0 : bytes * uint64_t{1 + pick(2)};
    // 12 bytes are three words; around the end of a page of the shadow.
    const uint64_t align = bytes == 12 ? 4 : bytes;
    const uint64_t begin = (pick(8) == 0 ? 960 : 0) + pick(8) * align;
    std::array<uint64_t, 32> offset{};
    for (uint64_t l = 0; l < 32; ++l) offset[l] = begin + stride * l;
    const uint32_t block = block_near(w.warp.value);
    both([&](Events& e) {
      e.access({w, Space::shared, kind, strength, bytes, block, offset.data()});
    });
  }

  void copy() {
    Who w = who();
    w.lanes &= ~w.lanes + 1;
    Copy c{};
    c.warp = w.warp.value;
    c.lane = w.lanes;
    c.checker = checker_->begin(w, Agent::copy, {});
    c.oracle = oracle_.begin(w, Agent::copy, {});
    copies_.push_back(c);
  }

  void use_copy() {
    if (copies_.empty()) return copy();
    const Copy c = copies_[pick(static_cast<uint32_t>(copies_.size()))];
    const SyncId sync = {pick(objects_)};
    Who w = {{c.warp}, c.lane, pc_++};
    switch (pick(3)) {
      case 0: {
        const Covers covers = pick(2) == 0 ? Covers::reads : Covers::all;
        checker_->drain(w, c.checker, covers);
        oracle_.drain(w, c.oracle, covers);
        break;
      }
      case 1:
        checker_->publish(c.checker, sync, kAll);
        oracle_.publish(c.oracle, sync, kAll);
        break;
      default: {
        // Only what is not waited for yet may still do something: the last one.
        const Copy last = copies_.back();
        const Kind kind = pick(2) == 0 ? Kind::read : Kind::write;
        const Box box = {Space::shared,         Proxy::async, kind,
                         block_near(last.warp), pick(4) * 16, 16 * uint64_t{1 + pick(4)},
                         1 + pick(2),           128};
        if (is_last_open_) {
          checker_->access(last.checker, box);
          oracle_.access(last.oracle, box);
        }
        return;
      }
    }
    is_last_open_ = false;
  }

  void event() {
    const Who w = who();
    const SyncId sync = {pick(objects_)};
    const uint32_t what = pick(20 + 4 * quiet_);
    if (what < 3) {
      const Scope s = scope();
      const Order o = order();
      both([&](Events& e) { e.release(w, sync, s, o); });
      if (pick(3) != 0) flip(sync);
    } else if (what < 6) {
      const Scope s = scope();
      const Order o = order();
      both([&](Events& e) { e.acquire(w, sync, s, o); });
    } else if (what < 7) {
      flip(sync);
    } else if (what < 9) {
      const Fence fence = std::array{Fence::memory, Fence::memory, Fence::async_shared,
                                     Fence::async_all, Fence::async_global}[pick(5)];
      const Scope s = scope();
      both([&](Events& e) { e.fence(w, fence, s); });
    } else if (what < 10) {
      both([&](Events& e) { e.warp_sync(w); });
    } else if (what < 11) {
      copy();
      is_last_open_ = true;
    } else if (what < 13) {
      use_copy();
    } else {
      lanes();
    }
  }

  // A lock's words are 256 bytes of CTA 0's window.
  void critical() {
    const SyncId lock = {8 + pick(objects_)};
    const uint64_t begin = 2048 + 256 * uint64_t{lock.value};
    const uint32_t warp = pick(std::min(grid_.ctas, grid_.cluster_size) * grid_.warps_per_cta);
    const auto next = [&] { return Who{{warp}, all_, pc_++}; };
    both([&, w = next()](Events& e) { e.acquire(w, lock, Scope::cluster, Order::full); });
    for (uint32_t i = pick(4); i > 0; --i) {
      const Kind kind = pick(3) == 0 ? Kind::read : Kind::write;
      const auto bytes = std::array<uint8_t, 4>{4, 4, 2, 8}[pick(4)];
      std::array<uint64_t, 32> offset{};
      for (uint64_t l = 0; l < 32; ++l) offset[l] = begin + 8 * l;
      both([&, w = next()](Events& e) {
        e.access({w, Space::shared, kind, Scope::weak, bytes, 0, offset.data()});
      });
      if (pick(2) == 0) both([&, w = next()](Events& e) { e.warp_sync(w); });
    }
    if (pick(2) == 0) copy_in_lock(warp, begin);
    both([&, w = next()](Events& e) { e.warp_sync(w); });
    both([&, w = next()](Events& e) { e.release(w, lock, Scope::cluster, Order::full); });
    both([&](Events& e) { e.flip(lock, false); });
  }

  void copy_in_lock(uint32_t warp, uint64_t begin) {
    const Who all = {{warp}, all_, pc_++};
    const Who one = {{warp}, 1, pc_++};
    both([&](Events& e) { e.fence(all, Fence::async_shared, Scope::weak); });
    both([&](Events& e) { e.warp_sync(all); });
    const OpId here = checker_->begin(one, Agent::copy, {});
    const OpId there = oracle_.begin(one, Agent::copy, {});
    const Kind kind = pick(2) == 0 ? Kind::read : Kind::write;
    const Box box = {Space::shared, Proxy::async, kind, 0, begin + 16 * uint64_t{pick(4)}, 64};
    checker_->access(here, box);
    oracle_.access(there, box);
    checker_->end(here);
    const Covers covers = kind == Kind::read && pick(2) == 0 ? Covers::reads : Covers::all;
    checker_->drain(one, here, covers);
    oracle_.drain(one, there, covers);
  }

  void barrier() {
    const SyncId sync = {7};
    const uint32_t cta = pick(grid_.ctas);
    for (const bool waits : {false, true}) {
      for (uint32_t i = 0; i < grid_.warps_per_cta; ++i) {
        const Who w = {{cta * grid_.warps_per_cta + i}, all_, pc_++};
        both([&](Events& e) {
          if (waits) {
            e.acquire(w, sync, Scope::cta, Order::full);
          } else {
            e.release(w, sync, Scope::cta, Order::full);
          }
        });
      }
      if (!waits) both([&](Events& e) { e.flip(sync, false); });
    }
  }

  void flip(SyncId sync) {
    const bool keep = pick(2) == 0;
    both([&](Events& e) { e.flip(sync, keep); });
  }

  std::mt19937_64 random_;
  cohort::emu::FaultList list_;
  std::unique_ptr<cohort::race::Checker> checker_;
  Oracle oracle_;
  cohort::emu::Grid grid_{};
  uint32_t all_ = kAll;
  uint32_t pc_ = 1;
  uint32_t objects_ = 1;
  uint32_t quiet_ = 0;
  std::vector<Copy> copies_;
  bool is_last_open_ = false;
};

TEST(RandomTraces, AreJudgedAsByAGraphOfAllEvents) {
  const char* wanted = std::getenv("COHORT_TRACES");
  const uint64_t traces = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 5000;
  uint64_t with_races = 0;
  for (uint64_t seed = 0; seed < traces; ++seed) {
    Trace trace(seed, seed % 2 == 0 ? cohort::emu::strict_rules() : cohort::emu::practice_rules());
    trace.run();
    ASSERT_EQ(trace.difference(), "") << "seed " << seed;
    with_races += trace.races() > 0;
  }
  // Both kinds must be there.
  EXPECT_GT(with_races, traces / 20);
  EXPECT_LT(with_races, traces - traces / 20);
}

}  // namespace
