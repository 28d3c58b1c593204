#include "json/reader.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/canonical.h"
#include "ir/op_record.h"
#include "ir/stored.h"
#include "json/input_reader.h"
#include "json/tree.h"

namespace cohort::json {

using ir::kNone;
using Kind = Value::Kind;

namespace {

class Reader : private InputReader, public ItemSink {
 public:
  Reader(const Document& document, ir::Recording& recording) : InputReader(document, recording) {}

  void run() {
    reserve(d_.inputs.size(), d_.nodes.size());
    for (const Item& i : d_.dims) dim(i);
    for (const Item& i : d_.inputs) input(i);
    for (const Item& i : d_.nodes) node(i);
    for (const Item& i : d_.outputs) output(i);
  }

  void reserve(size_t inputs, size_t nodes) {
    g_.inputs.reserve(inputs);
    g_.nodes.reserve(nodes);
    g_.values.reserve(inputs + 2 * nodes);
    names_.reserve(inputs);
  }

  bool take(List list, const Item& item) override {
    switch (list) {
      case List::dims:
        dim(item);
        break;
      case List::inputs:
        input(item);
        break;
      case List::nodes:
        node(item);
        break;
      case List::outputs:
        output(item);
        break;
    }
    return r_.findings().empty();
  }

 private:
  void node(const Item& item) {
    begin("nodes", static_cast<int64_t>(g_.nodes.size()), "node");
    const std::string_view op_name = text(item, "op");
    const ir::OpRecord* op = ir::find_op(op_name);
    if (op == nullptr) {
      std::vector<std::string_view> all;
      for (const ir::OpRecord* r : ir::all_ops()) all.emplace_back(r->name);
      if (good_) {
        const std::string by_word = ops_with_word(op_name);
        fail("op", "E-OP", "an op of this library", "\"" + clipped(op_name) + "\"",
             by_word.empty() ? did_you_mean(op_name, all) : "did you mean " + by_word + "?");
      }
      placeholder(item);
      return;
    }
    title_ = op->name;
    const std::vector<std::string_view>& keys = keys_of(*op);
    check_keys(item, keys);
    if (!good_) use_all(item, keys);
    int32_t in = kNone;
    if (!op->is_root) {
      const Value* v = member(item, "in", Kind::string, "a value");
      constexpr ir::RoleSet kValue = ir::role_bit(Role::value);
      if (v != nullptr) in = reference(v->text, "in", kValue);
      if (v == nullptr) r_.miss({.roles = kValue, .name = {}});
      const bool sound = in != kNone && !g_.values[static_cast<size_t>(in)].faulty;
      if (sound && g_.values[static_cast<size_t>(in)].role != Role::value) {
        fail("in", "E-ROLE", "value", ir::value_text(g_, g_.values[static_cast<size_t>(in)]));
        r_.miss({.roles = kValue, .name = {}});
        ++g_.values[static_cast<size_t>(std::exchange(in, kNone))].uses;
      }
    }
    fields_.clear();
    const size_t first = keys.size() - op->fields.size();
    for (size_t f = 0; f < op->fields.size(); ++f) {
      fields_.push_back(field(item, keys[first + f], op->fields[f]));
    }
    r_.add_node(*op, in, fields_, {nullptr, 0});
  }

  // "unary with mode relu": what others know as an op of its own may be the word of a field.
  static std::string ops_with_word(std::string_view word) {
    std::string ops;
    if (word.empty()) return ops;
    for (const ir::OpRecord* op : ir::all_ops()) {
      for (const ir::FieldRecord& f : op->fields) {
        const std::string_view name = f.name;
        if (f.word == nullptr || (name != "mode" && name != "act")) continue;
        for (int w = 0; !f.word(w).empty(); ++w) {
          if (f.word(w) != word) continue;
          ops += (ops.empty() ? "" : ", or ") + std::string(op->name) + " with " + f.name + " ";
          ops += word;
        }
      }
    }
    return ops;
  }

