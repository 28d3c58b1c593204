// The JSON Schema of the format, made from the op records and the key tables of inputs.
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include <cohort/json.h>

#include "ir/canonical.h"
#include "ir/op_record.h"

namespace cohort {

namespace {

using ir::FieldRecord;
using ir::InputKey;
using ir::OpRecord;
using ir::OutputKey;
using FieldKind = ir::FieldValue::Kind;

constexpr std::string_view kName = R"({"type":"string","minLength":1,"maxLength":256})";
constexpr std::string_view kAlignment = R"({"type":"integer","minimum":1,"maximum":4096})";
constexpr std::string_view kStrides =
    R"({"anyOf":[{"type":"null"},{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":8}]})";
constexpr std::string_view kReference = R"({"$ref":"#/definitions/reference"})";
constexpr std::string_view kDefinitions = R"("definitions":{
"reference":{"type":"string","minLength":1,"description":"name of an input, or %N, %N.row, %N.col"},
"extent":{"anyOf":[{"type":"integer","minimum":0,"maximum":281474976710656},{"type":"string","minLength":1}]},
"infinite":{"type":"string","enum":["inf","-inf"]}
})";

std::string words(std::string_view (*word)(int), bool or_null) {
  std::string s = "{\"enum\":[";
  bool first = true;
  for (int i = 0; i < 256; ++i) {
    const std::string_view w = word(i);
    if (w.empty()) continue;
    s.append(first ? "\"" : ",\"").append(w).append("\"");
    first = false;
  }
  return s + (or_null ? ",null]}" : "]}");
}
template <class E>
std::string words(bool or_null = false) {
  return words([](int i) { return name(static_cast<E>(i)); }, or_null);
}

// An object whose properties are added one by one; nothing else may stand in it.
class Object {
 public:
  void property(std::string_view key, std::string_view schema, bool required) {
    properties_.append(properties_.empty() ? "\"" : ",\"").append(key).append("\":");
    properties_.append(schema);
    if (!required) return;
    required_.append(required_.empty() ? "\"" : ",\"").append(key).append("\"");
  }
  [[nodiscard]] std::string text() const {
    std::string s = R"({"type":"object","additionalProperties":false,"required":[)";
    return s + required_ + "],\"properties\":{" + properties_ + "}}";
  }

 private:
  std::string properties_;
  std::string required_;
};

std::string constant(std::string_view word) { return "{\"const\":\"" + std::string(word) + "\"}"; }

std::string input_key(InputKey key, bool or_null) {
  switch (key) {
    case InputKey::shape:
      return R"({"type":"array","items":{"$ref":"#/definitions/extent"},"minItems":1,"maxItems":8})";
    case InputKey::dtype:
      return words<DType>();
    case InputKey::format:
      return words<Format>(or_null);
    case InputKey::layout:
      return words<ScaleLayout>(or_null);
    case InputKey::axis:
      return words<Axes>();
    case InputKey::storage:
      return words<ColStorage>();
    case InputKey::major:
      return words<Major>();
    case InputKey::form:
      return words<GroupForm>();
    case InputKey::row_alignment:
      return R"({"type":"integer","minimum":1})";
    case InputKey::strides:
      return std::string(kStrides);
    case InputKey::alignment:
      return std::string(kAlignment);
  }
  return "{}";
}

