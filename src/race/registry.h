// Who takes part in a run, and which instructions did what: the numbers in an epoch, explained.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emu/events.h"
#include "race/epoch.h"

namespace cohort::race {

/// A limit of the checker was passed: says which, through the library's findings.
[[noreturn]] void over_limit(const char* what, uint64_t limit);

/// A warp, or one side of an asynchronous operation.
struct AgentInfo {
  bool is_operation = false;
  emu::Agent kind = emu::Agent::copy;
  uint32_t cta = 0;
  uint32_t warp = 0;
  uint32_t lanes = 0;  ///< All that it has; of an operation, its issuer's.
  AgentId issuer = 0;  ///< Of an operation: the warp's agent, and its tick at begin().
  Tick issued = 0;
  AgentId sibling = 0;  ///< Of a copy: the agent of its reads, or of its writes.
};

/// An instruction's way of touching memory.
struct Site {
  uint32_t pc = 0;
  emu::Kind kind = emu::Kind::read;
  emu::Proxy proxy = emu::Proxy::generic;
  emu::Scope scope = emu::Scope::weak;
  uint8_t bytes = 0;  ///< Of a strong access: its size.
};

/// A CTA, and the agents set aside for operations of its threads.
struct CtaInfo {
  uint32_t cluster = 0;
  AgentId next = 0;
  AgentId end = 0;
};

class Registry {
 public:
  Registry();
  /// Numbers the warps of a grid and sets agents aside for each CTA.
  void add_grid(const emu::Grid& grid);
  /// Everything so far is over: agents are numbered anew.
  void restart();
  /// A new agent for an operation of the CTA.
  AgentId add_operation(uint32_t cta, const AgentInfo& info);
  /// Whether agents are left that were set aside for the CTA's copies.
  [[nodiscard]] bool has_spare(uint32_t cta) const {
    const CtaInfo& c = ctas_[cta - first_cta_];
    return c.next + kKept < c.end;
  }
  /// The number of a site; equal ones have one number.
  uint32_t site(const Site& site) {
    const uint64_t key = uint64_t{site.pc} << 32 | uint64_t{site.bytes} << 16 |
                         static_cast<uint64_t>(site.kind) << 8 |
                         static_cast<uint64_t>(site.proxy) << 4 | static_cast<uint64_t>(site.scope);
    SiteKey& recent = recent_[(site.pc * 2 + (site.kind == emu::Kind::read ? 0 : 1)) % kRecent];
    if (recent.key != key || recent.number == 0) [[unlikely]] {
      recent = {key, number_of(site, key)};
    }
    return recent.number;
  }

  [[nodiscard]] const Site& site_at(uint32_t number) const { return sites_[number]; }
  [[nodiscard]] const AgentInfo& agent(AgentId id) const { return agents_[id]; }
  [[nodiscard]] AgentInfo& agent(AgentId id) { return agents_[id]; }
  [[nodiscard]] AgentId warp_agent(uint32_t warp) const { return warps_[warp - first_warp_]; }
  /// 0: one CTA, 1: one cluster, 2: further apart.
  [[nodiscard]] int distance(uint32_t cta, uint32_t other) const;
  [[nodiscard]] uint32_t cluster_of(uint32_t cta) const { return ctas_[cta - first_cta_].cluster; }
  /// The lanes that an epoch stands for.
  [[nodiscard]] uint32_t lanes_of(Epoch e) const {
    return lane_of(e) == kEveryLane ? agents_[agent_of(e)].lanes : uint32_t{1} << lane_of(e);
  }
  [[nodiscard]] uint64_t bytes() const;

 private:
  struct SiteKey {
    uint64_t key = 0;
    uint32_t number = 0;
  };
  static constexpr uint32_t kRecent = 4096;
  static constexpr AgentId kKept = 16;  ///< Left for operations other than copies.

  uint32_t number_of(const Site& site, uint64_t key);

  std::vector<AgentInfo> agents_;
  std::vector<AgentId> warps_;  ///< By warp, from first_warp_ on.
  std::vector<CtaInfo> ctas_;
  uint32_t first_warp_ = 0;
  uint32_t first_cta_ = 0;
  std::vector<Site> sites_;
  std::unordered_map<uint64_t, uint32_t> numbers_;
  std::vector<SiteKey> recent_;
};

}  // namespace cohort::race
