// One call of a training step: a graph with memory of its own.
#pragma once

#include <cohort/cohort.h>
#include <cohort/compare.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host_memory.h"

class Step {
 public:
  using Bytes = std::vector<std::byte>;

  Step(const char* call, cohort::Result<cohort::Graph> graph, int64_t rows)
      : call_(call),
        graph_(sample::must(std::move(graph))),
        rows_{{"T", rows}},
        memory_(graph_, sample::must(cohort::make_plan(graph_, cohort::Device::cpu())),
                cohort::Sizes(rows_)) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  sample::HostMemory& memory() { return memory_; }
  const sample::HostMemory& memory() const { return memory_; }

  /// The tensor `name` is what another call has as `other`, scales too.
  void take(const std::string& name, const Step& from, const std::string& other) {
    for (const char* part : {"", ".scale"}) {
      if (*part != 0 && !has(name + part)) continue;
      if (memory_.bytes(name + part) != from.memory_.bytes(other + part)) {
        std::printf("'%s' and '%s' differ in size\n", name.c_str(), other.c_str());
        std::exit(1);
      }
      std::memcpy(memory_.data(name + part), from.memory_.data(other + part),
                  static_cast<size_t>(memory_.bytes(name + part)));
    }
  }

  /// Of discrete weights or gradients: `bytes` of memory of its own for each expert, and pointers
  /// to them as the tensor `name`.
  void allocate(std::string_view name, int64_t experts, int64_t bytes) {
    auto* pointers = memory_.data<std::byte*>(name);
    for (int64_t e = 0; e < experts; ++e) {
      matrices_.emplace_back(static_cast<size_t>(bytes));
      pointers[e] = matrices_.back().data();
    }
  }

  bool has(std::string_view name) const { return graph_.tensor_index(name) >= 0; }

  /// Bytes of a tensor and of its scales.
  int64_t bytes(const std::string& name) const {
    return memory_.bytes(name) + (has(name + ".scale") ? memory_.bytes(name + ".scale") : 0);
  }

  /// Runs, and holds every element of every output to what compare() makes of the same inputs: the
  /// reference's value and how far any other f32 evaluation may be off. Prints a line; false when
  /// an element is farther off.
  bool run() {
    memory_.run();
    const cohort::Comparison c =
        sample::must(cohort::compare(graph_, cohort::Sizes(rows_), memory_.tensors(), {}));
    int64_t elements = 0;
    double largest = 0;
    for (int32_t i = 0; i < c.size(); ++i) {
      elements += c[i].elements;
      largest = std::max(largest, c[i].largest);
    }
    std::printf("  %-22s %7lld results, ", call_, static_cast<long long>(elements));
    if (largest == 0) {
      std::printf("all equal to the reference\n");
    } else {
      std::printf("at most %.2g %% of the allowed distance from the reference\n", 100 * largest);
    }
    if (!c.good()) std::printf("%s\n", std::string(c.text()).c_str());
    return c.good();
  }

 private:
  const char* call_;
  cohort::Graph graph_;
  cohort::Size rows_[1];
  sample::HostMemory memory_;
  std::vector<Bytes> matrices_;  // of experts
};
