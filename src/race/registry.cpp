#include "race/registry.h"

#include <algorithm>
#include <string>

#include "base/diagnostics.h"
#include "race/read_sets.h"

namespace cohort::race {

void over_limit(const char* what, uint64_t limit) {
  throw base::FindingsError{base::make_findings(
      ErrorKind::limit, {.code = "E-LIMIT",
                         .field = "race checker",
                         .wanted = "at most " + std::to_string(limit) + " " + what,
                         .got = "more",
                         .hint = "run fewer CTAs, or a shorter problem"})};
}

Registry::Registry() : sites_(2), recent_(kRecent) { restart(); }

void Registry::restart() {
  agents_.assign(1, {});
  warps_.clear();
  ctas_.clear();
}

void Registry::add_grid(const emu::Grid& grid) {
  if (warps_.empty()) first_warp_ = grid.first_warp;
  if (ctas_.empty()) first_cta_ = grid.first_cta;
  const uint64_t begin = agents_.size();
  const uint64_t warps = grid.warps_per_cta;
  if (begin + warps * grid.ctas > kMaxAgent) over_limit("warps and operations", kMaxAgent);
  // Half of what is left is set aside; CTAs that need more share the other half.
  const uint64_t left = (kMaxAgent - begin - warps * grid.ctas) / 2;
  const uint64_t spare = std::min<uint64_t>(4 * warps + 32, left / std::max(grid.ctas, 1U));
  agents_.resize(begin + (warps + spare) * grid.ctas);
  for (uint32_t c = 0; c < grid.ctas; ++c) {
    const auto base = static_cast<AgentId>(begin + c * (warps + spare));
    for (uint32_t w = 0; w < warps; ++w) {
      const uint32_t threads = grid.threads_per_cta - std::min(grid.threads_per_cta, 32 * w);
      AgentInfo& a = agents_[base + w];
      a.cta = grid.first_cta + c;
      a.warp = grid.first_warp + static_cast<uint32_t>(c * warps) + w;
      a.lanes = threads >= 32 ? kAllLanes : (uint32_t{1} << threads) - 1;
      warps_.push_back(base + w);
    }
    CtaInfo info;
    info.cluster = grid.first_cta + c - c % std::max(grid.cluster_size, 1U);
    info.next = base + grid.warps_per_cta;
    info.end = base + static_cast<AgentId>(warps + spare);
    ctas_.push_back(info);
  }
}

AgentId Registry::add_operation(uint32_t cta, const AgentInfo& info) {
  CtaInfo& c = ctas_[cta - first_cta_];
  if (c.next < c.end) {
    agents_[c.next] = info;
    return c.next++;
  }
  if (agents_.size() > kMaxAgent) over_limit("warps and operations", kMaxAgent);
  agents_.push_back(info);
  return static_cast<AgentId>(agents_.size() - 1);
}

uint32_t Registry::number_of(const Site& site, uint64_t key) {
  const auto [it, is_new] = numbers_.try_emplace(key, static_cast<uint32_t>(sites_.size()));
  if (is_new) {
    if (sites_.size() > kMaxSite) over_limit("instructions that touch memory", kMaxSite);
    sites_.push_back(site);
  }
  return it->second;
}

int Registry::distance(uint32_t cta, uint32_t other) const {
  if (cta == other) return 0;
  return cluster_of(cta) == cluster_of(other) ? 1 : 2;
}

uint64_t Registry::bytes() const {
  return agents_.capacity() * sizeof(AgentInfo) + sites_.capacity() * sizeof(Site);
}

Epoch ReadSets::make() {
  if (free_.empty()) {
    if (sets_.size() > kMaxSet) over_limit("cells with several readers", kMaxSet);
    free_.push_back(static_cast<uint32_t>(sets_.size()));
    sets_.emplace_back();
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  return set_epoch(index);
}

Epoch ReadSets::copy(Epoch set) {
  const Epoch made = make();
  at(made) = at(set);
  return made;
}

uint64_t ReadSets::bytes() const {
  uint64_t n = sets_.size() * sizeof(ReadSet) + free_.capacity() * sizeof(uint32_t);
  for (const ReadSet& s : sets_) n += s.capacity() * sizeof(Reader);
  return n;
}

}  // namespace cohort::race
