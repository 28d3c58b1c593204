// Host memory for every tensor of a graph, by name: what a program of its own has in its framework.
#pragma once

#include <cohort/cohort.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace sample {

/// The value of a result; prints its findings and ends the program when there is none.
template <class T>
T must(cohort::Result<T> result) {
  if (result) return *result;
  std::printf("%s\n", std::string(result.findings().text()).c_str());
  std::exit(1);
}
inline void must(const cohort::Status& status) {
  if (status) return;
  std::printf("%s\n", std::string(status.findings().text()).c_str());
  std::exit(1);
}

/// One zeroed, 64-byte aligned buffer a tensor, and one workspace.
class HostMemory {
 public:
  HostMemory(const cohort::Graph& graph, const cohort::Plan& plan, cohort::Sizes sizes)
      : graph_(graph), plan_(plan) {
    for (int32_t i = 0; i < graph.tensor_count(); ++i) {
      const cohort::TensorInfo info = must(plan.tensor(i, graph, sizes));
      cohort::TensorView v;
      v.data = aligned(info.bytes, std::max<int64_t>(info.alignment, 64));
      v.dtype = info.dtype;
      v.rank = info.rank;
      std::memcpy(v.shape, info.shape, sizeof v.shape);
      v.pack();
      tensors_.push_back({graph.tensor_name(i), v});
      bytes_.push_back(info.bytes);
      is_output_.push_back(info.is_output);
      if (info.is_output) outputs_.push_back(tensors_.back());
    }
    sizes_.assign(sizes.begin(), sizes.end());
  }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// Runs the plan once on this memory.
  void run() {
    cohort::Execution execution = must(plan_.bind(graph_, cohort::Sizes(sizes_), tensors_));
    must(execution.run(aligned(execution.workspace_bytes(), 256)));
  }

  /// The tensor of that name; ends the program when there is none.
  template <class T = void>
  T* data(std::string_view name) const {
    return static_cast<T*>(tensors_[index(name)].view.data);
  }
  int64_t bytes(std::string_view name) const { return bytes_[index(name)]; }
  const std::vector<cohort::NamedTensor>& tensors() const { return tensors_; }
  const std::vector<cohort::NamedTensor>& outputs() const { return outputs_; }
  bool is_output(size_t i) const { return is_output_[i]; }

 private:
  size_t index(std::string_view name) const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].name == name) return i;
    }
    std::printf("the graph has no tensor '%s'\n", std::string(name).c_str());
    std::exit(1);
  }
  void* aligned(int64_t bytes, int64_t at) {
    const auto alignment = static_cast<size_t>(at);
    buffers_.emplace_back(static_cast<size_t>(bytes) + alignment);
    std::byte* b = buffers_.back().data();
    return b + (alignment - reinterpret_cast<uintptr_t>(b) % alignment) % alignment;
  }

  cohort::Graph graph_;
  cohort::Plan plan_;
  std::vector<cohort::Size> sizes_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<cohort::NamedTensor> tensors_;
  std::vector<cohort::NamedTensor> outputs_;
  std::vector<int64_t> bytes_;
  std::vector<bool> is_output_;
};

}  // namespace sample