  // The keys of an op's nodes in their order: "op", "in", fields.
  const std::vector<std::string_view>& keys_of(const ir::OpRecord& op) {
    std::vector<std::string_view>& keys = keys_[&op];
    if (!keys.empty()) return keys;
    keys.emplace_back("op");
    if (!op.is_root) keys.emplace_back("in");
    for (const ir::FieldRecord& f : op.fields) keys.emplace_back(f.name);
    return keys;
  }

  // A node whose op is unknown stands for itself, so that later numbers keep their meaning and its
  // operands count as used.
  void placeholder(const Item& item) {
    const bool was_good = good_;
    use_all(item, {});
    good_ = was_good;
    static const ir::OpRecord* const any = smallest_op();
    ir::FieldValue broken;
    broken.kind = ir::FieldValue::Kind::value;
    fields_.assign(any->fields.size(), broken);
    unknown_.insert(static_cast<int64_t>(g_.nodes.size()));
    r_.add_node(*any, kNone, fields_, {nullptr, 0});
  }

  // A field that cannot be read is a value that is not there: the node is faulty, with the one
  // finding that was made here.
  ir::FieldValue field(const Item& item, std::string_view key, const ir::FieldRecord& record) {
    ir::FieldValue broken;
    broken.kind = ir::FieldValue::Kind::value;
    const Value* v = find(item, key);
    if (v == nullptr) {
      if (!record.must_give) return record.initial;
      fail(record.name, "E-KEY", "a value", "no such key");
      r_.miss({.roles = record.roles, .name = {}});
      return broken;
    }
    if (v->kind == Kind::null) {
      if (!record.is_required) return {};
      fail(record.name, "E-JSON", "a value", "null");
      r_.miss({.roles = record.roles, .name = {}});
      return broken;
    }
    ir::FieldValue f;
    f.kind = record.kind;
    return convert(*v, record, f) ? f : broken;
  }

  bool convert(const Value& v, const ir::FieldRecord& record, ir::FieldValue& f) {
    using FieldKind = ir::FieldValue::Kind;
    const auto bad = [&](std::string_view wanted) {
      fail(record.name, "E-JSON", std::string(wanted), describe(v));
      r_.miss({.roles = record.roles, .name = {}});
      return false;
    };
    switch (record.kind) {
      case FieldKind::value:
        if (v.kind != Kind::string) return bad("a value");
        f.value = reference(v.text, record.name, record.roles);
        return f.value != kNone;
      case FieldKind::number:
        return number(v, record, f);
      case FieldKind::real: {
        double x = 0;
        if (!real(v, x, false)) return bad("a number");
        // By way of f64 a decimal could be rounded twice.
        f.real = v.kind == Kind::real ? v.real32 : static_cast<float>(x);
        if (v.kind == Kind::integer) f.real = static_cast<float>(v.integer);
        if (std::isinf(f.real) && !std::isinf(x)) return bad("a number that fits in f32");
        return true;
      }
      case FieldKind::integer:
        if (v.kind != Kind::integer) return bad("an integer");
        f.integer = v.integer;
        return true;
      case FieldKind::flag:
        if (v.kind != Kind::flag) return bad("true or false");
        f.integer = v.integer;
        return true;
      case FieldKind::choice: {
        if (v.kind != Kind::string) return bad("a word");
        f.integer = word_of(v, record.name, record.word);
        return f.integer >= 0;
      }
      case FieldKind::none:
        break;
    }
    return false;
  }

  bool number(const Value& v, const ir::FieldRecord& record, ir::FieldValue& f) {
    if (v.kind == Kind::object && v.text == "value" && v.count == 1 &&
        d_.of(v)[0].kind == Kind::string) {
      f.kind = ir::FieldValue::Kind::value;
      f.value = reference(d_.of(v)[0].text, record.name, record.roles);
      return f.value != kNone;
    }
    if (real(v, f.number, true)) return true;
    fail(record.name, "E-JSON", "a number, \"inf\", \"-inf\", \"nan\" or {\"value\": ...}",
         describe(v));
    r_.miss({.roles = record.roles, .name = {}});
    return false;
  }

