// Memory for every tensor of a graph, with guard bands, and one-line runs.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cohort/cohort.h>
#include <gtest/gtest.h>

namespace cohort::test {

/// Every byte that a run has no business with holds this before it.
inline constexpr int kPoison = 0xA5;
inline constexpr size_t kGuard = 256;

/// Memory of all tensors of a graph at some sizes, poisoned.
class Tensors {
 public:
  Tensors(const Graph& graph, const Plan& plan, Sizes sizes) : graph_(graph) {
    for (int32_t i = 0; i < graph.tensor_count(); ++i) {
      const Result<TensorInfo> got = plan.tensor(i, graph, sizes);
      EXPECT_TRUE(got) << got.findings().text();
      infos_.push_back(*got);
      const auto bytes = static_cast<size_t>(got->bytes);
      buffers_.emplace_back(bytes + 3 * kGuard, std::byte{kPoison});
      std::byte* p = buffers_.back().data() + kGuard;
      p += kGuard - reinterpret_cast<uintptr_t>(p) % kGuard;
      TensorView v;
      v.data = p;
      v.dtype = got->dtype;
      v.rank = got->rank;
      std::memcpy(v.shape, got->shape, sizeof v.shape);
      std::memcpy(v.strides, got->strides, sizeof v.strides);
      views_.push_back(v);
    }
  }

  [[nodiscard]] int32_t index(std::string_view name) const {
    const int32_t i = graph_.tensor_index(name);
    EXPECT_GE(i, 0) << name;
    return i;
  }
  [[nodiscard]] TensorView& view(std::string_view name) {
    return views_[static_cast<size_t>(index(name))];
  }
  [[nodiscard]] int64_t bytes(std::string_view name) const {
    return infos_[static_cast<size_t>(index(name))].bytes;
  }
  template <class T>
  [[nodiscard]] T* data(std::string_view name) {
    return static_cast<T*>(view(name).data);
  }
  template <class T>
  void set(std::string_view name, const std::vector<T>& values) {
    ASSERT_EQ(static_cast<int64_t>(values.size() * sizeof(T)), bytes(name)) << name;
    if (!values.empty()) std::memcpy(data<T>(name), values.data(), values.size() * sizeof(T));
  }
  void fill(std::string_view name, int byte) {
    std::memset(data<std::byte>(name), byte, static_cast<size_t>(bytes(name)));
  }
  /// The bytes of a tensor.
  [[nodiscard]] std::vector<uint8_t> raw(std::string_view name) {
    const uint8_t* p = data<uint8_t>(name);
    return {p, p + bytes(name)};
  }
  template <class T>
  [[nodiscard]] std::vector<T> values(std::string_view name) {
    const T* p = data<T>(name);
    return {p, p + bytes(name) / static_cast<int64_t>(sizeof(T))};
  }
  [[nodiscard]] std::vector<NamedTensor> all() const {
    std::vector<NamedTensor> t;
    for (size_t i = 0; i < views_.size(); ++i) {
      t.push_back({graph_.tensor_name(static_cast<int32_t>(i)), views_[i]});
    }
    return t;
  }
  [[nodiscard]] const std::vector<TensorInfo>& infos() const { return infos_; }

  /// True when nothing was written beside the tensors.
  [[nodiscard]] bool guards_hold() const {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      const auto* begin = static_cast<const std::byte*>(views_[i].data);
      const std::byte* end = begin + infos_[i].bytes;
      for (const std::byte& b : buffers_[i]) {
        if ((&b < begin || &b >= end) && b != std::byte{kPoison}) return false;
      }
    }
    return true;
  }

 private:
  Graph graph_;
  std::vector<TensorInfo> infos_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<TensorView> views_;
};

/// 256-byte aligned memory with any content.
class Workspace {
 public:
  explicit Workspace(int64_t bytes)
      : memory_(static_cast<size_t>(bytes) + 512, std::byte{kPoison}) {}
  [[nodiscard]] void* data() {
    return memory_.data() + (256 - reinterpret_cast<uintptr_t>(memory_.data()) % 256);
  }

 private:
  std::vector<std::byte> memory_;
};

inline Graph finish(Builder& g) {
  Result<Graph> graph = std::move(g).finish();
  EXPECT_TRUE(graph) << graph.findings().text();
  return *graph;
}

/// A graph, its plan and memory, ready to be filled and run.
struct Bench {
  explicit Bench(const Graph& g, Sizes sizes = {}, const PlanOptions& options = {},
                 const Device& device = Device::cpu())
      : graph(g), plan(*make_plan(g, device, options)), tensors(graph, plan, sizes) {
    for (const Size& s : sizes) sizes_.emplace_back(s.name, s.value);
  }

  [[nodiscard]] Status run() {
    std::vector<Size> sizes;
    for (const auto& [name, value] : sizes_) sizes.push_back({name, value});
    Result<Execution> e = plan.bind(graph, sizes, tensors.all());
    if (!e) return e.findings();
    Workspace workspace(e->workspace_bytes());
    const Status status = e->run(workspace.data());
    EXPECT_TRUE(tensors.guards_hold());
    return status;
  }
  void run_well() {
    const Status s = run();
    ASSERT_TRUE(s) << s.findings().text();
  }

  Graph graph;
  Plan plan;
  Tensors tensors;

 private:
  std::vector<std::pair<std::string, int64_t>> sizes_;
};

}  // namespace cohort::test
