// The error bound holds and is small; jitter moves sums by one unit and is the same in every run.
#include "emu/mma/sum_check.h"

#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace cohort::emu {
namespace {

float f32(uint32_t bits) { return std::bit_cast<float>(bits); }

struct Chain {
  Shadow shadow;
  float got = 0;
};

// 64 instructions of 16 bf16 products.
Chain run(std::mt19937& random, int nudge) {
  Chain chain;
  uint32_t d = 0;
  for (int i = 0; i < 64; ++i) {
    std::vector<Exact> a;
    std::vector<Exact> b;
    for (int k = 0; k < 16; ++k) {
      for (std::vector<Exact>* x : {&a, &b}) {
        const auto draw = static_cast<uint32_t>(random());
        x->push_back(decode(Element::bf16, (draw & 0x807F) | (118 + (draw >> 16) % 10) << 7));
      }
    }
    const uint32_t c = d;
    d = fused_dot(a, b, decode_accumulator(Accumulator::f32, c), kDotF32, {}, nudge);
    step(chain.shadow, a, b, c, d, kDotF32);
  }
  chain.got = f32(d);
  return chain;
}

TEST(Shadow, BoundsWhatTheModelGives) {
  std::mt19937 random(5);
  double worst = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Chain chain = run(random, 0);
    ASSERT_TRUE(chain.shadow.allows(chain.got)) << trial;
    EXPECT_LT(chain.shadow.error, 64 * 17 * 0x1p-17);
    worst = std::max(worst, std::abs(chain.got - chain.shadow.value) / chain.shadow.error);
    // As far again as the bound, and a little more.
    EXPECT_FALSE(chain.shadow.allows(
        static_cast<float>(chain.shadow.value + 1.01 * chain.shadow.error + 0x1p-16)));
  }
  // The bound is not so wide that it says nothing: truncation has a direction.
  EXPECT_GT(worst, 0.01);
}

TEST(Shadow, ByHand) {
  const std::array a{decode(Element::f32, std::bit_cast<uint32_t>(3.0f))};
  const std::array b{decode(Element::f32, std::bit_cast<uint32_t>(0.5f))};
  Shadow shadow{.value = 8};
  const uint32_t c = std::bit_cast<uint32_t>(8.0f);
  step(shadow, a, b, c, fused_dot(a, b, c, kDotF32), kDotF32);
  EXPECT_EQ(shadow.value, 9.5);
  EXPECT_EQ(shadow.error, 2 * 0x1p-22 + 0x1p-20 + 2 * 9.5 * 0x1p-53);
  Shadow scaled{.value = 32, .error = 0x1p-10};
  step(scaled, a, b, std::bit_cast<uint32_t>(32.0f), std::bit_cast<uint32_t>(9.5f), kDotF32, {}, 2);
  EXPECT_EQ(scaled.value, 9.5);
  EXPECT_EQ(scaled.error, shadow.error + 0x1p-12);
  step(shadow, a, b, 0x7F800000, 0x7F800000, kDotF32);
  EXPECT_TRUE(std::isinf(shadow.error));
  EXPECT_TRUE(shadow.allows(INFINITY));
}

TEST(Jitter, OneUnitOfTheLastKeptPlace) {
  const std::array one{decode(Element::bf16, 0x3F80), decode(Element::bf16, 0xBF80)};
  const std::array same{decode(Element::bf16, 0x3F80), decode(Element::bf16, 0x3F80)};
  const auto sum = [&](int nudge) {
    return f32(fused_dot(one, same, decode_accumulator(Accumulator::f32, 0), kDotF32, {}, nudge));
  };
  EXPECT_EQ(sum(0), 0);
  EXPECT_EQ(sum(1), 0x1p-25f) << "what cancels shows it";
  EXPECT_EQ(sum(-1), -0x1p-25f);
  std::mt19937 random(5);
  EXPECT_TRUE([&] {
    const Chain chain = run(random, 1);
    return chain.shadow.allows(chain.got);
  }());
}

TEST(Jitter, IsSeeded) {
  std::array<int, 3> counts{};
  int differ = 0;
  for (uint32_t i = 0; i < 3000; ++i) {
    const int x = jitter(1, i / 100, i % 10, i % 100 / 10);
    ASSERT_EQ(x, jitter(1, i / 100, i % 10, i % 100 / 10));
    ++counts[static_cast<size_t>(x + 1)];
    differ += x != jitter(2, i / 100, i % 10, i % 100 / 10) ? 1 : 0;
  }
  for (int count : counts) EXPECT_NEAR(count, 1000, 120);
  EXPECT_NEAR(differ, 2000, 150);
}

}  // namespace
}  // namespace cohort::emu
