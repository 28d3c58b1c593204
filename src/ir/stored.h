// What may stand in memory: the rules for types, layouts, extents and strides of stored tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace cohort::ir {

/// One rule that a stored tensor breaks.
struct StoredFault {
  std::string_view code;
  std::string_view key;  ///< Key of the input or output in JSON: "shape", "dtype", ...
  int32_t dimension = -1;
  std::string wanted;
  std::string got;
  std::string hint;
};

/// Every rule that `type` breaks as an input of its role.
[[nodiscard]] std::vector<StoredFault> input_faults(const Graph& graph, const Value& type);
/// The rule of alignment alone; `bits` of an element, 8 when that is not known.
void alignment_faults(int64_t alignment, int bits, std::vector<StoredFault>& faults);
/// The rules of strides alone; `unique`: no two elements may share an address.
void stride_faults(const Extents& stored, const Strides& strides, DType dtype, bool unique,
                   std::vector<StoredFault>& faults);

/// Strides as texts and keys have them: none where they are those of packed rows at any size.
[[nodiscard]] Strides kept_strides(const Extents& stored, const Strides& strides);

/// Extents in the order in which elements stand in memory: weights by their major, column blocks
/// by their storage.
[[nodiscard]] Extents stored_shape(const Value& type);
/// The same of an output: a scattered one has rows of its own.
[[nodiscard]] Extents stored_shape(const Graph& graph, const Output& output);
/// The scale layout that a format has when none is given.
[[nodiscard]] ScaleLayout default_layout(Format format, Axes axis);
/// True when the format's scales are f32 factors rather than block scales of 8 bits.
[[nodiscard]] bool has_f32_scales(Format format);

}  // namespace cohort::ir
