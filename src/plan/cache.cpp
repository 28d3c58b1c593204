// The process-wide plan cache: bounded, least recently used out first.
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include <cohort/plan.h>

#include "base/diagnostics.h"
#include "base/options.h"
#include "plan/plan_data.h"

namespace cohort::plan {

namespace {

constexpr size_t kCapacity = 256;

struct CacheKey {
  Key graph;
  int32_t device;
  bool deterministic;
  bool batch_invariant;
  bool approx;
  int32_t sm_limit;
  int64_t workspace_limit;
  int64_t expected_rows;
  std::string engine;
  // One value in this process; a cache that outlives the process must not serve another version.
  std::string_view version = cohort::version();

  CacheKey(const ir::Graph& g, int32_t d, const PlanOptions& o)
      : graph(g.key()),
        device(d),
        deterministic(o.deterministic),
        batch_invariant(o.batch_invariant),
        approx(o.allow_approx_reciprocal),
        sm_limit(o.sm_limit),
        workspace_limit(o.workspace_limit),
        expected_rows(o.expected_rows),
        engine(o.engine) {}
  bool operator==(const CacheKey&) const = default;
};

struct Hash {
  size_t operator()(const CacheKey& k) const {
    return k.graph.low ^ (k.graph.high * 31) ^ (static_cast<size_t>(k.device) << 7);
  }
};

struct Entry {
  CacheKey key;
  PlanRef plan;
};

class Cache {
 public:
  // A plan with a reference for the caller, or null.
  PlanData* find(const CacheKey& key, const ir::Graph& graph) {
    const std::lock_guard lock(mutex_);
    const auto it = map_.find(key);
    // Equal keys of different graphs are possible, if unlikely: the text decides.
    if (it == map_.end() || it->second->plan->graph->canonical_text() != graph.canonical_text()) {
      ++stats_.misses;
      return nullptr;
    }
    ++stats_.hits;
    list_.splice(list_.begin(), list_, it->second);
    const PlanData* plan = it->second->plan.get();
    plan->retain();
    return const_cast<PlanData*>(plan);
  }

  void insert(const CacheKey& key, const PlanData* plan) {
    std::list<Entry> made;
    made.push_front({key, PlanRef(plan)});
    std::list<Entry> dropped;  // destroyed after the lock
    const std::lock_guard lock(mutex_);
    // The last thing that can fail: list and map are never apart.
    const auto [it, is_new] = map_.try_emplace(key, made.begin());
    if (!is_new) {
      dropped.splice(dropped.begin(), list_, it->second);
      it->second = made.begin();
    }
    list_.splice(list_.begin(), made);
    while (list_.size() > kCapacity) {
      map_.erase(list_.back().key);
      dropped.splice(dropped.begin(), list_, std::prev(list_.end()));
      ++stats_.evicted;
    }
  }

  PlanCacheStats stats() {
    const std::lock_guard lock(mutex_);
    stats_.size = static_cast<int64_t>(list_.size());
    stats_.capacity = static_cast<int64_t>(kCapacity);
    return stats_;
  }

  void clear() {
    std::list<Entry> dropped;
    const std::lock_guard lock(mutex_);
    map_.clear();
    dropped.swap(list_);
  }

 private:
  std::mutex mutex_;
  std::list<Entry> list_;
  std::unordered_map<CacheKey, std::list<Entry>::iterator, Hash> map_;
  PlanCacheStats stats_{};
};

// Never destroyed, so that plans may be made while the process ends.
Cache& cache() {
  static Cache* c = new Cache;
  return *c;
}

// What the environment and the caller ask for is said to be wrong, never ignored.
void want_environment() {
  const std::string& fault = base::options().fault;
  if (fault.empty()) return;
  throw base::FindingsError{base::make_findings(
      ErrorKind::environment, {.code = "E-ENVIRONMENT", .op = "make_plan", .message = fault})};
}

void check_options(const PlanOptions& options) {
  base::Diagnostics d;
  const auto want = [&](const char* field, int64_t got, int64_t least) {
    if (got >= least) return;
    d.add({.code = "E-ATTRIBUTE",
           .op = "PlanOptions",
           .field = field,
           .wanted = std::to_string(least) + " or more",
           .got = std::to_string(got)});
  };
  want("sm_limit", options.sm_limit, 0);
  want("workspace_limit", options.workspace_limit, -1);
  want("expected_rows", options.expected_rows, 0);
  if (!d.empty()) throw base::FindingsError{d.take(ErrorKind::mismatch)};
}

PlanData* find_or_make(const ir::Graph& graph, int32_t device, const PlanOptions& options) {
  want_environment();
  check_options(options);
  const CacheKey key(graph, device, options);
  if (PlanData* hit = cache().find(key, graph)) {
    base::log(2, "plan cache: hit");
    return hit;
  }
  PlanData* made = plan_graph(graph, device, options, engine::all_engines());
  base::log(2, "plan cache: miss");
  base::log(2, made->explanation);
  try {
    cache().insert(key, made);
  } catch (...) {
    made->release();
    throw;
  }
  return made;
}

}  // namespace

PlanData* cached_plan(const ir::Graph& graph, int32_t device, const PlanOptions& options) {
  try {
    return find_or_make(graph, device, options);
  } catch (const base::FindingsError& e) {
    base::log(1, e.findings.text());
    throw;
  }
}

}  // namespace cohort::plan

namespace cohort {

Status check_environment() noexcept {
  return base::guarded("looking at the environment", []() -> Status {
    plan::want_environment();
    return {};
  });
}

int32_t environment_count() noexcept {
  return static_cast<int32_t>(std::tuple_size_v<decltype(base::Options::variables)>);
}
EnvironmentVariable environment_variable(int32_t i) noexcept {
  if (i < 0 || i >= environment_count()) return {};
  try {
    const base::Variable& v = base::options().variables[static_cast<size_t>(i)];
    return {v.name, v.value};
  } catch (...) {
    return {};
  }
}

PlanCacheStats plan_cache_stats() noexcept { return plan::cache().stats(); }
void clear_plan_cache() noexcept { plan::cache().clear(); }

}  // namespace cohort
