#include "ir/canonical.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>

#include "ir/op_record.h"

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

template <class T>
void append_float(std::string& out, T value) {
  if (std::isnan(value)) {
    out += "\"nan\"";
  } else if (std::isinf(value)) {
    out += value < 0 ? "\"-inf\"" : "\"inf\"";
  } else if (value == 0 && std::signbit(value)) {
    out += "-0.0";
  } else {
    std::array<char, 40> buffer;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    out.append(buffer.data(), end);
  }
}

void append_integer(std::string& out, int64_t value) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  out.append(buffer.data(), end);
}

class Writer {
 public:
  Writer(const Graph& graph, Names names) : graph_(graph), names_(names == Names::written) {
    out_.reserve(256 + 160 * (graph.inputs.size() + graph.nodes.size() + graph.outputs.size()));
  }

  std::string write() {
    out_ += "{\n\"cohort\":";
    append_integer(out_, kJsonVersion);
    if (names_) {
      out_ += ",\n\"name\":";
      append_string(out_, graph_.name);
    }
    list("dims", graph_.symbols, [&](const Symbol& s) { dim(s); });
    list("inputs", graph_.inputs, [&](const Input& i) { input(i); });
    list("nodes", graph_.nodes, [&](const Node& n) { node(n); });
    list("outputs", graph_.outputs, [&](const Output& o) { output(o); });
    out_ += "\n}\n";
    return std::move(out_);
  }

 private:
  template <class T, class F>
  void list(std::string_view title, const std::vector<T>& items, F&& one) {
    out_.append(",\n\"").append(title).append("\":[");
    bool first = true;
    for (const T& item : items) {
      out_ += first ? "\n{" : ",\n{";
      first = false;
      first_key_ = true;
      one(item);
      out_ += '}';
    }
    out_ += items.empty() ? "]" : "\n]";
  }

  void key(std::string_view text) {
    if (!first_key_) out_ += ',';
    first_key_ = false;
    out_.append("\"").append(text).append("\":");
  }
  void word(std::string_view text) { out_.append("\"").append(text).append("\""); }
  void name_key(std::string_view text) {
    if (!names_) return;
    key("name");
    append_string(out_, text);
  }
  void number_sign(int32_t number) {
    out_ += "\"#";
    append_integer(out_, number);
    out_ += '"';
  }

  void dim(const Symbol& s) {
    name_key(s.name);
    key("bound");
    append_integer(out_, s.bound);
  }

  void extent(const Extent& e) {
    if (e.symbol == kNone) {
      append_integer(out_, e.bound);
    } else if (names_) {
      append_string(out_, graph_.symbols[static_cast<size_t>(e.symbol)].name);
    } else {
      number_sign(e.symbol);
    }
  }

  void stride_list(const Strides& s) {
    key("strides");
    if (s.rank() == 0) {
      out_ += "null";
      return;
    }
    out_ += '[';
    for (int i = 0; i < s.rank(); ++i) {
      if (i > 0) out_ += ',';
      append_integer(out_, s[i]);
    }
    out_ += ']';
  }

  void input(const Input& in) {
    const Value& v = graph_.values[static_cast<size_t>(in.value)];
    name_key(in.name);
    key("role");
    word(name(v.role));
    for (InputKey k : input_keys(v.role)) input_key(v, k);
  }

  void optional_word(InputKey k, bool present, std::string_view text) {
    key(name(k));
    if (present) {
      word(text);
    } else {
      out_ += "null";
    }
  }

  void input_key(const Value& v, InputKey k) {
    const bool scaled = v.scaled.has_value();
    const ScaledType s = v.scaled.value_or(ScaledType{});
    switch (k) {
      case shape:
        key("shape");
        out_ += '[';
        for (int i = 0; i < v.shape.rank; ++i) {
          if (i > 0) out_ += ',';
          extent(v.shape[i]);
        }
        out_ += ']';
        break;
      case dtype:
        return optional_word(k, true, name(v.dtype));
      case format:
        return optional_word(k, scaled, name(s.format));
      case layout:
        return optional_word(k, scaled, name(s.layout));
      case axis:
        return optional_word(k, scaled, name(s.axis));
      case storage:
        return optional_word(k, scaled, name(s.storage));
      case major:
        return optional_word(k, true, name(v.major));
      case form:
        return optional_word(k, true, name(v.form));
      case row_alignment:
        key("row_alignment");
        append_integer(out_, v.row_alignment);
        break;
      case strides:
        return stride_list(v.strides);
      case alignment:
        key("alignment");
        append_integer(out_, v.alignment);
        break;
    }
  }

  void reference(int32_t number) {
    const Value& v = graph_.values[static_cast<size_t>(number)];
    if (v.node == kNone) {
      if (names_) {
        append_string(out_, graph_.inputs[static_cast<size_t>(v.input)].name);
      } else {
        number_sign(v.input);
      }
      return;
    }
    out_ += "\"%";
    append_integer(out_, v.node);
    const OpRecord& op = *graph_.nodes[static_cast<size_t>(v.node)].op;
    const std::string_view port = op.results[static_cast<size_t>(v.port)].name;
    if (!port.empty()) out_.append(".").append(port);
    out_ += '"';
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
        out_ += "null";
        break;
      case Kind::value:
        // A by-value number may be "inf": a handle in its place is told apart by its form.
        if (record.kind == Kind::number) out_ += "{\"value\":";
        reference(f.value);
        if (record.kind == Kind::number) out_ += '}';
        break;
      case Kind::number:
        append_number(out_, f.number);
        break;
      case Kind::real:
        append_number(out_, f.real);
        break;
      case Kind::integer:
        append_integer(out_, f.integer);
        break;
      case Kind::flag:
        out_ += f.integer != 0 ? "true" : "false";
        break;
      case Kind::choice:
        word(record.word(static_cast<int>(f.integer)));
        break;
    }
  }

  void output(const Output& o) {
    name_key(o.name);
    key("value");
    reference(o.value);
    key("dtype");
    word(name(o.dtype));
    key("tail");
    word(name(o.tail));
    stride_list(o.strides);
    key("alignment");
    append_integer(out_, o.alignment);
  }

  const Graph& graph_;
  bool names_;
  bool first_key_ = true;
  std::string out_;
};

uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

std::string_view name(InputKey k) { return kKeyNames[static_cast<size_t>(k)]; }

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
      return {};
    default:
      return kVectorKeys;
  }
}

void append_number(std::string& out, double value) { append_float(out, value); }
void append_number(std::string& out, float value) { append_float(out, value); }

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

std::string canonical_json(const Graph& graph, Names names) { return Writer(graph, names).write(); }

Key hash128(std::string_view text) {
  // Two independent multiply-and-fold chains over 8-byte words; odd constants from the digits of
  // pi.
  uint64_t a = 0x243F6A8885A308D3ULL ^ text.size();
  uint64_t b = 0x13198A2E03707345ULL + text.size();
  while (!text.empty()) {
    uint64_t word = 0;
    const size_t n = text.size() < 8 ? text.size() : 8;
    std::memcpy(&word, text.data(), n);
    text.remove_prefix(n);
    a = mix(a ^ word, 0xA4093822299F31D1ULL);
    b = mix(b ^ word, 0x082EFA98EC4E6C89ULL) + a;
  }
  return {mix(a, 0x452821E638D01377ULL), mix(b, 0xBE5466CF34E90C6DULL)};
}

}  // namespace cohort::ir
