// What a thread knows, seen from each kind of access that it may make next.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "emu/events.h"
#include "race/clock.h"

namespace cohort::race {

/// Each is a clock: what is ordered before ...
enum View : uint8_t {
  kBase,         ///< ... the next generic access (PTX: base causality order, 8.9.5).
  kExec,         ///< ... the next instruction, if relaxed operations ordered memory too.
  kAsyncShared,  ///< ... the next async-proxy access: generic ones with a fence.proxy.async
                 ///< between.
  kAsyncGlobal,  ///< The same for global memory.
  kMap,          ///< ... the next use of a tensor map: released to it and acquired.
  kMapReleased,  ///< Released to the tensor map's proxy, and not yet acquired.
  kCarried,      // the views above are handed on by a release
  kAny =
      kCarried,  ///< ... by whatever chain, also one that is too weak: for the words of a report.
  kTensor,       ///< ... the next asynchronous tcgen05 operation.
  kDrained,      ///< tcgen05 operations that await fence::before_thread_sync.
  kViews
};

using Carried = std::array<Clock, kCarried>;

/// What relaxed operations leave open until a fence, by how far the fence reaches: 0 the CTA, 1 the
/// cluster, 2 the device.
struct Relaxed {
  std::array<Carried, 3> fenced;  ///< What the last fence of that reach covered: may be released.
  /// And up to where each view covered each lane's own past; see Knower::own.
  std::array<std::array<Tick, kCarried>, 3> own{};
  std::array<Carried, 3> pending;  ///< Acquired from that far; usable after such a fence.
};

/// Lanes of a warp that know the same.
struct Knower {
  uint32_t lanes = kAllLanes;
  std::array<Clock, kViews> view;
  /// Up to where each lane's own past is in the views behind a fence. It is no knowledge of the
  /// lanes of each other, so it is no part of `view`.
  std::array<Tick, kCarried> own{};
  std::unique_ptr<Relaxed> relaxed;

  Knower() = default;
  Knower(const Knower& other)
      : lanes(other.lanes),
        view(other.view),
        own(other.own),
        relaxed(other.relaxed ? std::make_unique<Relaxed>(*other.relaxed) : nullptr) {}
  Knower(Knower&&) = default;
  Knower& operator=(const Knower&) = delete;
  Knower& operator=(Knower&&) = default;
  ~Knower() = default;

  /// Lanes that meet: what each did is known to all.
  void join(const Knower& other, AgentId agent, uint32_t all);
  /// A view as these lanes have it: with their own past.
  void add_own(Clock& into, View v, AgentId agent, uint32_t which, uint32_t all) const {
    if (own[v] != 0) into.raise(agent, own[v], which & all, all);
  }
  [[nodiscard]] bool knows_the_same(const Knower& other) const;
  [[nodiscard]] Relaxed& open() {
    if (!relaxed) relaxed = std::make_unique<Relaxed>();
    return *relaxed;
  }
};

/// A warp, as one or more groups of lanes.
struct Warp {
  AgentId agent = 0;
  uint32_t cta = 0;
  uint32_t all = kAllLanes;  ///< Lanes that exist.
  Tick tick = 1;
  std::vector<Knower> groups;

  /// The group that has the (first of the) lanes.
  [[nodiscard]] Knower& group_of(uint32_t lanes) { return groups[index_of(lanes)]; }
  [[nodiscard]] const Knower& group_of(uint32_t lanes) const { return groups[index_of(lanes)]; }
  /// Makes groups so that none is partly in `lanes`.
  void split(uint32_t lanes);
  /// Makes one group of those of the lanes; they know what any knew.
  void merge(uint32_t lanes);
  /// Makes one of groups that know the same.
  void merge_equal();

 private:
  [[nodiscard]] size_t index_of(uint32_t lanes) const;
};

/// What releases of one CTA with one reach left in a synchronisation object.
struct Bucket {
  uint32_t cta = 0;
  int reach = 0;  ///< 0 the CTA, 1 the cluster, 2 the device.
  Carried view;
};
/// In the place of a CTA: counts as near to everybody.
inline constexpr uint32_t kNear = ~uint32_t{0};

/// Buckets that keep their memory when they are emptied.
class Buckets {
 public:
  [[nodiscard]] Bucket& at(uint32_t cta, int reach);
  [[nodiscard]] const Bucket* begin() const { return buckets_.data(); }
  [[nodiscard]] const Bucket* end() const { return buckets_.data() + used_; }
  void clear();
  void join(const Buckets& other);
  [[nodiscard]] uint64_t bytes() const;

 private:
  std::vector<Bucket> buckets_;
  size_t used_ = 0;
};

/// A synchronisation object: what is gathered, and what an acquire gets.
struct Sync {
  Buckets gathered;
  Buckets current;
  Clock any_gathered;
  Clock any_current;
};

}  // namespace cohort::race
