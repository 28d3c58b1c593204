// The canonical writer: one text serves JSON files and keys.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace cohort::ir {

/// Version of the JSON format.
inline constexpr int64_t kJsonVersion = 1;

/// Keys of an input beside "name" and "role"; a role has some of them, always in this order.
enum class InputKey : uint8_t {
  shape,
  dtype,
  format,
  layout,
  axis,
  storage,
  major,
  form,
  row_alignment,
  strides,
  alignment,
};
[[nodiscard]] std::string_view name(InputKey key);
/// The keys that inputs of a role have; empty for a role that cannot be an input.
[[nodiscard]] std::span<const InputKey> input_keys(Role role);

/// Keys of an output beside "name", in this order. What an output says stands here and nowhere
/// else: files, the schema and what an engine must claim follow from it.
enum class OutputKey : uint8_t {
  value,
  dtype,
  tail,
  strides,
  alignment,
  discrete,
  scatter,
  slot,
  top_k,
  rows,
};
[[nodiscard]] std::string_view name(OutputKey key);
[[nodiscard]] std::span<const OutputKey> output_keys();

/// Whether names of inputs, outputs, dims and the graph stand in the text. A key leaves them out
/// and numbers what refers to them ("#2").
enum class Names : uint8_t { written, left_out };

/// The canonical text of a graph.
[[nodiscard]] std::string canonical_json(const Graph& graph, Names names);

/// What stands at a key of an input or output, without names and without quotes: "zero", "[1,64]".
[[nodiscard]] std::string key_text(const Graph& graph, const Input& input, InputKey key);
[[nodiscard]] std::string key_text(const Graph& graph, const Output& output, OutputKey key);

/// Appends the shortest decimal that reads back: "-0.0", "\"inf\"", "\"-inf\"", "\"nan\"".
void append_number(std::string& out, double value);
void append_number(std::string& out, float value);
/// Appends a quoted, escaped string.
void append_string(std::string& out, std::string_view text);

/// 128-bit hash; not cryptographic: whoever trusts a hit compares the texts.
[[nodiscard]] Key hash128(std::string_view text);

}  // namespace cohort::ir
