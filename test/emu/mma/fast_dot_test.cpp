// Fast sums have the bits of the plain model: random, special and lopsided data.
#include "emu/mma/fast_dot.h"

#include <bit>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cohort::emu {
namespace {

struct Case {
  std::string name;
  Element a;
  Element b;
  int length;
  DotRule rule;
  bool scales;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

enum class Data { any, near, sparse, wide, count };

class FastDot : public testing::TestWithParam<Case> {
 protected:
  std::mt19937 random_{3};

  uint32_t code(Element element, Data data) {
    const int bits = bits_of(element);
    const uint32_t mask = bits == 32 ? ~0U : (1U << bits) - 1;
    const auto draw = [&] { return static_cast<uint32_t>(random_()) & mask; };
    if (data == Data::any) return draw();
    if (data == Data::sparse && random_() % 3 != 0) {
      return static_cast<uint32_t>(random_() % 2) << (bits - 1);
    }
    uint32_t x = draw();
    while (decode(element, x).kind != Exact::Kind::number) x = draw();
    if (data == Data::near && bits >= 16) {
      // Exponents within 16 binades of 1.
      const uint32_t shift = element == Element::f16 ? 10 : element == Element::bf16 ? 7 : 23;
      const uint32_t sign_and_fraction = x & (1U << (bits - 1) | ((1U << shift) - 1));
      const uint32_t bias = element == Element::f16 ? 7 : 119;
      x = sign_and_fraction | (bias + static_cast<uint32_t>(random_() % 16)) << shift;
    }
    return x;
  }
  uint32_t accumulator(Data data) {
    const auto any = static_cast<uint32_t>(random_());
    if (data == Data::any) return any;
    if (random_() % 4 == 0) return any & 0x80000000;
    return (any & 0x807FFFFF) | static_cast<uint32_t>(100 + random_() % 50) << 23;
  }
};

TEST_P(FastDot, BitsOfThePlainModel) {
  const Case& c = GetParam();
  constexpr int kRows = 9;
  constexpr int kColumns = 70;  // more than a block
  for (int trial = 0; trial < 60; ++trial) {
    const auto data = static_cast<Data>(trial % static_cast<int>(Data::count));
    const int scale_c = trial % 3 == 0 ? trial % 16 : 0;
    DotLines a(DotLines::Side::a, c.a, c.length, kRows);
    DotLines b(DotLines::Side::b, c.b, c.length, kColumns);
    std::vector<std::vector<Exact>> exact;
    std::vector<BlockScale> scale;
    const auto fill = [&](DotLines& lines, Element element) {
      for (int line = 0; line < lines.lines(); ++line) {
        std::vector<uint32_t> codes(static_cast<size_t>(c.length));
        std::vector<Exact> row;
        // A line of another kind now and then, so that rare lines stand beside ordinary ones.
        const Data own = random_() % 16 == 0 ? Data::any : data;
        for (uint32_t& x : codes) {
          x = code(element, own);
          row.push_back(decode(element, x));
        }
        BlockScale s;
        if (c.scales) {
          const auto wide = static_cast<int>(random_() % 255) - 127;
          s.exponent = data == Data::wide ? wide : static_cast<int>(random_() % 14) - 7;
          s.not_a_number = random_() % 50 == 0;
        }
        lines.set(line, codes, s);
        exact.push_back(row);
        scale.push_back(s);
      }
    };
    fill(a, c.a);
    fill(b, c.b);
    std::vector<uint32_t> d(kRows * kColumns);
    for (uint32_t& x : d) x = accumulator(data);
    const std::vector<uint32_t> old = d;
    fast_dot(a, b, c.rule, d.data(), kColumns, scale_c);
    for (size_t m = 0; m < kRows; ++m) {
      for (size_t n = 0; n < kColumns; ++n) {
        const BlockScale& x = scale[m];
        const BlockScale& y = scale[kRows + n];
        const uint32_t want =
            fused_dot(exact[m], exact[kRows + n],
                      decode_accumulator(Accumulator::f32, old[m * kColumns + n], scale_c), c.rule,
                      {x.not_a_number || y.not_a_number, x.exponent + y.exponent});
        ASSERT_EQ(d[m * kColumns + n], want) << "trial " << trial << ": " << m << ", " << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FastDot,
    testing::Values(Case{"bf16", Element::bf16, Element::bf16, 16, kDotF32, false},
                    Case{"f16", Element::f16, Element::f16, 16, kDotF32, false},
                    Case{"tf32", Element::tf32, Element::tf32, 8, kDotF32, false},
                    Case{"e4m3", Element::e4m3, Element::e4m3, 32, kDotF32, false},
                    Case{"mxe4m3", Element::e4m3, Element::e4m3, 32, kDotF32, true},
                    Case{"mxe5m2e2m1", Element::e5m2, Element::e2m1, 32, kDotF32, true},
                    Case{"mxe3m2e2m3", Element::e3m2, Element::e2m3, 32, kDotF32, true},
                    Case{"hopper_e4m3", Element::e4m3, Element::e4m3, 32, kHopperFp8, false},
                    Case{"hopper_e5m2", Element::e5m2, Element::e4m3, 32, kHopperFp8, false}),
    [](const auto& instance) { return instance.param.name; });

// Lines whose exponents are far from 0 are moved, not passed to the plain model; the bits are the
// same at both ends of bf16.
TEST(FastDotLines, FarFromOne) {
  for (const uint32_t field : {1U, 20U, 90U, 127U, 165U, 230U, 254U}) {
    DotLines a(DotLines::Side::a, Element::bf16, 16, 1);
    DotLines b(DotLines::Side::b, Element::bf16, 16, 1);
    const std::vector<uint32_t> x(16, field << 7 | 0x41);
    const std::vector<uint32_t> y(16, 0x8000 | 127U << 7 | 0x23);
    a.set(0, x);
    b.set(0, y);
    uint32_t d = 0;
    fast_dot(a, b, kDotF32, &d, 1);
    const std::vector<Exact> p(16, decode(Element::bf16, x[0]));
    const std::vector<Exact> q(16, decode(Element::bf16, y[0]));
    EXPECT_EQ(d, fused_dot(p, q, 0, kDotF32)) << field;
  }
}

}  // namespace
}  // namespace cohort::emu
