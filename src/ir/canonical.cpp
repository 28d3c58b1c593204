#include "ir/canonical.h"

#include <array>
#include <cmath>
#include <cstring>

#include "ir/op_record.h"
#include "ir/text_buffer.h"

namespace cohort::ir {

namespace {

using enum InputKey;
constexpr std::array kTensorKeys{shape, dtype, strides, alignment};
constexpr std::array kScaledKeys{shape, dtype, format, layout, axis, storage, strides, alignment};
constexpr std::array kWeightKeys{shape, dtype, format, layout, major, strides, alignment};
constexpr std::array kGroupKeys{shape, dtype, form, row_alignment};
constexpr std::array kVectorKeys{shape, dtype};
constexpr std::array<std::string_view, 11> kKeyNames{
    "shape", "dtype", "format",        "layout",  "axis",     "storage",
    "major", "form",  "row_alignment", "strides", "alignment"};
constexpr std::array kOutputKeys{OutputKey::value,   OutputKey::dtype,     OutputKey::tail,
                                 OutputKey::strides, OutputKey::alignment, OutputKey::discrete,
                                 OutputKey::scatter, OutputKey::slot,      OutputKey::top_k,
                                 OutputKey::rows};
constexpr std::array<std::string_view, 10> kOutputKeyNames{
    "value",    "dtype",   "tail", "strides", "alignment",
    "discrete", "scatter", "slot", "top_k",   "rows"};

template <class T>
void put_float(TextBuffer& out, T value) {
  if (std::isnan(value)) {
    out.put("\"nan\"");
  } else if (std::isinf(value)) {
    out.put(value < 0 ? "\"-inf\"" : "\"inf\"");
  } else if (value == 0 && std::signbit(value)) {
    out.put("-0.0");
  } else {
    out.put_number(value);
  }
}

void put_string(TextBuffer& out, std::string_view text) {
  if (text.find_first_of("\"\\") == std::string_view::npos) return out.put("\"", text, "\"");
  out.put('"');
  for (char c : text) {
    if (c == '"' || c == '\\') out.put('\\');
    out.put(c);
  }
  out.put('"');
}

class Writer {
 public:
  Writer(const Graph& graph, Names names) : graph_(graph), names_(names == Names::written) {}

  template <class T, class K>
  std::string one(const T& item, K k) {
    put(item, k);
    const std::string_view text = out_.view();
    const bool quoted = text.size() > 1 && text.front() == '"';
    return std::string(quoted ? text.substr(1, text.size() - 2) : text);
  }

  std::string write() {
    out_.put("{\n\"cohort\":");
    out_.put_number(kJsonVersion);
    if (names_) {
      out_.put(",\n\"name\":");
      put_string(out_, graph_.name);
    }
    list("dims", graph_.symbols, [&](const Symbol& s) { dim(s); });
    list("inputs", graph_.inputs, [&](const Input& i) { input(i); });
    list("nodes", graph_.nodes, [&](const Node& n) { node(n); });
    list("outputs", graph_.outputs, [&](const Output& o) { output(o); });
    out_.put("\n}\n");
    return std::string(out_.view());
  }

 private:
  template <class T, class F>
  void list(std::string_view title, const std::vector<T>& items, F&& one) {
    out_.put(",\n\"", title, "\":[");
    bool first = true;
    for (const T& item : items) {
      out_.put(first ? "\n{" : ",\n{");
      first = false;
      first_key_ = true;
      one(item);
      out_.put('}');
    }
    out_.put(items.empty() ? "]" : "\n]");
  }

  void key(std::string_view text) {
    if (first_key_) {
      out_.put("\"", text, "\":");
    } else {
      out_.put(",\"", text, "\":");
    }
    first_key_ = false;
  }
  void word(std::string_view text) { out_.put("\"", text, "\""); }
  void name_key(std::string_view text) {
    if (!names_) return;
    key("name");
    put_string(out_, text);
  }
  void number_sign(int32_t number) {
    out_.put("\"#");
    out_.put_number(number);
    out_.put('"');
  }

  void dim(const Symbol& s) {
    name_key(s.name);
    key("bound");
    out_.put_number(s.bound);
  }

  void extent(const Extent& e) {
    if (e.symbol == kNone) {
      out_.put_number(e.bound);
    } else if (names_) {
      put_string(out_, graph_.symbols[static_cast<size_t>(e.symbol)].name);
    } else {
      number_sign(e.symbol);
    }
  }

  void stride_list(const Strides& s) {
    if (s.rank() == 0) return out_.put("null");
    out_.put('[');
    for (int i = 0; i < s.rank(); ++i) {
      if (i > 0) out_.put(',');
      out_.put_number(s[i]);
    }
    out_.put(']');
  }

  void input(const Input& in) {
    const Value& v = graph_.values[static_cast<size_t>(in.value)];
    name_key(in.name);
    key("role");
    word(name(v.role));
    for (InputKey k : input_keys(v.role)) {
      key(name(k));
      put(in, k);
    }
  }

  void optional_word(bool present, std::string_view text) {
    if (present) return word(text);
    out_.put("null");
  }

  void put(const Input& in, InputKey k) {
    const Value& v = graph_.values[static_cast<size_t>(in.value)];
    const bool scaled = v.scaled.has_value();
    const ScaledType s = v.scaled.value_or(ScaledType{});
    switch (k) {
      case shape:
        out_.put('[');
        for (int i = 0; i < v.shape.rank; ++i) {
          if (i > 0) out_.put(',');
          extent(v.shape[i]);
        }
        out_.put(']');
        break;
      case dtype:
        return word(name(v.dtype));
      case format:
        return optional_word(scaled, name(s.format));
      case layout:
        return optional_word(scaled, name(s.layout));
      case axis:
        return optional_word(scaled, name(s.axis));
      case storage:
        return optional_word(scaled, name(s.storage));
      case major:
        return word(name(v.major));
      case form:
        return word(name(v.form));
      case row_alignment:
        return out_.put_number(v.row_alignment);
      case strides:
        return stride_list(v.strides);
      case alignment:
        return out_.put_number(v.alignment);
    }
  }

