#include "io/launch_arguments.h"

#include <algorithm>

#include <cohort/numerics.h>

namespace cohort::io {

namespace {

constexpr std::string_view kMapKeys[] = {
    "buffer",          "offset",  "type",       "dims",         "strides", "box",
    "element_strides", "swizzle", "interleave", "l2_promotion", "fill"};
constexpr std::string_view kArgumentKinds[] = {
    "buffer", "tensor_map", "bytes", "struct", "u8",  "s8",   "u16", "s16",
    "u32",    "s32",        "u64",   "s64",    "f16", "bf16", "f32", "f64"};
constexpr std::string_view kArgumentKeys[] = {
    "buffer", "offset", "tensor_map", "bytes", "struct", "u8",   "s8",  "u16", "s16",
    "u32",    "s32",    "u64",        "s64",   "f16",    "bf16", "f32", "f64", "at"};

const std::vector<std::string_view>& map_words() {
  static const std::vector<std::string_view> words = {"u8",      "u16",  "u32",     "s32", "u64",
                                                      "s64",     "f16",  "f32",     "f64", "bf16",
                                                      "f32_ftz", "tf32", "tf32_ftz"};
  return words;
}

}  // namespace

std::vector<std::string_view> type_words() {
  std::vector<std::string_view> words;
  words.reserve(kElementTypes);
  for (int32_t t = 0; t < kElementTypes; ++t) words.push_back(name(static_cast<ElementType>(t)));
  return words;
}

KernelArgument ArgumentReader::argument(const JsonNode& n, bool is_part) {
  KernelArgument a;
  if (!r_.object(n, "argument", kArgumentKeys)) return a;
  const JsonNode at = is_part ? r_.required(n, "argument", "at") : r_.member(n, "at");
  if (at.is_there() && !is_part) {
    r_.fail(at, "E-KEY", "argument", "no 'at' outside of a struct", "one");
  } else if (at.is_there()) {
    r_.integer(at, "argument", 0, INT32_MAX, a.at);
  }
  std::string_view key;
  const JsonNode v = r_.one_of(n, "argument", kArgumentKinds, key);
  if (!v.is_there()) return a;
  const JsonNode offset = r_.member(n, "offset");
  if (offset.is_there() && key != "buffer") {
    r_.fail(offset, "E-KEY", "argument", "no 'offset' without 'buffer'", "one");
  }
  if (key == "buffer") {
    std::string text;
    if (!r_.text(v, "argument", text)) return a;
    a.kind = KernelArgument::Kind::pointer;
    a.buffer = keep(std::move(text));
    if (offset.is_there()) r_.integer(offset, "argument", 0, kMostBytes, a.offset);
  } else if (key == "tensor_map") {
    a.kind = KernelArgument::Kind::tensor_map;
    map(v, a.map);
  } else if (key == "bytes") {
    bytes(v, a);
  } else if (key == "struct") {
    if (is_part) {
      r_.fail(v, "E-KEY", "argument", "no struct in a struct", "one");
    } else {
      structure(v, a);
    }
  } else {
    number(v, key, a);
  }
  return a;
}

void ArgumentReader::number(const JsonNode& n, std::string_view key, KernelArgument& a) {
  const std::vector<std::string_view> words = type_words();
  a.type = static_cast<ElementType>(std::find(words.begin(), words.end(), key) - words.begin());
  const JsonValue& v = r_.value(n);
  const auto width = static_cast<int>(8 * element_bytes(a.type));
  if (a.type <= ElementType::s64) {
    const bool is_signed = key[0] == 's';
    const uint64_t most = UINT64_MAX >> (64 - width + (is_signed ? 1 : 0));
    const uint64_t least = is_signed ? most + 1 : 0;
    if (v.kind != JsonValue::Kind::integer || v.magnitude > (v.is_negative ? least : most)) {
      r_.fail(n, "E-LAUNCH", "argument", "a number of this type", r_.describe(n));
      return;
    }
    a.bits = v.is_negative ? 0 - v.magnitude : v.magnitude;
    return;
  }
  double x = 0;
  if (!r_.real(n, "argument", x)) return;
  if (a.type == ElementType::f64) {
    a = KernelArgument::number(x);
    return;
  }
  const auto single = static_cast<float>(x);
  if (a.type == ElementType::f32) {
    a = KernelArgument::number(single);
    return;
  }
  uint16_t code = 0;
  const DType dtype = a.type == ElementType::f16 ? DType::f16 : DType::bf16;
  (void)encode(dtype, &single, 1, reinterpret_cast<std::byte*>(&code));  // of a known type
  a.bits = code;
}

void ArgumentReader::bytes(const JsonNode& n, KernelArgument& a) {
  a.kind = KernelArgument::Kind::bytes;
  std::string text;
  if (!r_.text(n, "argument", text)) return;
  const auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  if (text.size() % 2 != 0 || !std::all_of(text.begin(), text.end(), is_digit)) {
    r_.fail(n, "E-LAUNCH", "argument", "hexadecimal digits, two a byte", r_.describe(n));
    return;
  }
  const auto digit = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  };
  std::vector<uint8_t>& to = f_.bytes.emplace_back();
  for (size_t i = 0; i < text.size(); i += 2) {
    to.push_back(static_cast<uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
  }
  a.data = to.data();
  a.size = static_cast<int64_t>(to.size());
}

void ArgumentReader::structure(const JsonNode& n, KernelArgument& a) {
  a.kind = KernelArgument::Kind::parts;
  if (!r_.object(n, "struct", {"bytes", "parts"})) return;
  if (const JsonNode s = r_.required(n, "struct", "bytes"); s.is_there()) {
    r_.integer(s, "struct", 1, 1 << 16, a.size);
  }
  const JsonNode parts = r_.required(n, "struct", "parts");
  if (!parts.is_there()) return;
  std::vector<KernelArgument> all;
  for (const JsonNode& p : r_.list(parts, "struct")) all.push_back(argument(p, true));
  const std::vector<KernelArgument>& kept = f_.arguments.emplace_back(std::move(all));
  a.part = kept.data();
  a.part_count = static_cast<int64_t>(kept.size());
}

template <class T>
int ArgumentReader::numbers(const JsonNode& n, int most_entries, int64_t most, T* to) {
  const std::vector<JsonNode> entries = r_.list(n, "tensor_map");
  if (static_cast<int>(entries.size()) > most_entries) {
    r_.fail(n, "E-LAUNCH", "tensor_map", "at most " + std::to_string(most_entries) + " numbers",
            r_.describe(n));
    return 0;
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    int64_t x = 0;
    r_.integer(entries[i], "tensor_map", 0, most, x);
    to[i] = static_cast<T>(x);
  }
  return static_cast<int>(entries.size());
}

// A list beside `dims`, with an entry for each dimension but `fewer` of them.
template <class T>
void ArgumentReader::beside(const JsonNode& map, std::string_view key, int wanted, int64_t most,
                            T* to) {
  const JsonNode n = r_.member(map, key);
  if (!n.is_there()) return;
  if (r_.value(n).kind == JsonValue::Kind::list && r_.value(n).count != wanted) {
    r_.fail(n, "E-LAUNCH", "tensor_map", std::to_string(wanted) + " numbers, as dims say",
            r_.describe(n));
    return;
  }
  numbers(n, 5, most, to);
}

void ArgumentReader::map(const JsonNode& n, TensorMapDescription& m) {
  if (!r_.object(n, "tensor_map", kMapKeys)) return;
  std::string text;
  if (const JsonNode b = r_.required(n, "tensor_map", "buffer"); b.is_there()) {
    if (r_.text(b, "tensor_map", text)) m.buffer = keep(std::move(text));
  }
  if (const JsonNode o = r_.member(n, "offset"); o.is_there()) {
    r_.integer(o, "tensor_map", 0, kMostBytes, m.offset);
  }
  int word = 0;
  if (const JsonNode t = r_.required(n, "tensor_map", "type"); t.is_there()) {
    r_.word(t, "tensor_map", map_words(), word);
  }
  m.type = static_cast<MapElement>(word);
  if (const JsonNode d = r_.required(n, "tensor_map", "dims"); d.is_there()) {
    m.rank = numbers(d, 5, int64_t{1} << 32, m.dims);
  }
  beside(n, "strides", std::max(m.rank - 1, 0), int64_t{1} << 40, m.strides);
  if (r_.required(n, "tensor_map", "box").is_there()) beside(n, "box", m.rank, 1 << 16, m.box);
  beside(n, "element_strides", m.rank, 1 << 16, m.element_strides);
  const auto span = [&](std::string_view key, int32_t& to) {
    int64_t x = 0;
    const JsonNode s = r_.member(n, key);
    if (s.is_there() && r_.integer(s, "tensor_map", 0, 1 << 16, x)) to = static_cast<int32_t>(x);
  };
  span("swizzle", m.swizzle);
  span("interleave", m.interleave);
  span("l2_promotion", m.l2_promotion);
  int fill = 0;
  if (const JsonNode f = r_.member(n, "fill"); f.is_there()) {
    r_.word(f, "tensor_map", {"zero", "nan"}, fill);
  }
  m.fill_nan = fill == 1;
}

}  // namespace cohort::io
