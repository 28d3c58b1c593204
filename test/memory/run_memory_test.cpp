// Planning, binding, running and comparing while memory runs out.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cohort/compare.h>
#include <cohort/dlpack.h>

#include "memory/allocations.h"
#include "memory/fc1.h"

namespace cohort::test {
namespace {

// Before anything asks how many threads there are: with two, the first failure ends the making of
// threads, with four some run already.
const int four_threads = ::setenv("COHORT_THREADS", "4", 1);

const auto no_more = [](const auto&, const Findings&) {};

// fc1 with memory for every tensor, inputs filled.
struct Ready {
  Result<Graph> graph = fc1();
  Result<Plan> plan = make_plan(graph, Device::cpu());
  std::vector<std::vector<std::byte>> buffers;
  std::vector<NamedTensor> inputs;
  std::vector<NamedTensor> outputs;
  std::vector<NamedTensor> all;
  std::vector<std::byte> workspace;

  explicit Ready(int64_t rows = kRows) {
    uint32_t state = 1;
    for (int32_t i = 0; i < graph->tensor_count(); ++i) {
      const Result<TensorInfo> info = plan->tensor(i, *graph, {{"T", rows}});
      buffers.emplace_back(static_cast<size_t>(info->bytes) + 256);
      std::byte* p = buffers.back().data();
      p += 256 - reinterpret_cast<uintptr_t>(p) % 256;
      TensorView v;
      v.data = p;
      v.dtype = info->dtype;
      v.rank = info->rank;
      std::memcpy(v.shape, info->shape, sizeof v.shape);
      std::memcpy(v.strides, info->strides, sizeof v.strides);
      for (int64_t b = 0; b < info->bytes; ++b) {
        state = state * 1664525 + 1013904223;
        p[b] = static_cast<std::byte>(state >> 27);
      }
      (info->is_output ? outputs : inputs).push_back({graph->tensor_name(i), v});
      all.push_back({graph->tensor_name(i), v});
    }
    for (int64_t e = 0; e < kExperts; ++e) {
      static_cast<int32_t*>(view("ends").data)[e] = static_cast<int32_t>((e + 1) * rows / kExperts);
    }
    auto* prob = static_cast<float*>(view("prob").data);
    for (int64_t r = 0; r < rows; ++r) prob[r] = 0.5f;
  }