  void reference(int32_t number) {
    const Value& v = graph_.values[static_cast<size_t>(number)];
    if (v.node == kNone) {
      if (names_) {
        put_string(out_, graph_.inputs[static_cast<size_t>(v.input)].name);
      } else {
        number_sign(v.input);
      }
      return;
    }
    out_.put("\"%");
    out_.put_number(v.node);
    const OpRecord& op = *graph_.nodes[static_cast<size_t>(v.node)].op;
    const std::string_view port = op.results[static_cast<size_t>(v.port)].name;
    if (!port.empty()) out_.put(".", port, "");
    out_.put('"');
  }

  void maybe_reference(int32_t number) {
    if (number != kNone) return reference(number);
    out_.put("null");
  }

  void node(const Node& n) {
    key("op");
    word(n.op->name);
    if (!n.op->is_root) {
      key("in");
      reference(n.in);
    }
    for (size_t i = 0; i < n.op->fields.size(); ++i) {
      key(n.op->fields[i].name);
      field(n.op->fields[i], graph_.fields[static_cast<size_t>(n.first_field) + i]);
    }
  }

  void field(const FieldRecord& record, const FieldValue& f) {
    using Kind = FieldValue::Kind;
    switch (f.kind) {
      case Kind::none:
        out_.put("null");
        break;
      case Kind::value:
        // A by-value number may be "inf": a handle in its place is told apart by its form.
        if (record.kind == Kind::number) out_.put("{\"value\":");
        reference(f.value);
        if (record.kind == Kind::number) out_.put('}');
        break;
      case Kind::number:
        put_float(out_, f.number);
        break;
      case Kind::real:
        put_float(out_, f.real);
        break;
      case Kind::integer:
        out_.put_number(f.integer);
        break;
      case Kind::flag:
        out_.put(f.integer != 0 ? "true" : "false");
        break;
      case Kind::choice:
        word(record.word(static_cast<int>(f.integer)));
        break;
    }
  }

  void output(const Output& o) {
    name_key(o.name);
    for (OutputKey k : output_keys()) {
      key(name(k));
      put(o, k);
    }
  }

  void put(const Output& o, OutputKey k) {
    switch (k) {
      case OutputKey::value:
        return reference(o.value);
      case OutputKey::dtype:
        return word(name(o.dtype));
      case OutputKey::tail:
        return word(name(o.tail));
      case OutputKey::strides:
        return stride_list(o.strides);
      case OutputKey::alignment:
        return out_.put_number(o.alignment);
      case OutputKey::discrete:
        return out_.put(o.discrete ? "true" : "false");
      case OutputKey::scatter:
        return maybe_reference(o.scatter);
      case OutputKey::slot:
        return maybe_reference(o.slot);
      case OutputKey::top_k:
        return out_.put_number(o.top_k);
      case OutputKey::rows:
        if (!o.rows) return out_.put("null");
        extent(*o.rows);
    }
  }

  const Graph& graph_;
  bool names_;
  bool first_key_ = true;
  TextBuffer out_;
};

uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

std::string_view name(InputKey k) { return kKeyNames[static_cast<size_t>(k)]; }
std::string_view name(OutputKey k) { return kOutputKeyNames[static_cast<size_t>(k)]; }
std::span<const OutputKey> output_keys() { return kOutputKeys; }

std::span<const InputKey> input_keys(Role role) {
  switch (role) {
    case Role::tensor:
      return kTensorKeys;
    case Role::scaled_tensor:
      return kScaledKeys;
    case Role::weights:
    case Role::weight_pointers:
      return kWeightKeys;
    case Role::groups:
      return kGroupKeys;
    case Role::value:
    case Role::weight_grad:
      return {};
    default:
      return kVectorKeys;
  }
}

void append_number(std::string& out, double value) {
  TextBuffer text;
  put_float(text, value);
  out += text.view();
}
void append_number(std::string& out, float value) {
  TextBuffer text;
  put_float(text, value);
  out += text.view();
}
void append_string(std::string& out, std::string_view text) {
  TextBuffer quoted;
  put_string(quoted, text);
  out += quoted.view();
}

std::string key_text(const Graph& graph, const Input& input, InputKey key) {
  return Writer(graph, Names::left_out).one(input, key);
}
std::string key_text(const Graph& graph, const Output& output, OutputKey key) {
  return Writer(graph, Names::left_out).one(output, key);
}

std::string canonical_json(const Graph& graph, Names names) { return Writer(graph, names).write(); }

Key hash128(std::string_view text) {
  // Two independent multiply-and-fold chains over 8-byte words; odd constants from the digits of
  // pi.
  uint64_t a = 0x243F6A8885A308D3ULL ^ text.size();
  uint64_t b = 0x13198A2E03707345ULL + text.size();
  const auto take = [&](uint64_t word) {
    a = mix(a ^ word, 0xA4093822299F31D1ULL);
    b = mix(b ^ word, 0x082EFA98EC4E6C89ULL) + a;
  };
  uint64_t word = 0;
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    take(word);
  }
  if (!text.empty()) {
    word = 0;
    std::memcpy(&word, text.data(), text.size());
    take(word);
  }
  return {mix(a, 0x452821E638D01377ULL), mix(b, 0xBE5466CF34E90C6DULL)};
}

}  // namespace cohort::ir
