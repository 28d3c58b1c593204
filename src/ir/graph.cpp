#include "ir/graph.h"

#include <bit>

#include "ir/canonical.h"
#include "ir/op_record.h"

namespace cohort::ir {

bool operator==(const FieldValue& a, const FieldValue& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case FieldValue::Kind::none:
      return true;
    case FieldValue::Kind::value:
      return a.value == b.value;
    case FieldValue::Kind::number:
      return std::bit_cast<uint64_t>(a.number) == std::bit_cast<uint64_t>(b.number);
    case FieldValue::Kind::real:
      return std::bit_cast<uint32_t>(a.real) == std::bit_cast<uint32_t>(b.real);
    default:
      return a.integer == b.integer;
  }
}

int OpRecord::field_index(std::string_view field) const {
  // Without the length of each name: most differ in the first letters.
  for (size_t i = 0; i < fields.size(); ++i) {
    const char* const is = fields[i].name;
    size_t same = 0;
    while (same < field.size() && is[same] == field[same] && is[same] != 0) ++same;
    if (same == field.size() && is[same] == 0) return static_cast<int>(i);
  }
  return -1;
}

const FieldValue& Graph::field(const Node& node, std::string_view field_name) const {
  return fields[static_cast<size_t>(node.first_field) +
                static_cast<size_t>(node.op->field_index(field_name))];
}

int32_t Graph::operand(const Node& node, std::string_view field_name) const {
  const FieldValue& f = field(node, field_name);
  return f.kind == FieldValue::Kind::value ? f.value : kNone;
}

namespace {

// By value: the groups input that divides its rows, of its producer or its first consumer. One walk
// over the nodes serves every scale tensor.
std::vector<int32_t> row_groups(const Graph& g) {
  std::vector<int32_t> groups(g.values.size(), kNone);
  for (size_t v = 0; v < groups.size(); ++v) groups[v] = g.values[v].groups;
  for (const Node& n : g.nodes) {
    if (n.op->field_index("groups") < 0) continue;
    const int32_t by = g.operand(n, "groups");
    for (size_t f = 0; f < n.op->fields.size(); ++f) {
      const FieldValue& field = g.fields[static_cast<size_t>(n.first_field) + f];
      if (field.kind != FieldValue::Kind::value || field.value == kNone) continue;
      int32_t& of_value = groups[static_cast<size_t>(field.value)];
      if (of_value == kNone) of_value = by;
    }
  }
  return groups;
}

void add_parts(const std::string& name, const Value& value, bool is_output, int32_t index,
               int64_t groups, std::vector<TensorPart>& parts) {
  using Kind = TensorPart::Kind;
  if (is_whole(value)) return;
  if (value.role == Role::groups && value.form == GroupForm::slots) {
    parts.push_back({name + ".begin", is_output, index, Kind::begin});
    parts.push_back({name + ".used", is_output, index, Kind::used});
    return;
  }
  parts.push_back({name, is_output, index, Kind::data});
  if (value.scaled) parts.push_back({name + ".scale", is_output, index, Kind::scale, groups});
}

}  // namespace

void Graph::freeze() {
  tensors.clear();
  tensors.reserve(inputs.size() + outputs.size() + 8);
  const std::vector<int32_t> groups = row_groups(*this);
  const auto group_count = [&](int32_t value) {
    const int32_t by = groups[static_cast<size_t>(value)];
    return by == kNone ? 1 : values[static_cast<size_t>(by)].shape[0].bound;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int32_t number = inputs[i].value;
    add_parts(inputs[i].name, values[static_cast<size_t>(number)], false, static_cast<int32_t>(i),
              group_count(number), tensors);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].value == kNone) continue;  // a dead handle: there is a finding about it
    const int32_t number = outputs[i].value;
    add_parts(outputs[i].name, values[static_cast<size_t>(number)], true, static_cast<int32_t>(i),
              group_count(number), tensors);
  }
}

const std::string& Graph::json() const {
  std::call_once(json_once_, [&] { json_ = canonical_json(*this, Names::written); });
  return json_;
}

const std::string& Graph::canonical_text() const {
  std::call_once(text_once_, [&] { text_ = canonical_json(*this, Names::left_out); });
  return text_;
}

Key Graph::key() const {
  if (!has_key_.load(std::memory_order_acquire)) {
    const Key k = hash128(canonical_text());
    std::call_once(key_once_, [&] { key_ = k; });
    has_key_.store(true, std::memory_order_release);
  }
  return key_;
}

}  // namespace cohort::ir
