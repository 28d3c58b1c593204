// What inputs of a graph mean that no key of theirs says alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace cohort::ir {

/// What an engine may not overlook, though it honours every key of the input.
enum class InputTrait : uint8_t {
  whole,   ///< Groups of form whole: nothing is bound, all rows are those of group 0.
  rounds,  ///< Groups that outnumber the experts of a product: group g uses expert g mod E.
};
[[nodiscard]] std::span<const InputTrait> input_traits();
[[nodiscard]] std::string_view name(InputTrait trait);

/// What is so, "16 groups of 8 experts"; empty when the input does not have the trait.
[[nodiscard]] std::string trait_text(const Graph& graph, const Input& input, InputTrait trait);

}  // namespace cohort::ir
