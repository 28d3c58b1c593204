// Inputs of conformance cases: seeded numbers, and how they stand in memory.
#include <bit>

#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

int64_t up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

const SlowFormat& format_of(DType type) {
  for (const SlowFormat& f : slow_formats()) {
    if (f.type == type) return f;
  }
  return slow_formats()[0];
}

double code_value(DType type, uint8_t code) {
  const SlowFormat& f = format_of(type);
  const uint32_t sign = 1u << (f.exponent + f.mantissa);
  const double v = slow_value(f, code & (sign - 1));
  return (code & sign) != 0 ? -v : v;
}

bool has_nan(DType type) { return type == DType::e4m3 || type == DType::e5m2; }

// A code of a middling magnitude: products of many stay of one size.
uint8_t some_code(DType type, uint64_t random) {
  const uint64_t exponent = random >> 8 & 3;
  switch (type) {
    case DType::e4m3:
      return static_cast<uint8_t>((random & 0x87) | (exponent + 4) << 3);
    case DType::e5m2:
      return static_cast<uint8_t>((random & 0x83) | (exponent + 12) << 2);
    default:
      return static_cast<uint8_t>(random & 0xF);
  }
}

// Steele, Lea, Flood: Fast splittable pseudorandom number generators (OOPSLA 2014), its finaliser.
uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

double some_scale(DType type, uint64_t random) {
  if (type == DType::e8m0) return std::ldexp(1.0, static_cast<int>(random % 7) - 3);
  if (type == DType::e4m3) return code_value(type, static_cast<uint8_t>(0x30 + random % 16));
  return static_cast<double>(1 + random % 31) / 16;
}

void write_scale(DType type, double value, int64_t place, std::byte* to) {
  if (type == DType::f32) {
    const auto f = static_cast<float>(value);
    std::memcpy(to + place * 4, &f, 4);
  } else if (type == DType::e8m0) {
    to[place] = static_cast<std::byte>(std::isnan(value) ? 0xFF : 127 + std::ilogb(value));
  } else {
    const auto code = slow_encode(format_of(type), value, numerics::Round::nearest_even, true, 0);
    to[place] = static_cast<std::byte>(code);
  }
}

void write_number(DType type, double value, int64_t at, std::byte* to) {
  switch (type) {
    case DType::f32: {
      const auto f = static_cast<float>(value);
      std::memcpy(to + at * 4, &f, 4);
      return;
    }
    case DType::i32: {
      const auto i = static_cast<int32_t>(value);
      std::memcpy(to + at * 4, &i, 4);
      return;
    }
    case DType::i64: {
      const auto i = static_cast<int64_t>(value);
      std::memcpy(to + at * 8, &i, 8);
      return;
    }
    default:
      break;
  }
  const auto code = static_cast<uint16_t>(
      slow_encode(format_of(type), value, numerics::Round::nearest_even, false, 0));
  std::memcpy(to + at * bits(type) / 8, &code, static_cast<size_t>(bits(type) / 8));
}

void write_code(DType type, uint8_t code, int64_t at, std::byte* to) {
  if (type != DType::e2m1) {
    to[at] = static_cast<std::byte>(code);
    return;
  }
  const auto old = static_cast<uint8_t>(to[at / 2]);
  to[at / 2] = static_cast<std::byte>(at % 2 == 0 ? (old & 0xF0) | code : (old & 0x0F) | code << 4);
}

}  // namespace

int32_t Tokens::group(int64_t row) const {
  for (size_t g = 0; g < ranges.size(); ++g) {
    if (row >= ranges[g].begin && row < ranges[g].begin + ranges[g].rows) {
      return static_cast<int32_t>(g);
    }
  }
  return -1;
}

size_t Stored::at(const Position& p) const {
  int64_t i = 0;
  for (size_t d = 0; d < extents.size(); ++d) i = i * extents[d] + p[d];
  return static_cast<size_t>(i);
}

