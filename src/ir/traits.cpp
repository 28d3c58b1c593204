#include "ir/traits.h"

#include <array>

namespace cohort::ir {

namespace {

constexpr std::array kTraits{InputTrait::whole, InputTrait::rounds};

std::string rounds_text(const Graph& g, int32_t groups) {
  const int64_t count = g.values[static_cast<size_t>(groups)].shape[0].bound;
  for (const Value& v : g.values) {
    if (v.groups != groups || v.experts == 0 || v.experts >= count) continue;
    return std::to_string(count) + " groups of " + std::to_string(v.experts) + " experts";
  }
  return {};
}

}  // namespace

std::span<const InputTrait> input_traits() { return kTraits; }

std::string_view name(InputTrait trait) {
  switch (trait) {
    case InputTrait::whole:
      return "whole";
    case InputTrait::rounds:
      return "rounds";
  }
  return {};
}

std::string trait_text(const Graph& graph, const Input& input, InputTrait trait) {
  const Value& v = graph.values[static_cast<size_t>(input.value)];
  if (v.role != Role::groups) return {};
  if (trait == InputTrait::whole) return is_whole(v) ? "one group without a tensor" : "";
  return rounds_text(graph, input.value);
}

}  // namespace cohort::ir
