#include "ir/recording.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/utf8.h"
#include "ir/canonical.h"
#include "ir/infer.h"
#include "ir/stored.h"

namespace cohort::ir {

Recording::Recording(std::string_view name) : graph_(std::make_unique<Graph>()) {
  graph_->name = name;
  // Room for a layer's worth of graph, so that common graphs allocate each list once.
  graph_->values.reserve(32);
  graph_->fields.reserve(48);
  graph_->nodes.reserve(12);
  graph_->inputs.reserve(12);
  graph_->outputs.reserve(8);
}

std::string Recording::where_text(const Place& place, std::string_view key) const {
  if (place.where.file != nullptr) {
    return std::string(place.where.file) + ":" + std::to_string(place.where.line);
  }
  std::string s = "/" + std::string(place.list);
  if (place.index >= 0) s += "/" + std::to_string(place.index);
  if (!key.empty()) s.append("/").append(key);
  return s;
}

void Recording::fail(const Place& place, std::string_view key, base::FindingText finding) {
  finding.where = where_text(place, key);
  findings_.add(std::move(finding));
}

bool Recording::check_name(const Place& place, std::string_view what, std::string_view name) {
  std::string problem;
  if (name.empty()) problem = "an empty name";
  if (name.size() > kMaxName) problem = std::to_string(name.size()) + " bytes";
  if (problem.empty() && !base::is_clean_utf8(name)) problem = "bytes that are no printable UTF-8";
  if (problem.empty() && name[0] == '%') problem = "a name that begins with %";
  if (!problem.empty()) {
    const bool limit = name.size() > kMaxName;
    fail(place, "name",
         {.code = limit ? "E-LIMIT" : "E-NAME",
          .op = std::string(what),
          .field = "name",
          .wanted = "1 to 256 bytes of UTF-8, not beginning with %",
          .got = problem,
          .message = std::string(what) + " has " + problem});
    return false;
  }
  return true;
}

int32_t Recording::add_symbol(std::string_view name, int64_t bound, Where where) {
  const Place place{"dims", static_cast<int64_t>(graph_->symbols.size()), where};
  bool good = check_name(place, "dynamic extent", name);
  if (bound < 0 || bound > kMaxExtent) {
    fail(place, "bound",
         {.code = bound < 0 ? "E-SHAPE" : "E-LIMIT",
          .op = std::string(name),
          .field = "bound",
          .wanted = "0 .. 2^48",
          .got = std::to_string(bound),
          .message = "bound of '" + std::string(name) + "' is " + std::to_string(bound) +
                     ", wanted 0 .. 2^48"});
    good = false;
  }
  graph_->symbols.push_back({std::string(name), good ? bound : 0, where, !good});
  return static_cast<int32_t>(graph_->symbols.size()) - 1;
}

int32_t Recording::add_input(std::string_view name, Value type, Where where) {
  Graph& g = *graph_;
  const Place place{"inputs", static_cast<int64_t>(g.inputs.size()), where};
  bool good = check_name(place, "input", name);
  for (const StoredFault& f : input_faults(g, type)) {
    good = false;
    std::string message =
        f.dimension < 0 ? std::string() : "dimension " + std::to_string(f.dimension) + ": ";
    message += "wanted " + f.wanted + ", got " + f.got;
    fail(place, f.key,
         {.code = f.code,
          .op = std::string(name),
          .field = std::string(f.key),
          .dimension = f.dimension,
          .wanted = f.wanted,
          .got = f.got,
          .message = std::move(message),
          .hint = f.hint});
  }
  if (good) type.strides = kept_strides(stored_shape(type), type.strides);
  type.input = static_cast<int32_t>(g.inputs.size());
  type.node = kNone;
  type.faulty = type.faulty || !good;
  type.shape.rank = std::min(type.shape.rank, kMaxRank);
  const auto number = static_cast<int32_t>(g.values.size());
  g.values.push_back(type);
  g.inputs.push_back({std::string(name), number, where});
  return number;
}

bool Recording::refuse(const Place& place, const OpRecord& op, const FieldRecord& record,
                       std::string_view code, std::string wanted, std::string got) {
  std::string message = "wanted " + wanted + ", got " + got;
  fail(place, record.name,
       {.code = code,
        .op = op.name,
        .field = record.name,
        .wanted = std::move(wanted),
        .got = std::move(got),
        .message = std::move(message)});
  return false;
}

bool Recording::check_operand(const Place& place, const OpRecord& op, const FieldRecord& record,
                              int32_t number) {
  const auto bad = [&](std::string_view code, std::string wanted, std::string got) {
    return refuse(place, op, record, code, std::move(wanted), std::move(got));
  };
  const Value& v = graph_->values[static_cast<size_t>(number)];
  if (v.faulty) return true;
  if ((record.roles & role_bit(v.role)) == 0) {
    std::string wanted;
    for (int r = 0; !name(static_cast<Role>(r)).empty(); ++r) {
      if ((record.roles & role_bit(static_cast<Role>(r))) == 0) continue;
      if (!wanted.empty()) wanted += " or ";
      wanted += name(static_cast<Role>(r));
    }
    miss({.roles = record.roles, .name = {}});
    return bad("E-ROLE", wanted, value_text(*graph_, v));
  }
  if (v.absent) {
    const std::string result = reference_text(*graph_, v);
    return bad("E-OUTPUT", "a result that its op was asked for", result);
  }
  // amax of the halves of a group makes two numbers a group: an output, and no operand.
  if (v.role == Role::group_vec && v.shape.rank != 1) {
    return bad("E-RANK", "one number a group", value_text(*graph_, v));
  }
  return true;
}

bool Recording::check_field(const Place& place, const OpRecord& op, const FieldRecord& record,
                            const FieldValue& value) {
  using Kind = FieldValue::Kind;
  const auto bad = [&](std::string_view code, std::string wanted, std::string got) {
    return refuse(place, op, record, code, std::move(wanted), std::move(got));
  };
  if (value.kind == Kind::none) {
    return !record.is_required || bad("E-MISSING", "a value", "nothing");
  }
  if (value.kind == Kind::choice) {
    if (!record.word(static_cast<int>(value.integer)).empty()) return true;
    return bad("E-ATTRIBUTE", "one of its words", std::to_string(value.integer));
  }
  if (value.kind == Kind::real || value.kind == Kind::integer || value.kind == Kind::number) {
    const double x = value.kind == Kind::real     ? value.real
                     : value.kind == Kind::number ? value.number
                                                  : static_cast<double>(value.integer);
    // A by-value scalar stands for data, which may be NaN.
    if (std::isnan(x) && value.kind == Kind::real) return bad("E-ATTRIBUTE", "a number", "NaN");
    if (record.ranged && !(x >= record.minimum && x <= record.maximum)) {
      // As the type has it: the f64 of the least normal f32 has 17 digits.
      const auto append = [&](std::string& text, double number) {
        if (value.kind != Kind::real) return append_number(text, number);
        append_number(text, static_cast<float>(number));
      };
      std::string wanted;
      append(wanted, record.minimum);
      wanted += " .. ";
      append(wanted, record.maximum);
      std::string got;
      append(got, x);
      return bad("E-ATTRIBUTE", std::move(wanted), std::move(got));
    }
    return true;
  }
  return value.kind != Kind::value || check_operand(place, op, record, value.value);
}

int32_t Recording::add_node(const OpRecord& op, int32_t in, std::span<const FieldValue> fields,
                            Where where) {
  Graph& g = *graph_;
  const Place place{"nodes", static_cast<int64_t>(g.nodes.size()), where};
  Node node;
  node.op = &op;
  node.in = in;
  node.first_field = static_cast<int32_t>(g.fields.size());
  node.first_result = static_cast<int32_t>(g.values.size());
  node.where = where;

  uint32_t unsound = 0;  // as Infer has it
  const auto use = [&](int32_t value, size_t bit) {
    if (value == kNone) {
      unsound |= uint32_t{1} << bit;
      return;
    }
    Value& v = g.values[static_cast<size_t>(value)];
    ++v.uses;
    if (v.faulty) unsound |= uint32_t{1} << bit;
  };
  if (!op.is_root) use(in, kMaxFields);
  for (size_t i = 0; i < fields.size(); ++i) {
    const FieldValue& f = fields[i];
    g.fields.push_back(f);
    if (f.kind == FieldValue::Kind::value) use(f.value, i);
    if (f.kind == FieldValue::Kind::value && f.value == kNone) continue;
    if (!check_field(place, op, op.fields[i], f)) unsound |= uint32_t{1} << i;
  }
  const auto number = static_cast<int32_t>(g.nodes.size());
  for (size_t p = 0; p < op.results.size(); ++p) {
    Value v;
    v.role = op.results[p].role;
    v.node = number;
    v.port = static_cast<int32_t>(p);
    g.values.push_back(v);
  }
  g.nodes.push_back(node);
  Infer infer(*this, g.nodes.back(), unsound);
  op.infer(infer);
  if (infer.failed()) {
    const Value* rows = infer.rows();
    for (size_t p = 0; p < op.results.size(); ++p) {
      g.values[static_cast<size_t>(node.first_result) + p].faulty = true;
      // An op of a chain keeps the rows of its value.
      const bool is_matrix = op.results[p].role == Role::value;
      if (is_matrix && rows != nullptr) {
        infer.known_rows(static_cast<int>(p), rows->shape[0], rows->groups);
      }
    }
  }
  return node.first_result;
}

void Recording::add_output(std::string_view name, int32_t value, const OutputFields& fields,
                           Where where) {
  const Place place{"outputs", static_cast<int64_t>(graph_->outputs.size()), where};
  check_name(place, "output", name);
  Output o;
  o.name = name;
  o.value = value;
  o.tail = fields.tail;
  o.strides = fields.strides;
  o.alignment = fields.alignment;
  o.discrete = fields.discrete;
  o.scatter = fields.scatter;
  o.slot = fields.slot;
  o.top_k = fields.top_k;
  o.rows = fields.rows;
  o.broken = fields.broken;
  o.has_dtype = static_cast<bool>(fields.dtype);
  o.where = where;
  for (const int32_t index : {o.scatter, o.slot}) {
    if (index != kNone) ++graph_->values[static_cast<size_t>(index)].uses;
  }
  if (value != kNone) {
    Value& v = graph_->values[static_cast<size_t>(value)];
    ++v.uses;
    o.dtype = v.dtype;
  }
  if (fields.dtype) o.dtype = *fields.dtype;
  graph_->outputs.push_back(std::move(o));
}

void Recording::miss(Missed missed) {
  if (missed_.size() < base::kMaxFindings) missed_.push_back(std::move(missed));
}

void Recording::report_dead(std::string_view op, std::string_view field, const DeadHandle& dead,
                            Where where, const Place& place) {
  std::string message = "this handle " + dead.reason;
  if (dead.where.file != nullptr) {
    message += " at " + std::string(dead.where.file) + ":" + std::to_string(dead.where.line);
  }
  Place here = place;
  here.where = where;
  fail(here, field,
       {.code = "E-HANDLE",
        .op = std::string(op),
        .field = std::string(field),
        .wanted = "a handle of this builder",
        .got = "a handle that " + dead.reason,
        .message = std::move(message)});
}

}  // namespace cohort::ir
