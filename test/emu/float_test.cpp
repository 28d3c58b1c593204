// f32, f64, f16 and bf16 arithmetic: rounding, subnormal numbers, NaN.
#include <cfenv>
#include <cmath>
#include <random>

#include "emu/fixture.h"

namespace cohort::emu::test {
namespace {

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }
float value(uint64_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x)); }

std::vector<In> numbers() {
  const uint32_t edges[] = {0,          0x80000000, 1,          0x80000001, 0x007FFFFF, 0x00800000,
                            0x3F800000, 0xBF800000, 0x3F800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
                            0xFF800000, 0x7FC00000, 0xFFC12345, 0x33800000};
  std::vector<In> in;
  for (const uint32_t a : edges) {
    for (const uint32_t b : edges) in.push_back({a, b, edges[(a + b) % 16]});
  }
  std::mt19937 random(11);
  while (in.size() < 512) in.push_back({random(), random(), random()});
  while (in.size() < 768) {
    // Close exponents, so that sums cancel.
    const uint32_t e = 0x3F000000 + (static_cast<uint32_t>(random()) & 0x81000000);
    in.push_back(
        {e ^ (random() & 0x807FFFFF), e ^ (random() & 0x807FFFFF), e ^ (random() & 0x807FFFFF)});
  }
  return in;
}

uint32_t canonical(float r) { return r != r ? 0x7FFFFFFF : bits(r); }
float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

template <class F>
void expect_each(const std::string& opcode, int count, F f) {
  const std::vector<In> in = numbers();
  const char* operands[] = {"", " %d, %a;", " %d, %a, %b;", " %d, %a, %b, %c;"};
  std::vector<std::string> types(static_cast<size_t>(count) + 1, "b32");
  const auto out = apply(opcode + operands[count], types, in);
  for (size_t i = 0; i < in.size(); ++i) {
    const uint32_t want = f(value(in[i].a), value(in[i].b), value(in[i].c));
    ASSERT_EQ(static_cast<uint32_t>(out[i]), want)
        << opcode << std::hex << " of " << in[i].a << ", " << in[i].b << ", " << in[i].c;
  }
}

// f32 rounding of an exact or nearly exact f64, in a direction: through neighbours.
uint32_t directed(long double exact, int mode) {
  auto r = static_cast<float>(exact);  // nearest, from 64 bits of significand
  if (std::isnan(r)) return 0x7FFFFFFF;
  if (std::isinf(exact)) return bits(r);
  const auto down = [&] { return std::nextafterf(r, -INFINITY); };
  const auto up = [&] { return std::nextafterf(r, INFINITY); };
  if (mode == FE_DOWNWARD && static_cast<long double>(r) > exact) r = down();
  if (mode == FE_UPWARD && static_cast<long double>(r) < exact) r = up();
  if (mode == FE_TOWARDZERO && exact > 0 && static_cast<long double>(r) > exact) r = down();
  if (mode == FE_TOWARDZERO && exact < 0 && static_cast<long double>(r) < exact) r = up();
  return bits(r);
}

TEST(Float, RoundsOnceToNearest) {
  expect_each("add.f32", 2, [](float a, float b, float) { return canonical(a + b); });
  expect_each("sub.rn.f32", 2, [](float a, float b, float) { return canonical(a - b); });
  expect_each("mul.f32", 2, [](float a, float b, float) { return canonical(a * b); });
  expect_each("fma.rn.f32", 3,
              [](float a, float b, float c) { return canonical(std::fmaf(a, b, c)); });
  expect_each("div.rn.f32", 2, [](float a, float b, float) { return canonical(a / b); });
  expect_each("sqrt.rn.f32", 1, [](float a, float, float) { return canonical(std::sqrt(a)); });
  expect_each("rcp.rn.f32", 1, [](float a, float, float) { return canonical(1.0f / a); });
}