  // An index that an output names, or kNone; `broken`: there is a finding about it.
  int32_t output_index(const Item& item, std::string_view key, bool& broken) {
    const bool was_good = std::exchange(good_, true);
    const Value* handle = member(item, key, Kind::string, "an index or null", true);
    const int32_t number =
        handle == nullptr ? kNone : reference(handle->text, key, ir::role_bit(Role::index));
    broken = !good_;
    good_ = was_good && good_;
    return number;
  }

  void output(const Item& item) {
    begin("outputs", static_cast<int64_t>(g_.outputs.size()), "output");
    allowed_.assign({"name"});
    for (ir::OutputKey k : ir::output_keys()) allowed_.push_back(ir::name(k));
    check_keys(item, allowed_);
    const std::string_view output_name = text(item, "name");
    if (!output_name.empty()) title_ = output_name;
    int32_t value = kNone;
    ir::OutputFields f;
    for (ir::OutputKey k : ir::output_keys()) output_key(item, k, value, f);
    r_.add_output(output_name, value, f, {nullptr, 0});
  }

  void output_key(const Item& item, ir::OutputKey k, int32_t& value, ir::OutputFields& f) {
    switch (k) {
      case ir::OutputKey::value: {
        const Value* v = member(item, "value", Kind::string, "a value");
        if (v != nullptr) value = reference(v->text, "value", kAnyResult);
        if (v == nullptr) r_.miss({.roles = kAnyResult, .name = {}, .may_be_input = false});
        return;
      }
      case ir::OutputKey::dtype: {
        const int w = word(
            item, "dtype", [](int i) { return name(static_cast<DType>(i)); }, true);
        if (w >= 0) f.dtype = static_cast<DType>(w);
        return;
      }
      case ir::OutputKey::tail:
        f.tail = choice(item, "tail", Tail::leave, true);
        return;
      case ir::OutputKey::strides:
        f.strides = strides(item);
        return;
      case ir::OutputKey::alignment:
        f.alignment = integer(item, "alignment", 16, true);
        return;
      case ir::OutputKey::discrete: {
        const Value* flag = member(item, "discrete", Kind::flag, "true or false", true);
        f.discrete = flag != nullptr && flag->integer != 0;
        return;
      }
      case ir::OutputKey::scatter:
        f.scatter = output_index(item, "scatter", f.broken.scatter);
        return;
      case ir::OutputKey::slot:
        f.slot = output_index(item, "slot", f.broken.slot);
        return;
      case ir::OutputKey::top_k:
        f.top_k = integer(item, "top_k", 1, true);
        return;
      case ir::OutputKey::rows: {
        const Value* given = find(item, "rows");
        if (given == nullptr || given->kind == Kind::null) return;
        bool faulty = false;
        f.broken.rows = !extent("rows", *given, f.rows.emplace(), faulty) || faulty;
      }
    }
  }

  std::unordered_map<const ir::OpRecord*, std::vector<std::string_view>> keys_;
  std::vector<ir::FieldValue> fields_;  ///< Of the node being read.
};

}  // namespace

namespace {

// A sound text as it is written, item by item: it needs no memory for the whole document. False
// for any other text, of which nothing is told.
bool read_sound(std::string_view text, const JsonLimits& limits, ir::Recording& recording) {
  Document document;
  base::Diagnostics findings;
  ErrorKind kind = ErrorKind::invalid_graph;
  Reader reader(document, recording);
  // An item stands on a line; memory that is not written to costs nothing.
  constexpr size_t kLeastItem = 32;
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  reader.reserve(0, std::min(lines, text.size() / kLeastItem));
  if (!parse(text, limits, document, findings, kind, &reader)) return false;
  if (!check_top(document, findings) || !recording.findings().empty()) return false;
  recording.graph().name = document.name.text;
  return true;
}

}  // namespace

bool read(std::string_view text, const JsonLimits& limits, ir::Recording& recording,
          base::Diagnostics& findings, ErrorKind& kind) {
  if (read_sound(text, limits, recording)) return true;
  recording = ir::Recording("");
  Document document;
  if (!parse(text, limits, document, findings, kind)) return false;
  if (!check_top(document, findings)) return false;
  recording.graph().name = document.name.text;
  Reader(document, recording).run();
  return true;
}

}  // namespace cohort::json