Position Stored::position(size_t i) const {
  Position p{};
  auto rest = static_cast<int64_t>(i);
  for (size_t d = extents.size(); d-- > 0;) {
    p[d] = rest % extents[d];
    rest /= extents[d];
  }
  return p;
}

// Sizes of the groups, and how many rows stand before, between and behind them.
void Case::decide_rows() {
  const GroupsSpec& s = group_spec_;
  Tokens& t = *tokens_;
  const bool is_grouped = !groups_.empty() && s.form != GroupForm::whole;
  const bool usual = situation_ == Situation::usual || situation_ == Situation::nan;
  if (!is_grouped) {
    t.rows = situation_ == Situation::no_rows ? 0 : usual ? 48 : 2;
    if (situation_ == Situation::empty_groups) t.rows = 34;
    t.rows = up(t.rows, s.multiple);
    t.ranges = {{0, t.rows}};
    return;
  }
  std::vector<int64_t> sizes(static_cast<size_t>(s.count), 0);
  if (usual) {
    for (size_t g = 0; g < sizes.size(); ++g) sizes[g] = static_cast<int64_t>(g * 7 % 20 + 5);
    sizes[0] = 18;
    sizes[1] = 0;
    sizes[2] = 25;
  }
  if (situation_ == Situation::one_group) sizes.back() = 33;
  for (int64_t& rows : sizes) rows = up(rows * s.unit, s.multiple);
  const bool free_begin = s.form != GroupForm::ends && s.form != GroupForm::counts;
  const bool free_end = s.form != GroupForm::starts;
  const bool outside = usual || situation_ == Situation::empty_groups;
  const bool begins_late = outside && free_begin;
  int64_t next = !begins_late ? 0 : s.multiple == 1 ? 2 : s.multiple;
  for (const int64_t rows : sizes) {
    t.ranges.push_back({next, rows});
    next += rows + (s.form == GroupForm::slots && usual ? s.multiple : 0);
  }
  t.rows = next + (outside && free_end ? 3 : 0);
  // e2m1 of column blocks is packed in pairs along tokens.
  if (free_end) t.rows += t.rows % 2;
}

