#include "ir/infer.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "ir/recording.h"

namespace cohort::ir {

const Graph& Infer::graph() const { return recording_.graph(); }

const Value& Infer::in() const { return graph().values[static_cast<size_t>(node_.in)]; }

const Value* Infer::rows() const {
  if (node_.in == kNone) return nullptr;
  return !in().faulty || in().rows_known ? &in() : nullptr;
}

const FieldValue& Infer::field(std::string_view field_name) const {
  return graph().field(node_, field_name);
}

bool Infer::knows(std::string_view field_name) const {
  const int bit = field_name == "in" ? kMaxFields : node_.op->field_index(field_name);
  return (unsound_ >> static_cast<unsigned>(bit) & 1) == 0;
}

bool Infer::knows(std::initializer_list<std::string_view> fields) const {
  return std::all_of(fields.begin(), fields.end(), [this](auto f) { return knows(f); });
}

bool Infer::has(std::string_view field_name) const {
  return field(field_name).kind != FieldValue::Kind::none;
}

const Value* Infer::operand(std::string_view field_name) const {
  const FieldValue& f = field(field_name);
  if (f.kind != FieldValue::Kind::value || !knows(field_name)) return nullptr;
  return &graph().values[static_cast<size_t>(f.value)];
}

void Infer::fail(std::string_view code, std::string_view field_name, int dimension,
                 std::string wanted, std::string got, std::string message, std::string hint) {
  failed_ = true;
  const auto index = static_cast<int64_t>(&node_ - graph().nodes.data());
  recording_.fail({"nodes", index, node_.where}, field_name,
                  {.code = code,
                   .op = node_.op->name,
                   .field = std::string(field_name),
                   .dimension = dimension,
                   .wanted = std::move(wanted),
                   .got = std::move(got),
                   .message = std::move(message),
                   .hint = std::move(hint)});
}

void Infer::want_extent(std::string_view field_name, int dimension, const Extent& wanted,
                        std::string_view what, std::string_view wanted_of) {
  const Value* v = operand(field_name);
  if (v == nullptr || v->shape[dimension] == wanted) return;
  const std::string w = text(wanted);
  const std::string g = text(v->shape[dimension]);
  std::string message(what);
  message +=
      " differs: " + std::string(wanted_of) + " has " + w + ", " + describe(*v) + " has " + g;
  std::string hint;
  if (wanted.bound == v->shape[dimension].bound) {
    hint = "a named extent equals only itself: use the same Dim in both places";
  }
  fail("E-SHAPE", field_name, dimension, w, g, std::move(message), std::move(hint));
}

void Infer::want_extent(std::string_view field_name, int dimension, const Extent& wanted,
                        std::string_view what, const Value& wanted_of) {
  const Value* v = operand(field_name);
  if (v == nullptr || v->shape[dimension] == wanted) return;
  want_extent(field_name, dimension, wanted, what, describe(wanted_of));
}

bool Infer::want_rank(std::string_view field_name, int rank, std::string_view form) {
  if (!knows(field_name)) return false;
  const Value* v = operand(field_name);
  if (v == nullptr || v->shape.rank == rank) return true;
  fail("E-RANK", field_name, -1, std::string(form), extents_text(graph(), v->shape),
       "wanted " + std::string(form) + ", got " + describe(*v));
  return false;
}

void Infer::want_dtype(std::string_view field_name, std::initializer_list<DType> allowed) {
  const Value* v = operand(field_name);
  if (v == nullptr) return;
  std::string wanted;
  for (DType t : allowed) {
    if (v->dtype == t) return;
    if (!wanted.empty()) wanted += " or ";
    wanted += name(t);
  }
  fail("E-DTYPE", field_name, -1, wanted, std::string(name(v->dtype)),
       "wanted " + wanted + ", got " + describe(*v));
}

void Infer::want_experts(std::string_view field_name, const Value& x) {
  const Value* v = operand(field_name);
  if (v == nullptr || v->shape.rank == 0) return;
  const Extent got = v->shape[0];
  const int64_t groups =
      x.groups == kNone ? 1 : graph().values[static_cast<size_t>(x.groups)].shape[0].bound;
  const int64_t experts = x.experts > 0 ? x.experts : groups;
  if (got.symbol == kNone && (got.bound == experts || got.bound == groups)) return;
  const std::string wanted = std::to_string(experts);
  fail("E-SHAPE", field_name, 0, wanted, text(got),
       "experts differ: the product has " + wanted + ", " + describe(*v) + " has " + text(got));
}

void Infer::result(int port, const Value& type) {
  Value& v = recording_.graph()
                 .values[static_cast<size_t>(node_.first_result) + static_cast<size_t>(port)];
  const Role role = v.role;
  const int32_t node = v.node;
  v = type;
  v.role = role;
  v.node = node;
  v.port = port;
  v.input = kNone;
  v.uses = 0;
}

void Infer::known_rows(int port, const Extent& rows, int32_t groups) {
  Value& v = recording_.graph()
                 .values[static_cast<size_t>(node_.first_result) + static_cast<size_t>(port)];
  v.shape = {rows, Extent{0}};
  v.groups = groups;
  v.rows_known = true;
}

void Infer::keep(std::string_view field_name, const FieldValue& value) {
  const auto index = static_cast<size_t>(node_.op->field_index(field_name));
  recording_.graph().fields[static_cast<size_t>(node_.first_field) + index] = value;
}

void Infer::is_usual(std::string_view field_name) {
  Node& node = recording_.graph().nodes[static_cast<size_t>(&node_ - graph().nodes.data())];
  node.usual |= uint32_t{1} << static_cast<unsigned>(node_.op->field_index(field_name));
}

void Infer::keep_nothing_for(std::string_view field_name, float usual) {
  // By bits: -0 is another number.
  const bool is_usual = has(field_name) && std::bit_cast<uint32_t>(field(field_name).real) ==
                                               std::bit_cast<uint32_t>(usual);
  if (is_usual) keep(field_name, {});
}

void Infer::absent(int port) {
  recording_.graph()
      .values[static_cast<size_t>(node_.first_result) + static_cast<size_t>(port)]
      .absent = true;
}

std::string Infer::text(const Extent& extent) const { return extent_text(graph(), extent); }
std::string Infer::describe(const Value& value) const { return value_text(graph(), value); }

}  // namespace cohort::ir