TEST(Float, RoundsInEachDirection) {
  const struct {
    const char* name;
    int mode;
  } kModes[] = {{"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
  for (const auto& m : kModes) {
    expect_each(std::string("mul.") + m.name + ".f32", 2, [&](float a, float b, float) {
      const long double exact = static_cast<long double>(a) * b;
      if (exact == 0 && a != 0 && b != 0) return 0xDEADBEEF;  // no long double is that small
      return exact == 0 ? bits(a * b) : directed(exact, m.mode);
    });
  }
  // Sums whose exact value fits in 64 bits.
  const auto in = std::vector<In>{{bits(1.0f), bits(0x1p-30f), 0},
                                  {bits(-1.0f), bits(0x1p-30f), 0},
                                  {bits(1.0f), bits(-0x1p-30f), 0},
                                  {bits(1.0f), bits(-1.0f), 0}};
  const auto up = apply("add.rp.f32 %d, %a, %b;", {"b32", "b32", "b32"}, in);
  EXPECT_EQ(up, (std::vector<uint64_t>{0x3F800001, bits(-0x1.fffffep-1f), 0x3F800000, 0}));
  const auto down = apply("add.rm.f32 %d, %a, %b;", {"b32", "b32", "b32"}, in);
  EXPECT_EQ(down,
            (std::vector<uint64_t>{0x3F800000, 0xBF800000, bits(0x1.fffffep-1f), 0x80000000}));
}

TEST(Float, FlushesAndSaturates) {
  expect_each("add.ftz.f32", 2,
              [](float a, float b, float) { return canonical(flushed(flushed(a) + flushed(b))); });
  expect_each("fma.rn.ftz.f32", 3, [](float a, float b, float c) {
    return canonical(flushed(std::fmaf(flushed(a), flushed(b), flushed(c))));
  });
  expect_each("mul.sat.f32", 2, [](float a, float b, float) {
    const float r = a * b;
    return bits(r > 0 ? std::min(r, 1.0f) : 0.0f);
  });
}

TEST(Float, OrdersNumbersAndNan) {
  const auto lesser = [](float a, float b) {
    if (a != a) return b;
    if (b != b) return a;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
  };
  expect_each("min.f32", 2, [&](float a, float b, float) { return canonical(lesser(a, b)); });
  expect_each("max.f32", 2, [&](float a, float b, float) { return canonical(-lesser(-a, -b)); });
  expect_each("max.NaN.f32", 2, [&](float a, float b, float) {
    return a != a || b != b ? 0x7FFFFFFF : canonical(-lesser(-a, -b));
  });
  expect_each("min.xorsign.abs.f32", 2, [&](float a, float b, float) {
    const float m = lesser(std::fabs(a), std::fabs(b));
    return m != m ? 0x7FFFFFFF : bits(std::signbit(a) != std::signbit(b) ? -m : m);
  });
}

TEST(Float, ApproximatesWithinWhatTheTextAllows) {
  // The relative errors of the PTX text; results here are far better.
  const auto check = [](const char* opcode, double (*f)(double), float low, float high,
                        double allowed) {
    std::vector<In> in;
    for (int k = 0; k < 500; ++k) {
      in.push_back({bits(low + (high - low) * static_cast<float>(k) / 499), 0, 0});
    }
    const auto out = apply(std::string(opcode) + " %d, %a;", {"b32", "b32"}, in);
    for (size_t i = 0; i < in.size(); ++i) {
      const double want = f(value(in[i].a));
      ASSERT_NEAR(value(out[i]), want, allowed * std::max(1.0, std::fabs(want))) << opcode;
    }
  };
  check(
      "ex2.approx.f32", [](double x) { return std::exp2(x); }, -20, 20, 0x1p-22);
  check(
      "lg2.approx.f32", [](double x) { return std::log2(x); }, 0.01f, 100, 0x1p-22);
  check(
      "sin.approx.f32", [](double x) { return std::sin(x); }, -3, 3, 0x1p-20);
  check(
      "tanh.approx.f32", [](double x) { return std::tanh(x); }, -3, 3, 0x1p-11);
  check(
      "rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }, 0.01f, 100, 0x1p-22);
}

TEST(Float, WorksOnPairs) {
  std::vector<In> in;
  for (const In& i : numbers()) in.push_back({i.a << 32 | i.b, i.b << 32 | i.c, i.c << 32 | i.a});
  const auto out = apply("fma.rn.f32x2 %d, %a, %b, %c;", {"b64", "b64", "b64", "b64"}, in);
  for (size_t i = 0; i < in.size(); ++i) {
    const uint32_t low = canonical(std::fmaf(value(in[i].a), value(in[i].b), value(in[i].c)));
    const uint32_t high =
        canonical(std::fmaf(value(in[i].a >> 32), value(in[i].b >> 32), value(in[i].c >> 32)));
    ASSERT_EQ(out[i], uint64_t{high} << 32 | low) << std::hex << in[i].a;
  }
}

TEST(Double, RoundsToNearestAndInDirections) {
  std::vector<In> in;
  std::mt19937_64 random(2);
  for (int k = 0; k < 400; ++k) {
    const double a =
        std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 40) - 80);
    const double b =
        std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 40) - 80);
    in.push_back(
        {std::bit_cast<uint64_t>(a), std::bit_cast<uint64_t>(-b), std::bit_cast<uint64_t>(b)});
  }
  const auto d = [](uint64_t x) { return std::bit_cast<double>(x); };
  const auto sum = apply("add.f64 %d, %a, %b;", {"b64", "b64", "b64"}, in);
  const auto fma = apply("fma.rn.f64 %d, %a, %b, %c;", {"b64", "b64", "b64", "b64"}, in);
  const auto up = apply("mul.rp.f64 %d, %a, %c;", {"b64", "b64", "b64", "b64"}, in);
  const auto down = apply("mul.rm.f64 %d, %a, %c;", {"b64", "b64", "b64", "b64"}, in);
  for (size_t i = 0; i < in.size(); ++i) {
    const double a = d(in[i].a);
    const double b = d(in[i].b);
    const double c = d(in[i].c);
    ASSERT_EQ(d(sum[i]), a + b);
    ASSERT_EQ(d(fma[i]), std::fma(a, b, c));
    const double product = a * c;
    const double error = std::fma(a, c, -product);
    ASSERT_EQ(d(up[i]), error > 0 ? std::nextafter(product, INFINITY) : product);
    ASSERT_EQ(d(down[i]), error < 0 ? std::nextafter(product, -INFINITY) : product);
  }
}