  [[nodiscard]] TensorView view(std::string_view name) const {
    return all[static_cast<size_t>(graph->tensor_index(name))].view;
  }
  [[nodiscard]] Result<Execution> bind(int64_t rows = kRows) const {
    return plan->bind(*graph, {{"T", rows}}, all);
  }
  [[nodiscard]] std::vector<std::byte> output_bytes() const {
    std::vector<std::byte> bytes;
    for (const NamedTensor& o : outputs) {
      const auto* p = static_cast<const std::byte*>(o.view.data);
      int64_t n = bits(o.view.dtype) / 8;
      for (int d = 0; d < o.view.rank; ++d) n *= o.view.shape[d];
      bytes.insert(bytes.end(), p, p + n);
    }
    return bytes;
  }
};

TEST(Memory, Planning) {
  const Result<Graph> graph = fc1();
  ASSERT_TRUE(graph);
  const auto plan = [&](const PlanOptions& options) {
    return make_plan(*graph, Device::sm100(), options).findings();
  };
  const auto fresh = [] {
    clear_plan_cache();
    return 0;
  };
  every_allocation_fails(
      "plan", fresh, [&](int) { return plan({}); },
      [&](int, const Findings&) {
        ASSERT_EQ(plan({}).total(), 0);
        ASSERT_EQ(plan_cache_stats().size, 1);
      });
  const auto cached = [&] {
    clear_plan_cache();
    return plan({}).total();
  };
  every_allocation_fails(
      "cached plan", cached, [&](int64_t) { return plan({.engine = "reference"}); }, no_more);
  every_allocation_fails(
      "no plan", fresh, [&](int) { return plan({.engine = "nobody"}); }, no_more, "E-UNSUPPORTED");
  every_allocation_fails(
      "device", fresh, [](int) { return Device::find("sm1").findings(); }, no_more, "E-DEVICE");
}

// One list for both cache states: what is evicted later must be what is in the map.
TEST(Memory, PlanCacheStaysWhole) {
  clear_plan_cache();
  for (int64_t i = 0; i < 600; ++i) {
    Builder g("n");
    g.output("y", g.add(Load{.x = g.input("x", {4, 2 * (i % 300) + 2}, DType::f32)}));
    const Result<Graph> graph = std::move(g).finish();
    ASSERT_TRUE(graph);
    fail_allocations(1 + i % 97, false);
    (void)make_plan(*graph, Device::cpu());
    (void)stop_failing();
    ASSERT_TRUE(make_plan(*graph, Device::cpu()));
    const PlanCacheStats s = plan_cache_stats();
    const int64_t hits = s.hits;
    ASSERT_LE(s.size, s.capacity);
    ASSERT_TRUE(make_plan(*graph, Device::cpu()));
    ASSERT_EQ(plan_cache_stats().hits, hits + 1);
  }
}

TEST(Memory, Binding) {
  const Ready ready;
  every_allocation_fails(
      "bind", [] { return 0; }, [&](int) { return ready.bind().findings(); }, no_more);
  every_allocation_fails(
      "bind wrong", [] { return 0; },
      [&](int) {
        return ready.plan->bind(*ready.graph, {{"T", 3000}}, ready.all).findings();
      },
      no_more, "E-SIZE");
  every_allocation_fails(
      "copy", [&] { return *ready.bind(); },
      [&](const Execution& e) {
        const Execution copy(e);
        return copy.run(nullptr).findings();
      },
      no_more);
}

TEST(Memory, RunningIsRepeatable) {
  const Ready ready;
  const Result<Execution> run = ready.bind();
  ASSERT_TRUE(run) << run.findings().text();
  ASSERT_EQ(run->workspace_bytes(), 0);
  ASSERT_TRUE(run->run(nullptr));
  const std::vector<std::byte> wanted = ready.output_bytes();
  every_allocation_fails(
      "run", [] { return 0; }, [&](int) { return run->run(nullptr).findings(); },
      [&](int, const Findings& findings) {
        if (findings.total() == 0) {
          ASSERT_TRUE(ready.output_bytes() == wanted);
        }
        ASSERT_TRUE(run->run(nullptr));
        ASSERT_TRUE(ready.output_bytes() == wanted);
      });
}

// Enough rows for the engine to use threads.
TEST(Memory, RunningWithThreads) {
  ASSERT_EQ(four_threads, 0);
  const Ready ready(2048);
  const Result<Execution> run = ready.bind(2048);
  ASSERT_TRUE(run) << run.findings().text();
  ASSERT_TRUE(run->run(nullptr));
  const std::vector<std::byte> wanted = ready.output_bytes();
  fail_allocations(1'000'000, false);
  ASSERT_TRUE(run->run(nullptr));
  (void)stop_failing();
  const int64_t all = allocations_seen();
  ASSERT_GT(all, 10);
  for (int64_t n = 1; n <= all; ++n) {
    fail_allocations(n, n % 2 == 0);
    const Status s = run->run(nullptr);
    (void)stop_failing();
    if (s) {
      ASSERT_TRUE(ready.output_bytes() == wanted) << n;
    } else {
      const Findings findings = s.findings();
      ASSERT_EQ(findings[0].code, "E-MEMORY") << findings.text();
    }
  }
  ASSERT_TRUE(run->run(nullptr));
  EXPECT_TRUE(ready.output_bytes() == wanted);
}

TEST(Memory, RebindingAndResizing) {
  const Ready ready;
  every_allocation_fails(
      "rebind", [&] { return *ready.bind(); },
      [&](Execution& e) { return e.rebind(0, nullptr).findings(); },
      [&](const Execution& e, const Findings&) { ASSERT_TRUE(e.run(nullptr)); }, "E-POINTER");
  every_allocation_fails(
      "resize", [&] { return *ready.bind(); },
      [&](Execution& e) {
        return e.resize({{"T", -1}}).findings();
      },
      [&](const Execution& e, const Findings&) { ASSERT_TRUE(e.run(nullptr)); }, "E-SIZE");
}

TEST(Memory, Comparing) {
  const Ready ready;
  ASSERT_TRUE(ready.bind()->run(nullptr));
  every_allocation_fails(
      "compare", [] { return 0; },
      [&](int) {
        return compare(*ready.graph, {{"T", kRows}}, ready.inputs, ready.outputs).findings();
      },
      no_more);
}

struct DlTensor {
  void* data;
  struct {
    int32_t device_type;
    int32_t device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
  } dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};

TEST(Memory, DlpackNeedsNone) {
  float data[6] = {};
  int64_t shape[2] = {2, 3};
  const DlTensor t{data, {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  TensorView view;
  fail_allocations(1, true);
  const DlpackStatus status = from_dlpack(t, view);
  EXPECT_EQ(stop_failing(), 0);
  EXPECT_EQ(status, DlpackStatus::ok);
}

}  // namespace
}  // namespace cohort::test
