#include "ir/parts.h"

#include <optional>

#include "base/checked.h"
#include "base/diagnostics.h"
#include "ir/op_record.h"
#include "ir/stored.h"
#include "numerics/layout.h"

namespace cohort::ir {

namespace {

using base::ceil_div;

[[noreturn]] void overflow(const Graph& graph, int32_t index) {
  const std::string& name = graph.tensors[static_cast<size_t>(index)].name;
  throw base::FindingsError{base::make_findings(
      ErrorKind::limit, {.code = "E-OVERFLOW",
                         .op = name,
                         .wanted = "a size below 2^63 bytes",
                         .got = "more",
                         .message = "the size of '" + name + "' does not fit in 63 bits"})};
}

struct Shape {
  int32_t rank = 0;
  int64_t dims[kMaxRank] = {};
  void push(int64_t extent) { dims[rank++] = extent; }
};

// Shape of the scale tensor: factors by block in f32, or bytes of a layout.
std::optional<Shape> scale_shape(const Value& v, int64_t groups, SymbolSizes sizes) {
  const ScaledType& s = *v.scaled;
  const int64_t block = info(s.format).block;
  const bool weights = v.role != Role::scaled_tensor;
  const int64_t experts = weights ? v.shape[0].bound : 1;
  const int64_t rows = extent_at(v.shape[weights ? 1 : 0], sizes);
  const int64_t features = extent_at(v.shape[weights ? 2 : 1], sizes);
  Shape shape;
  if (weights) shape.push(experts);
  switch (s.format) {
    case Format::fp8_tensor:
      if (!weights) shape.push(1);
      return shape;
    case Format::fp8_row:
      shape.push(rows);
      return shape;
    case Format::fp8_block128:
      shape.push(weights ? ceil_div(rows, 128) : rows);
      shape.push(ceil_div(features, 128));
      return shape;
    default:
      break;
  }
  if (s.layout == ScaleLayout::linear) {
    shape.push(rows);
    shape.push(ceil_div(features, block));
    return shape;
  }
  const auto bytes =
      numerics::scale_buffer_bytes(s.layout, rows, features, block, weights ? 1 : groups);
  if (!bytes) return std::nullopt;
  shape.push(*bytes);
  return shape;
}

Shape data_shape(const Graph& graph, const Value& v, const TensorPart& part, SymbolSizes sizes) {
  Shape shape;
  if (v.role == Role::weight_pointers) {
    shape.push(v.shape[0].bound);
    return shape;
  }
  if (v.role == Role::groups) {
    shape.push(extent_at(v.shape[0], sizes) + extra_entries(v));
    return shape;
  }
  const Extents stored = part.is_output
                             ? stored_shape(graph, graph.outputs[static_cast<size_t>(part.index)])
                             : stored_shape(v);
  for (int i = 0; i < stored.rank; ++i) shape.push(extent_at(stored[i], sizes));
  return shape;
}

}  // namespace

const Value& part_value(const Graph& graph, const TensorPart& part) {
  const auto i = static_cast<size_t>(part.index);
  const int32_t number = part.is_output ? graph.outputs[i].value : graph.inputs[i].value;
  return graph.values[static_cast<size_t>(number)];
}

TensorInfo tensor_info(const Graph& graph, int32_t index, SymbolSizes sizes) {
  const TensorPart& part = graph.tensors[static_cast<size_t>(index)];
  const Value& v = part_value(graph, part);
  const bool is_scale = part.kind == TensorPart::Kind::scale;
  bool pointers = v.role == Role::weight_pointers;
  Strides strides = v.strides;
  TensorInfo t{};
  t.is_output = part.is_output;
  t.is_scale = is_scale;
  t.dtype = v.dtype;
  t.alignment = v.alignment;
  if (part.is_output) {
    const Output& o = graph.outputs[static_cast<size_t>(part.index)];
    t.dtype = o.dtype;
    t.alignment = o.alignment;
    strides = o.strides;
    pointers = o.discrete;
  }
  Shape shape;
  if (pointers) {
    shape.push(v.shape[0].bound);
    t.dtype = DType::i64;
    t.alignment = 8;
  } else if (is_scale) {
    const auto s = scale_shape(v, part.groups, sizes);
    if (!s) overflow(graph, index);
    shape = *s;
    t.dtype = info(v.scaled->format).scale;
  } else {
    shape = data_shape(graph, v, part, sizes);
  }
  const bool vector = v.role != Role::tensor && v.role != Role::scaled_tensor &&
                      v.role != Role::weights && v.role != Role::value &&
                      v.role != Role::weight_grad;
  if (vector && !part.is_output) t.alignment = bits(t.dtype) / 8;
  t.rank = shape.rank;
  std::optional<int64_t> step = 1;
  for (int d = shape.rank - 1; d >= 0; --d) {
    t.shape[d] = shape.dims[d];
    t.strides[d] = *step;
    step = base::checked_mul(*step, shape.dims[d] > 0 ? shape.dims[d] : 1);
    if (!step) overflow(graph, index);
  }
  const bool strided = strides.rank() == shape.rank && !is_scale && !pointers;
  int64_t last = 0;
  bool empty = false;
  for (int d = 0; d < shape.rank; ++d) {
    if (strided) t.strides[d] = strides[d];
    empty = empty || t.shape[d] == 0;
    const auto part_span = base::checked_mul(t.shape[d] > 0 ? t.shape[d] - 1 : 0, t.strides[d]);
    const auto sum = part_span ? base::checked_add(last, *part_span) : std::nullopt;
    if (!sum) overflow(graph, index);
    last = *sum;
  }
  const auto total_bits = base::checked_mul(last + 1, bits(t.dtype));
  if (!total_bits) overflow(graph, index);
  t.bytes = empty ? 0 : ceil_div(*total_bits, 8);
  return t;
}

}  // namespace cohort::ir