TEST(Half, RoundsOnce) {
  // 1 + 2^-11 is a tie; a product beneath it decides, however small: rounding twice would not see
  // it.
  const auto out = apply("fma.rn.f16 %d, %a, %b, %c;", {"b16", "b16", "b16", "b16"},
                         {{0x3C01, 0x1000, 0x3C00},
                          {0x3C00, 0x1000, 0x3C00},
                          {0x3C01, 0x9000, 0x3C01},
                          {0x7BFF, 0x4000, 0x0000},
                          {0x7E00, 0x3C00, 0x3C00}});
  EXPECT_EQ(out, (std::vector<uint64_t>{0x3C01, 0x3C00, 0x3C00, 0x7C00, 0x7FFF}));
  const auto bf = apply("add.bf16x2 %d, %a, %b;", {"b32", "b32", "b32"},
                        {{0x3F803F80, 0x3F803B80, 0}, {0x7F7F0001, 0x7F7F0001, 0}});
  EXPECT_EQ(bf, (std::vector<uint64_t>{0x40003F80, 0x7F800002}));
  const auto relu = apply("fma.rn.relu.f16x2 %d, %a, %b, %c;", {"b32", "b32", "b32", "b32"},
                          {{0x3C00BC00, 0x3C003C00, 0}});
  EXPECT_EQ(relu, std::vector<uint64_t>{0x3C000000});
}

TEST(Compare, KnowsOrderedAndUnordered) {
  const float nan = std::bit_cast<float>(0x7FC00000);
  const std::vector<In> in = {
      {bits(1), bits(2), 0}, {bits(2), bits(2), 0}, {bits(3), bits(2), 0}, {bits(nan), bits(2), 0}};
  const struct {
    const char* op;
    std::vector<uint64_t> want;
  } kCases[] = {{"eq", {0, 1, 0, 0}},  {"ne", {1, 0, 1, 0}},  {"lt", {1, 0, 0, 0}},
                {"le", {1, 1, 0, 0}},  {"gt", {0, 0, 1, 0}},  {"ge", {0, 1, 1, 0}},
                {"equ", {0, 1, 0, 1}}, {"neu", {1, 0, 1, 1}}, {"ltu", {1, 0, 0, 1}},
                {"leu", {1, 1, 0, 1}}, {"gtu", {0, 0, 1, 1}}, {"geu", {0, 1, 1, 1}},
                {"num", {1, 1, 1, 0}}, {"nan", {0, 0, 0, 1}}};
  for (const auto& c : kCases) {
    const std::string setp = std::string("setp.") + c.op + ".f32 %p|%q, %a, %b;\n";
    EXPECT_EQ(apply(setp + "selp.b32 %d, 1, 0, %p;", {"b32", "b32", "b32"}, in), c.want) << c.op;
    std::vector<uint64_t> turned;
    for (const uint64_t v : c.want) turned.push_back(1 - v);
    EXPECT_EQ(apply(setp + "selp.b32 %d, 1, 0, %q;", {"b32", "b32", "b32"}, in), turned) << c.op;
  }
}

TEST(Compare, KnowsSignsAndCombines) {
  const std::vector<In> in = {{0xFFFFFFFF, 1, 0}, {1, 0xFFFFFFFF, 0}, {5, 5, 0}};
  const std::vector<std::string> types = {"b32", "b32", "b32"};
  const std::string pick = "selp.b32 %d, 1, 0, %p;";
  EXPECT_EQ(apply("setp.lt.s32 %p, %a, %b;\n" + pick, types, in), (std::vector<uint64_t>{1, 0, 0}));
  EXPECT_EQ(apply("setp.lt.u32 %p, %a, %b;\n" + pick, types, in), (std::vector<uint64_t>{0, 1, 0}));
  EXPECT_EQ(apply("setp.hi.u32 %p, %a, %b;\n" + pick, types, in), (std::vector<uint64_t>{1, 0, 0}));
  EXPECT_EQ(apply("setp.eq.b32 %q, %a, 5;\nsetp.lt.or.s32 %p, %a, %b, %q;\n" + pick, types, in),
            (std::vector<uint64_t>{1, 0, 1}));
  EXPECT_EQ(apply("setp.eq.b32 %q, %a, 5;\nsetp.ge.and.s32 %p, %a, %b, !%q;\n" + pick, types, in),
            (std::vector<uint64_t>{0, 1, 0}));
  EXPECT_EQ(apply("set.eq.u32.s32 %d, %a, %b;", types, in),
            (std::vector<uint64_t>{0, 0, 0xFFFFFFFF}));
  EXPECT_EQ(apply("slct.b32.s32 %d, 7, %b, %a;", types, in), (std::vector<uint64_t>{1, 7, 7}));
}

}  // namespace
}  // namespace cohort::emu::test