Graph Case::finish() {
  decide_rows();
  for (const auto& s : inputs_) {
    if (s->rows_are_tokens) s->extents[0] = tokens_->rows;
    make_values(*s);
    if (s->scaled != nullptr) make_scaled(*s);
    if (situation_ == Situation::nan && s->holds_nan) plant(*s);
    if (!s->rows_are_tokens || groups_.empty()) continue;
    for (size_t i = 0; i < s->values.size(); ++i) {
      if (tokens_->group(s->position(i)[0]) >= 0) continue;
      const bool whole = s->dtype == DType::i32 || s->dtype == DType::i64;
      s->values[i] = whole ? -7 : std::numeric_limits<double>::quiet_NaN();
      if (s->scaled == nullptr) continue;
      s->codes[i] = s->scaled->element == DType::e2m1 ? 7 : 0x7F;
      s->scales[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }
  return test::finish(builder_);
}

void Case::make_values(Stored& s) {
  size_t count = 1;
  for (const int64_t e : s.extents) count *= static_cast<size_t>(e);
  s.values.resize(count);
  for (size_t i = 0; i < count; ++i) {
    // Quarters of -3 .. 3: any of the types holds them, and small sums of products are exact.
    s.values[i] = s.make ? s.make(s.position(i)) : (static_cast<int>(random_() % 25) - 12) / 4.0;
  }
}

void Case::make_scaled(Stored& s) {
  const ScaleLocation& where = *s.scaled;
  s.codes.resize(s.values.size());
  s.scales.resize(s.values.size());
  const uint64_t seed = random_();
  const int64_t columns = s.extents.back();
  const int64_t rows = s.extents[s.extents.size() - 2];
  for (size_t i = 0; i < s.values.size(); ++i) {
    const Position p = s.position(i);
    const int64_t r = s.extents.size() == 3 ? p[1] : p[0];
    const int64_t c = s.extents.size() == 3 ? p[2] : p[1];
    s.codes[i] = some_code(where.element, random_());
    const bool nobody = s.rows_are_tokens && tokens_->group(r) < 0;
    // One scale a place and expert.
    const int64_t place = nobody ? 0 : scale_place(where, *tokens_, rows, columns, r, c);
    const int64_t expert = s.extents.size() == 3 ? p[0] : 0;
    s.scales[i] = some_scale(info(where.format).scale,
                             mixed(seed + static_cast<uint64_t>(place * 31 + expert * 7919)));
    s.values[i] = code_value(where.element, s.codes[i]) * s.scales[i];
  }
}

// Two elements of rows that belong to groups; of weights and the like, one of the first expert.
void Case::plant(Stored& s) {
  if (s.values.empty()) return;
  std::vector<size_t> places;
  const int64_t columns = s.extents.size() > 1 ? s.extents[1] : 1;
  if (s.rows_are_tokens) {
    for (const Range& r : tokens_->ranges) {
      if (r.rows > 0) places.push_back(static_cast<size_t>((r.begin + r.rows / 2) * columns));
    }
  } else {
    places.push_back(0);
  }
  for (const size_t i : places) {
    if (s.scaled == nullptr) {
      s.values[i] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    if (!has_nan(s.scaled->element)) continue;
    s.codes[i] = 0x7F;
    s.values[i] = std::numeric_limits<double>::quiet_NaN();
  }
  if (s.scaled == nullptr || has_nan(s.scaled->element) || places.empty()) return;
  // fp4 has no NaN: the scale of the first place has.
  const int64_t columns_all = s.extents.back();
  const int64_t rows = s.extents[s.extents.size() - 2];
  const auto place = [&](size_t i) {
    const Position p = s.position(i);
    const bool weights = s.extents.size() == 3;
    return scale_place(*s.scaled, *tokens_, rows, columns_all, weights ? p[1] : p[0],
                       weights ? p[2] : p[1]);
  };
  const int64_t wanted = place(places[0]);
  for (size_t i = 0; i < s.values.size(); ++i) {
    const Position p = s.position(i);
    if (s.extents.size() == 3 && p[0] != 0) continue;
    if (s.rows_are_tokens && tokens_->group(p[0]) < 0) continue;
    if (place(i) != wanted) continue;
    s.scales[i] = s.values[i] = std::numeric_limits<double>::quiet_NaN();
  }
}

namespace {

// Where element p of a plain input stands, in elements.
int64_t plain_place(const Stored& s, const TensorInfo& info, const Position& p) {
  int64_t at = 0;
  for (int d = 0; d < info.rank; ++d) {
    int from = d;
    if (s.n_major && d > 0) from = 3 - d;
    at += p[static_cast<size_t>(from)] * info.strides[d];
  }
  return at;
}

int64_t scales_of_matrix(const ScaleLocation& w, int64_t rows, int64_t columns) {
  const int64_t block = info(w.format).block;
  if (w.format == Format::fp8_tensor) return 1;
  if (w.format == Format::fp8_row) return rows;
  const int64_t across = (columns + block - 1) / block;
  if (w.format == Format::fp8_block128) return (rows + 127) / 128 * across;
  if (w.layout == ScaleLayout::linear) return rows * across;
  return (rows + 127) / 128 * ((across + 3) / 4) * 512;
}

// Codes and scales of one matrix: tokens, or one expert (elements from `first` on).
void put_matrix(const Stored& s, const Tokens& tokens, size_t first, std::byte* codes,
                std::byte* scales) {
  const ScaleLocation& w = *s.scaled;
  const int64_t columns = s.extents.back();
  const int64_t rows = s.extents[s.extents.size() - 2];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const size_t i = first + static_cast<size_t>(r * columns + c);
      const ColStorage storage = s.n_major ? ColStorage::transposed : w.storage;
      write_code(w.element, s.codes[i], code_place(storage, tokens, rows, columns, r, c), codes);
      const bool placed = is_placed_by_group(w.layout) || w.axis == Axes::col;
      if (placed && tokens.group(r) < 0) continue;
      if (w.format == Format::fp8_tensor && std::isnan(s.scales[i])) continue;  // shared
      write_scale(info(w.format).scale, s.scales[i], scale_place(w, tokens, rows, columns, r, c),
                  scales);
    }
  }
}

}  // namespace

void Case::put_pointers(Tensors& tensors, const Stored& s) const {
  const int64_t size = s.extents[1] * s.extents[2];
  std::vector<int64_t> data;
  std::vector<int64_t> scale;
  for (int64_t e = 0; e < s.extents[0]; ++e) {
    auto& codes = pointed_.emplace_back(static_cast<size_t>(size * 4));
    data.push_back(std::bit_cast<int64_t>(codes.data()));
    auto* to = reinterpret_cast<std::byte*>(codes.data());
    if (s.scaled != nullptr) {
      const int64_t n = scales_of_matrix(*s.scaled, s.extents[1], s.extents[2]);
      auto& scales = pointed_.emplace_back(static_cast<size_t>(n * 4), 0xFF);
      scale.push_back(std::bit_cast<int64_t>(scales.data()));
      put_matrix(s, *tokens_, static_cast<size_t>(e * size), to,
                 reinterpret_cast<std::byte*>(scales.data()));
      continue;
    }
    for (int64_t i = 0; i < size; ++i) {
      const int64_t n = i / s.extents[2];
      const int64_t k = i % s.extents[2];
      write_number(s.dtype, s.values[static_cast<size_t>(e * size + i)],
                   s.n_major ? k * s.extents[1] + n : i, to);
    }
  }
  tensors.set(s.name, data);
  if (s.scaled != nullptr) tensors.set(s.name + ".scale", scale);
}

void Case::fill(Tensors& tensors) const {
  if (!groups_.empty() && group_spec_.form != GroupForm::whole) {
    put_groups(tensors, "groups", group_spec_.form, group_spec_.dtype, tokens_->ranges);
  }
  for (const Expected& e : expected_) {  // discrete gradients: more memory than they need
    if (tensors.view(e.name).dtype != DType::i64) continue;
    auto* at = tensors.data<int64_t>(e.name);
    for (int64_t expert = 0; expert < tensors.view(e.name).shape[0]; ++expert) {
      auto& memory = pointed_.emplace_back(size_t{4096}, uint8_t{kPoison});
      at[expert] = std::bit_cast<int64_t>(memory.data());
    }
  }
  for (const auto& held : inputs_) {
    const Stored& s = *held;
    if (s.is_pointers) {
      put_pointers(tensors, s);
      continue;
    }
    auto* to = tensors.data<std::byte>(s.name);
    const TensorInfo& info = tensors.infos()[static_cast<size_t>(tensors.index(s.name))];
    if (s.scaled == nullptr) {
      for (size_t i = 0; i < s.values.size(); ++i) {
        write_number(s.dtype, s.values[i], plain_place(s, info, s.position(i)), to);
      }
      continue;
    }
    const std::string scale = s.name + ".scale";
    tensors.fill(scale, 0xFF);  // padding: the NaN of every scale type
    const int64_t experts = s.extents.size() == 3 ? s.extents[0] : 1;
    const int64_t size = s.extents.back() * s.extents[s.extents.size() - 2];
    for (int64_t e = 0; e < experts; ++e) {
      const int64_t scale_bytes = experts > 0 ? tensors.bytes(scale) / experts : 0;
      put_matrix(s, *tokens_, static_cast<size_t>(e * size),
                 to + e * size * bits(s.scaled->element) / 8,
                 tensors.data<std::byte>(scale) + e * scale_bytes);
    }
  }
}

}  // namespace cohort::test::conformance