std::string output_key(OutputKey key) {
  const auto or_null = [](std::string_view schema) {
    return "{\"anyOf\":[" + std::string(schema) + ",{\"type\":\"null\"}]}";
  };
  switch (key) {
    case OutputKey::value:
      return std::string(kReference);
    case OutputKey::dtype:
      return words<DType>();
    case OutputKey::tail:
      return words<Tail>();
    case OutputKey::strides:
      return std::string(kStrides);
    case OutputKey::alignment:
      return std::string(kAlignment);
    case OutputKey::discrete:
      return R"({"type":"boolean"})";
    case OutputKey::scatter:
    case OutputKey::slot:
      return or_null(kReference);
    case OutputKey::top_k:
      return R"({"type":"integer","minimum":1})";
    case OutputKey::rows:
      return or_null(R"({"$ref":"#/definitions/extent"})");
  }
  return "{}";
}

std::string input(Role role) {
  const bool weights = role == Role::weights || role == Role::weight_pointers;
  Object o;
  o.property("name", kName, true);
  o.property("role", constant(name(role)), true);
  for (const InputKey key : ir::input_keys(role)) {
    const bool maybe_plain = weights && (key == InputKey::format || key == InputKey::layout);
    const bool has_default = maybe_plain || key == InputKey::row_alignment ||
                             key == InputKey::strides || key == InputKey::alignment;
    o.property(ir::name(key), input_key(key, maybe_plain), !has_default);
  }
  return o.text();
}

std::string numeric(const FieldRecord& f, std::string_view type) {
  std::string s = "{\"type\":\"" + std::string(type) + "\"";
  // A bound of the float type itself holds by the type; its decimals would differ from f64 to f32.
  if (f.ranged) {
    s += ",\"minimum\":";
    ir::append_number(s, f.minimum);
    if (f.maximum < std::numeric_limits<float>::max()) {
      s += ",\"maximum\":";
      ir::append_number(s, f.maximum);
    }
  }
  return s + "}";
}

std::string field(const FieldRecord& f) {
  std::string s;
  switch (f.kind) {
    case FieldKind::value:
      s = kReference;
      break;
    case FieldKind::number:
      s = R"({"anyOf":[{"type":"number"},{"$ref":"#/definitions/infinite"},{"const":"nan"},)"
          R"({"type":"object","additionalProperties":false,"required":["value"],)"
          R"("properties":{"value":{"$ref":"#/definitions/reference"}}}]})";
      break;
    case FieldKind::real:
      s = numeric(f, "number");
      if (!f.ranged) s = "{\"anyOf\":[" + s + ",{\"$ref\":\"#/definitions/infinite\"}]}";
      if (f.ranged && std::isinf(f.maximum)) s = "{\"anyOf\":[" + s + ",{\"const\":\"inf\"}]}";
      break;
    case FieldKind::integer:
      s = numeric(f, "integer");
      break;
    case FieldKind::flag:
      s = R"({"type":"boolean"})";
      break;
    case FieldKind::choice:
      return words(f.word, !f.is_required);
    case FieldKind::none:
      s = "{}";
      break;
  }
  return f.is_required ? s : "{\"anyOf\":[" + s + ",{\"type\":\"null\"}]}";
}

std::string node(const OpRecord& op) {
  Object o;
  o.property("op", constant(op.name), true);
  if (!op.is_root) o.property("in", kReference, true);
  for (const FieldRecord& f : op.fields) {
    std::string schema = field(f);
    if (f.doc[0] != 0) {
      std::string described = "{\"description\":";
      ir::append_string(described, f.doc);
      described += ",";
      schema.replace(0, 1, described);
    }
    o.property(f.name, schema, f.must_give);
  }
  return o.text();
}

std::string list(const std::string& items, bool one_or_more = false) {
  return std::string("{\"type\":\"array\",") + (one_or_more ? "\"minItems\":1," : "") +
         "\"items\":" + items + "}";
}

std::string make_schema() {
  Object dim;
  dim.property("name", kName, true);
  dim.property("bound", R"({"type":"integer","minimum":0,"maximum":281474976710656})", true);
  std::string inputs;
  for (int r = 0; !name(static_cast<Role>(r)).empty(); ++r) {
    const Role role = static_cast<Role>(r);
    if (!ir::input_keys(role).empty()) inputs += (inputs.empty() ? "\n" : ",\n") + input(role);
  }
  std::string nodes;
  for (const OpRecord* op : ir::all_ops()) nodes += (nodes.empty() ? "\n" : ",\n") + node(*op);
  Object output;
  output.property("name", kName, true);
  for (const OutputKey key : ir::output_keys()) {
    output.property(ir::name(key), output_key(key), key == OutputKey::value);
  }

  std::string s =
      "{\n\"$schema\":\"http://json-schema.org/draft-07/schema#\",\n"
      "\"title\":\"Cohort graph\",\n";
  s.append(kDefinitions).append(",\n");
  s += "\"type\":\"object\",\n\"additionalProperties\":false,\n"
       "\"required\":[\"cohort\",\"name\",\"dims\",\"inputs\",\"nodes\",\"outputs\"],\n"
       "\"properties\":{\n\"cohort\":{\"const\":" +
       std::to_string(ir::kJsonVersion) + "},\n";
  s += "\"name\":{\"type\":\"string\",\"maxLength\":256},\n\"dims\":" + list(dim.text());
  s += ",\n\"inputs\":" + list("{\"oneOf\":[" + inputs + "\n]}");
  s += ",\n\"nodes\":" + list("{\"oneOf\":[" + nodes + "\n]}");
  return s + ",\n\"outputs\":" + list(output.text(), true) + "\n}\n}\n";
}

}  // namespace

std::string_view json_schema() noexcept {
  try {
    static const std::string schema = make_schema();
    return schema;
  } catch (...) {
    return {};
  }
}

}  // namespace cohort
