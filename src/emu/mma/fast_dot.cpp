#include "emu/mma/fast_dot.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/isa_level.h"
#include "emu/mma/dot_row.h"

namespace cohort::emu {

namespace {

DotRowFunction pick() {
  switch (base::isa_level()) {
    case base::IsaLevel::v4:
      return v4::kDotRow;
    case base::IsaLevel::v3:
      return v3::kDotRow;
    case base::IsaLevel::v1:
      break;
  }
  return v1::kDotRow;
}

size_t blocks(int lines) { return (static_cast<size_t>(lines) + kDotBlock - 1) / kDotBlock; }

// 2^power, of a normal f32.
float power(int power) { return std::bit_cast<float>(static_cast<uint32_t>(power + 127) << 23); }

}  // namespace

DotLines::DotLines(Side side, Element element, int length, int lines)
    : side_(side), element_(element), length_(length), lines_(lines) {
  const size_t padded = blocks(lines) * kDotBlock;
  const size_t elements = padded * static_cast<size_t>(length);
  codes_.resize(static_cast<size_t>(lines) * static_cast<size_t>(length));
  value_.resize(elements);
  exponent_.resize(elements, kDotZero);
  shift_.resize(padded);
  scale_.resize(static_cast<size_t>(lines));
  rare_.resize(static_cast<size_t>(lines));
}

size_t DotLines::at(int line, int k) const {
  const auto l = static_cast<size_t>(line);
  const auto n = static_cast<size_t>(length_);
  const auto i = static_cast<size_t>(k);
  if (side_ == Side::a) return l * n + i;
  return (l / kDotBlock * n + i) * kDotBlock + l % kDotBlock;
}

namespace {

// An element as the fast loop wants it.
struct Fast {
  float value = 0;
  int8_t exponent = kDotZero;
  bool rare = false;
};

// Of all codes of a format of at most 8 bits, whose exponents are small.
using Table = std::array<Fast, 256>;

Table make_table(Element element) {
  Table table;
  for (uint32_t code = 0; code < table.size(); ++code) {
    const Exact x = decode(element, code);
    Fast& f = table[code];
    f.rare = x.kind != Exact::Kind::number;
    if (f.rare || x.significand == 0) continue;
    f.exponent = static_cast<int8_t>(x.exponent);
    f.value = static_cast<float>(x.significand) * power(x.exponent - x.fraction_bits);
    if (x.negative) f.value = -f.value;
  }
  return table;
}

const Table& table_of(Element element) {
  static const std::array<Table, 5> tables{make_table(Element::e4m3), make_table(Element::e5m2),
                                           make_table(Element::e2m3), make_table(Element::e3m2),
                                           make_table(Element::e2m1)};
  return tables[static_cast<size_t>(element) - static_cast<size_t>(Element::e4m3)];
}

// A wide element: significand and exponent, zero and special ones told apart.
struct WideElement {
  int32_t significand = 0;
  int32_t exponent = 0;
  bool rare = false;
};

template <int kExponentBits, int kFractionBits, int kUnusedBits>
void split(std::span<const uint32_t> codes, WideElement* out) {
  constexpr uint32_t kTop = (1U << kExponentBits) - 1;
  for (size_t k = 0; k < codes.size(); ++k) {
    const uint32_t code = codes[k] >> kUnusedBits;
    const uint32_t fraction = code & ((1U << kFractionBits) - 1);
    const uint32_t field = (code >> kFractionBits) & kTop;
    const auto significand =
        static_cast<int32_t>(field == 0 ? fraction : fraction | 1U << kFractionBits);
    const bool negative = ((code >> (kFractionBits + kExponentBits)) & 1) != 0;
    out[k] = {negative ? -significand : significand,
              static_cast<int32_t>(field == 0 ? 1 : field) - static_cast<int32_t>(kTop / 2),
              field == kTop};
  }
}

}  // namespace

bool DotLines::set_narrow(int line, std::span<const uint32_t> codes) {
  const Table& table = table_of(element_);
  const size_t first = at(line, 0);
  const size_t step = side_ == Side::a ? 1 : kDotBlock;
  bool rare = false;
  for (size_t k = 0; k < codes.size(); ++k) {
    const Fast& x = table[codes[k] & 0xFF];
    value_[first + k * step] = x.value;
    exponent_[first + k * step] = x.exponent;
    rare = rare || x.rare;
  }
  return rare;
}

bool DotLines::set_wide(int line, std::span<const uint32_t> codes) {
  std::array<WideElement, kMostLength> wide;
  int fraction_bits = 10;
  if (element_ == Element::bf16) {
    fraction_bits = 7;
    split<8, 7, 0>(codes, wide.data());
  } else if (element_ == Element::f16) {
    split<5, 10, 0>(codes, wide.data());
  } else {
    split<8, 10, 13>(codes, wide.data());
  }
  int least = kDotExponent;
  int most = -kDotExponent;
  bool rare = false;
  for (size_t k = 0; k < codes.size(); ++k) {
    rare = rare || wide[k].rare;
    if (wide[k].significand == 0) continue;
    least = std::min(least, wide[k].exponent);
    most = std::max(most, wide[k].exponent);
  }
  // A line of large or of small values is moved to the middle.
  int bias = 0;
  if (most > kDotExponent) bias = most - kDotExponent;
  if (least < -kDotExponent) bias = least + kDotExponent;
  rare = rare || most - bias > kDotExponent || least - bias < -kDotExponent;
  shift_[static_cast<size_t>(line)] += bias;
  const size_t first = at(line, 0);
  const size_t step = side_ == Side::a ? 1 : kDotBlock;
  for (size_t k = 0; k < codes.size(); ++k) {
    const bool zero = rare || wide[k].significand == 0;
    const int exponent = wide[k].exponent - bias;
    exponent_[first + k * step] = zero ? kDotZero : static_cast<int8_t>(exponent);
    value_[first + k * step] =
        zero ? 0 : static_cast<float>(wide[k].significand) * power(exponent - fraction_bits);
  }
  return rare;
}

void DotLines::set(int line, std::span<const uint32_t> codes, BlockScale scale) {
  const auto l = static_cast<size_t>(line);
  std::copy(codes.begin(), codes.end(), codes_.begin() + at_code(line));
  scale_[l] = scale;
  shift_[l] = scale.exponent;
  const bool rare = element_ >= Element::e4m3 ? set_narrow(line, codes) : set_wide(line, codes);
  rare_[l] = rare || scale.not_a_number ? 1 : 0;
}

void DotLines::exact(int line, std::span<Exact> out) const {
  const auto first = static_cast<size_t>(at_code(line));
  for (size_t k = 0; k < out.size(); ++k) out[k] = decode(element_, codes_[first + k]);
}

void fast_dot(const DotLines& a, const DotLines& b, const DotRule& rule, uint32_t* d,
              int64_t stride, int scale_c) {
  static const DotRowFunction row_function = pick();
  std::array<uint32_t, kDotBlock> c{};
  std::array<uint32_t, kDotBlock> out{};
  std::array<uint8_t, kDotBlock> rare{};
  const auto exactly = [&](int m, int n, uint32_t old) {
    const BlockScale& x = a.scale_[static_cast<size_t>(m)];
    const BlockScale& y = b.scale_[static_cast<size_t>(n)];
    std::array<Exact, DotLines::kMostLength> p;
    std::array<Exact, DotLines::kMostLength> q;
    const auto length = static_cast<size_t>(a.length_);
    a.exact(m, {p.data(), length});
    b.exact(n, {q.data(), length});
    return fused_dot({p.data(), length}, {q.data(), length},
                     decode_accumulator(Accumulator::f32, old, scale_c), rule,
                     {x.not_a_number || y.not_a_number, x.exponent + y.exponent});
  };
  for (int first = 0; first < b.lines_; first += kDotBlock) {
    const int count = std::min(kDotBlock, b.lines_ - first);
    bool rare_columns = false;
    for (int n = 0; n < count; ++n) rare_columns = rare_columns || b.is_rare(first + n);
    for (int m = 0; m < a.lines_; ++m) {
      uint32_t* row = d + m * stride + first;
      std::copy(row, row + count, c.begin());
      const bool any =
          row_function({a.value_.data() + a.at(m, 0), a.exponent_.data() + a.at(m, 0),
                        a.shift_[static_cast<size_t>(m)], b.value_.data() + b.at(first, 0),
                        b.exponent_.data() + b.at(first, 0), b.shift_.data() + first, c.data(),
                        a.length_, rule.kept_bits, rule.result_bits, scale_c},
                       out.data(), rare.data());
      if (any || rare_columns || a.is_rare(m)) {
        for (int n = 0; n < count; ++n) {
          const auto i = static_cast<size_t>(n);
          if (rare[i] != 0 || a.is_rare(m) || b.is_rare(first + n))
            out[i] = exactly(m, first + n, c[i]);
        }
      }
      std::copy(out.begin(), out.begin() + count, row);
    }
  }
}

}  // namespace cohort::emu
