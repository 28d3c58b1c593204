#include "engine/reference/memory.h"

#include <cstddef>
#include <string>

#include "base/diagnostics.h"
#include "ir/stored.h"
#include "numerics/codec.h"

namespace cohort::engine::reference {

using ir::kNone;
using PartKind = ir::TensorPart::Kind;

Memory::Memory(const ir::Graph& graph, const Schedule& schedule, const Launch& launch)
    : graph_(graph), schedule_(schedule), launch_(launch) {
  int64_t at = 0;
  offset_.reserve(graph.values.size());
  for (size_t v = 0; v < graph.values.size(); ++v) {
    offset_.push_back(at);
    at += schedule.kept_bytes(graph, static_cast<int32_t>(v), launch.sizes);
  }
}

const TensorView& Memory::part(bool is_output, int32_t index, PartKind kind) const {
  const int32_t i = schedule_.places.part(is_output, index, kind);
  if (i != kNone) return launch_.tensors[static_cast<size_t>(i)];
  static const TensorView none;
  return none;
}

const TensorView& Memory::input(int32_t value, PartKind kind) const {
  return part(false, graph_.values[static_cast<size_t>(value)].input, kind);
}

const std::string& Memory::input_name(int32_t value) const {
  const auto input = static_cast<size_t>(graph_.values[static_cast<size_t>(value)].input);
  return launch_.named.inputs[input].name;
}

const std::string& Memory::output_name(size_t index) const {
  return launch_.named.outputs[index].name;
}

float* Memory::kept(int32_t value) const {
  if (launch_.workspace == nullptr) return nullptr;  // nobody asked to keep it: bounds alone
  return reinterpret_cast<float*>(static_cast<std::byte*>(launch_.workspace) +
                                  offset_[static_cast<size_t>(value)]);
}

namespace {

// The (rows, columns) matrix of a view whose last two dimensions are the stored order.
void place(StoredRef& r, const TensorView& view, int first_dim, bool swapped) {
  r.row_stride = view.strides[first_dim + (swapped ? 1 : 0)];
  r.column_stride = view.strides[first_dim + (swapped ? 0 : 1)];
}

// One entry of an array of pointers: data like offsets, so what is wrong with it is a finding.
void* pointer_at(const TensorView& array, int64_t e, int64_t alignment, bool is_empty,
                 const std::string& name) {
  const auto address = static_cast<uintptr_t>(static_cast<const int64_t*>(array.data)[e]);
  const bool null = address == 0 && !is_empty;
  if (!null && address % static_cast<uintptr_t>(alignment) == 0) {
    // The caller binds an array of addresses: there is no pointer that this could be derived from.
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  }
  const std::string wanted =
      null ? "a pointer" : "a multiple of " + std::to_string(alignment) + " bytes";
  const std::string got = null ? "null" : std::to_string(address);
  throw base::FindingsError{base::make_findings(
      ErrorKind::mismatch,
      {.code = null ? "E-POINTER" : "E-ALIGNMENT",
       .op = name,
       .field = "values",
       .wanted = wanted,
       .got = got,
       .message = "expert " + std::to_string(e) + ": wanted " + wanted + ", got " + got})};
}

}  // namespace

StoredRef Memory::matrix(int32_t value) const {
  const ir::Value& v = graph_.values[static_cast<size_t>(value)];
  StoredRef r;
  r.dtype = v.dtype;
  r.scaled = v.scaled ? &*v.scaled : nullptr;
  r.rows = extent(v.shape[0]);
  r.columns = v.shape.rank > 1 ? extent(v.shape[1]) : 1;
  const bool transposed = v.scaled && v.scaled->storage != ColStorage::as_rows;
  if (v.node == kNone) {
    const TensorView& data = input(value, PartKind::data);
    r.data = data.data;
    r.scale = v.scaled ? input(value, PartKind::scale).data : nullptr;
    place(r, data, 0, transposed);
    return r;
  }
  r.data = kept(value);
  if (!v.scaled) r.dtype = DType::f32;
  r.row_stride = transposed ? 1 : r.columns;
  r.column_stride = transposed ? r.rows : 1;
  if (v.scaled && r.data != nullptr) {
    r.scale = static_cast<std::byte*>(r.data) + Schedule::element_bytes(v, launch_.sizes);
  }
  return r;
}

StoredRef Memory::expert(int32_t value, int64_t e) const {
  const ir::Value& v = graph_.values[static_cast<size_t>(value)];
  const TensorView& data = input(value, PartKind::data);
  const bool n_major = v.major == Major::n;
  StoredRef r;
  r.dtype = v.dtype;
  r.scaled = v.scaled ? &*v.scaled : nullptr;
  r.is_weights = true;
  r.rows = extent(v.shape[1]);
  r.columns = extent(v.shape[2]);
  const TensorView& scale = v.scaled ? input(value, PartKind::scale) : data;
  if (v.role == Role::weight_pointers) {
    const std::string& name = input_name(value);
    const bool is_empty = r.rows == 0 || r.columns == 0;
    r.data = pointer_at(data, e, v.alignment, is_empty, name);
    r.row_stride = n_major ? 1 : r.columns;
    r.column_stride = n_major ? r.rows : 1;
    if (v.scaled) {
      const int64_t alignment = bits(info(v.scaled->format).scale) / 8;
      r.scale = pointer_at(scale, e, alignment, is_empty, name + ".scale");
    }
    return r;
  }
  r.data = data.data;
  r.first = e * data.strides[0];
  place(r, data, 1, n_major);
  if (v.scaled) {
    int64_t step = bits(scale.dtype) / 8;
    for (int d = 1; d < scale.rank; ++d) step *= scale.shape[d];
    r.scale = static_cast<std::byte*>(scale.data) + e * step;
  }
  return r;
}

StoredRef Memory::output(size_t index) const {
  const ir::Output& o = graph_.outputs[index];
  const ir::Value& v = graph_.values[static_cast<size_t>(o.value)];
  const auto number = static_cast<int32_t>(index);
  const TensorView& data = part(true, number, PartKind::data);
  StoredRef r;
  r.dtype = o.dtype;
  r.scaled = v.scaled ? &*v.scaled : nullptr;
  r.data = data.data;
  r.rows = extent(o.rows ? *o.rows : v.shape[0]);
  r.columns = v.shape.rank > 1 ? extent(v.shape[1]) : 1;
  if (v.shape.rank == 1) {
    r.row_stride = data.strides[0];
    return r;
  }
  place(r, data, 0, v.scaled && v.scaled->storage != ColStorage::as_rows);
  if (v.scaled) r.scale = part(true, number, PartKind::scale).data;
  return r;
}

StoredRef Memory::output_matrix(size_t index, int64_t e) const {
  const ir::Output& o = graph_.outputs[index];
  const ir::Value& v = graph_.values[static_cast<size_t>(o.value)];
  const TensorView& data = part(true, static_cast<int32_t>(index), PartKind::data);
  StoredRef r;
  r.dtype = o.dtype;
  r.rows = extent(v.shape[1]);
  r.columns = extent(v.shape[2]);
  if (o.discrete) {
    r.data = pointer_at(data, e, o.alignment, r.rows == 0 || r.columns == 0, output_name(index));
    r.row_stride = r.columns;
    return r;
  }
  r.data = data.data;
  r.first = e * data.strides[0];
  place(r, data, 1, false);
  return r;
}

void Memory::fail_index(int32_t value, int64_t entry, const std::string& wanted,
                        const std::string& got) const {
  throw base::FindingsError{base::make_findings(
      ErrorKind::mismatch,
      {.code = "E-INDEX",
       .op = input_name(value),
       .field = "values",
       .wanted = wanted,
       .got = got,
       .message = "entry " + std::to_string(entry) + " is " + got + ", wanted " + wanted})};
}

int64_t Memory::index_entry(int32_t value, int64_t i) const {
  const TensorView& v = input(value, PartKind::data);
  return v.dtype == DType::i64 ? static_cast<const int64_t*>(v.data)[i]
                               : static_cast<const int32_t*>(v.data)[i];
}

int64_t Memory::index_row(int32_t value, int64_t i, int64_t limit, bool may_skip) const {
  if (value == kNone) return i;
  const int64_t row = index_entry(value, i);
  if (row >= 0 && row < limit) return row;
  if (row == -1 && may_skip) return row;
  const std::string none = may_skip ? "-1" : "no entries";  // in a range without rows
  fail_index(value, i,
             limit > 0 ? (may_skip ? "-1 .. " : "0 .. ") + std::to_string(limit - 1) : none,
             std::to_string(row));
}

float Memory::number(int32_t value, int64_t i) const {
  if (graph_.values[static_cast<size_t>(value)].node != kNone) return kept(value)[i];
  const TensorView& v = input(value, PartKind::data);
  float x = 0;
  numerics::decode_row(v.dtype, v.data, i, 1, &x);
  return x;
}

std::vector<RowGroup> Memory::groups(int32_t groups, int64_t rows) const {
  if (groups == kNone) return {{0, 0, rows, 0}};
  const ir::Value& v = graph_.values[static_cast<size_t>(groups)];
  const bool slots = v.form == GroupForm::slots;
  // Form whole has no tensor: `begin` is one without data, which nobody reads.
  const TensorView& begin = input(groups, slots ? PartKind::begin : PartKind::data);
  return read_groups(v, extent(v.shape[0]), begin, slots ? &input(groups, PartKind::used) : nullptr,
                     rows, input_name(groups), schedule_.needs[static_cast<size_t>(groups)]);
}

}  // namespace cohort::engine::reference
