// What users of other libraries ran into, as their reports say; each names its origin.
#include <cmath>

#include <cohort/numerics.h>

#include "engine/gemm_case.h"
#include "fixtures/findings.h"

namespace cohort::test {
namespace {

// pytorch#193633, #154557: a buffer of 1024 rows of which 640 are used; the tails are NaN.
TEST(UserCases, TailOfABufferReachesNothing) {
  for (const Tail tail : {Tail::leave, Tail::zero}) {
    GemmCase c;
    c.rows = 1024;
    c.ranges = consecutive({200, 0, 440});
    c.tail = tail;
    c.x = whole_numbers(c.rows * c.sum, 1);
    c.poison_unowned();
    const std::vector<float> y = c.run();
    expect_same_bits(y, c.expected());
    for (int64_t i = 0; i < 640 * c.features; ++i) {
      ASSERT_TRUE(std::isfinite(y[static_cast<size_t>(i)]));
    }
  }
}

std::vector<uint16_t> bf16(const std::vector<float>& x) {
  std::vector<uint16_t> y(x.size());
  EXPECT_TRUE(encode(DType::bf16, x.data(), static_cast<int64_t>(x.size()),
                     reinterpret_cast<std::byte*>(y.data())));
  return y;
}

// pytorch#193633, #154557: the same forward in bf16, whose tail is zeroed or left as it was.
TEST(UserCases, TailOfABufferReachesNothingInBf16) {
  GemmCase c;
  c.rows = 1024;
  c.ranges = consecutive({200, 0, 440});
  c.x = whole_numbers(c.rows * c.sum, 1);
  c.poison_unowned();
  for (const Tail tail : {Tail::leave, Tail::zero}) {
    Builder g("forward");
    const Dim t = g.dynamic("T", 4096);
    const GroupedGemm product{.a = g.input("x", {t, c.sum}, DType::bf16),
                              .b = g.weights("w", {c.experts, c.features, c.sum}, DType::bf16),
                              .groups = g.groups("g", 3, GroupForm::ends)};
    g.output("y", g.add(product), {.dtype = DType::bf16, .tail = tail});
    Bench bench(finish(g), {{"T", c.rows}});
    bench.tensors.set("x", bf16(c.x));
    bench.tensors.set("w", bf16(c.w));
    put_groups(bench.tensors, "g", GroupForm::ends, DType::i32, c.ranges);
    bench.run_well();
    std::vector<uint16_t> wanted = bf16(c.expected());
    std::memset(wanted.data() + 640 * c.features, tail == Tail::zero ? 0 : kPoison,
                static_cast<size_t>(2 * 384 * c.features));
    const auto y = bench.tensors.values<uint16_t>("y");
    EXPECT_TRUE(y == wanted) << name(tail);
    for (int64_t i = 0; i < 640 * c.features; ++i) {
      ASSERT_NE(y[static_cast<size_t>(i)] & 0x7F80, 0x7F80) << i << " is not finite";
    }
  }
}

// pytorch#193633, #154557: the gradient by the tokens reads the weights across, all in bf16.
TEST(UserCases, TailOfABufferReachesNoGradientInBf16) {
  GemmCase c;
  c.rows = 1024;
  c.ranges = consecutive({200, 0, 440});
  c.x = whole_numbers(c.rows * c.sum, 1);
  c.poison_unowned();
  // Of the forward, (E, sum, features): n is what runs fastest.
  std::vector<float> stored(c.w.size());
  for (int64_t i = 0; i < static_cast<int64_t>(stored.size()); ++i) {
    const int64_t n = i / c.sum % c.features;
    const int64_t expert = i / (c.sum * c.features);
    stored[static_cast<size_t>((expert * c.sum + i % c.sum) * c.features + n)] =
        c.w[static_cast<size_t>(i)];
  }
  for (const Tail tail : {Tail::leave, Tail::zero}) {
    Builder g("dgrad");
    const Dim t = g.dynamic("T", 4096);
    const Shape shape{c.experts, c.features, c.sum};
    const GroupedGemm dgrad{.a = g.input("dy", {t, c.sum}, DType::bf16),
                            .b = g.weights("w", shape, DType::bf16, {.major = Major::n}),
                            .groups = g.groups("g", 3, GroupForm::ends)};
    g.output("dx", g.add(dgrad), {.dtype = DType::bf16, .tail = tail});
    Bench bench(finish(g), {{"T", c.rows}});
    bench.tensors.set("dy", bf16(c.x));
    bench.tensors.set("w", bf16(stored));
    put_groups(bench.tensors, "g", GroupForm::ends, DType::i32, c.ranges);
    bench.run_well();
    std::vector<uint16_t> wanted = bf16(c.expected());
    const int poison = tail == Tail::zero ? 0 : kPoison;
    std::memset(wanted.data() + 640 * c.features, poison,
                static_cast<size_t>(2 * 384 * c.features));
    EXPECT_TRUE(bench.tensors.values<uint16_t>("dx") == wanted) << name(tail);
  }
}

// torchtitan#1166, DeepGEMM#103: the empty expert first, in the middle, last, twice, all but one.
TEST(UserCases, EmptyExpertAnywhere) {
  const std::vector<std::vector<size_t>> empty{{0}, {4}, {7}, {3, 4}, {0, 1, 2, 3, 4, 5, 7}, {}};
  for (const std::vector<size_t>& none : empty) {
    std::vector<int64_t> sizes(8, 16);
    for (const size_t e : none) sizes[e] = 0;
    GemmCase c;
    c.experts = 8;
    c.rows = 128;
    c.ranges = consecutive(sizes);
    c.x = whole_numbers(c.rows * c.sum, 1);
    c.w = whole_numbers(c.experts * c.features * c.sum, 2);
    expect_same_bits(c.run(), c.expected());
  }
}

// FlagGems#4471, TE#1146: rows of stride 65, a base two bytes off, a transposed operand of 13 rows,
// one row. Each is served as declared, or refused at bind by name; nothing is copied in silence.
TEST(UserCases, OddStridesAndBases) {
  struct Odd {
    int64_t rows;
    Strides strides;
    int64_t alignment;
    int64_t shift;  ///< Bytes past an aligned address.
    const char* refusal;
  };
  const Odd all[] = {{64, {65, 1}, 16, 0, nullptr},
                     {64, {65, 1}, 16, 2, "a multiple of 16 bytes"},
                     {64, {65, 1}, 2, 2, nullptr},
                     {13, {1, 13}, 16, 0, nullptr},
                     {1, {64, 1}, 16, 0, nullptr}};
  for (const Odd& odd : all) {
    Builder g("odd");
    const auto x = g.input("x", {odd.rows, 64}, DType::bf16,
                           {.strides = odd.strides, .alignment = odd.alignment});
    const auto w = g.weights("w", {1, 3, 64}, DType::bf16);
    g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = g.groups("g", 1, GroupForm::ends)}));
    Bench bench(finish(g));
    const std::vector<float> numbers = whole_numbers(odd.rows * 64, 3);
    const std::vector<float> weights = whole_numbers(3 * 64, 4);
    std::vector<uint16_t> memory(64 * 66 + 64);
    auto* base = reinterpret_cast<std::byte*>(memory.data());
    base += 64 - reinterpret_cast<uintptr_t>(base) % 64 + static_cast<uintptr_t>(odd.shift);
    for (int64_t r = 0; r < odd.rows; ++r) {
      for (int64_t k = 0; k < 64; ++k) {
        ASSERT_TRUE(encode(DType::bf16, &numbers[static_cast<size_t>(r * 64 + k)], 1,
                           base + 2 * (r * odd.strides[0] + k * odd.strides[1])));
      }
    }
    ASSERT_TRUE(encode(DType::bf16, weights.data(), 3 * 64, bench.tensors.data<std::byte>("w")));
    bench.tensors.set<int32_t>("g", {static_cast<int32_t>(odd.rows)});
    bench.tensors.view("x").data = base;
    const std::vector<NamedTensor> views = bench.tensors.all();
    Result<Execution> e = bench.plan.bind(bench.graph, {}, views);
    if (odd.refusal != nullptr) {
      ASSERT_FALSE(e);
      const auto f = only(e.findings());
      EXPECT_EQ(f.code, "E-ALIGNMENT");
      EXPECT_EQ(f.op, "x");
      EXPECT_EQ(f.wanted, odd.refusal);
      continue;
    }
    ASSERT_TRUE(e) << e.findings().text();
    ASSERT_TRUE(e->run(nullptr));
    const auto* y = bench.tensors.data<float>("y");
    for (int64_t r = 0; r < odd.rows; ++r) {
      for (int64_t n = 0; n < 3; ++n) {
        float sum = 0;
        for (int64_t k = 0; k < 64; ++k) {
          sum +=
              numbers[static_cast<size_t>(r * 64 + k)] * weights[static_cast<size_t>(n * 64 + k)];
        }
        EXPECT_EQ(y[r * 3 + n], sum) << r << " " << n;
      }
    }
  }
}

// flashinfer#3559: the same 8 rows alone and as the first 8 of 64.
TEST(UserCases, RowsAloneOrAmongOthers) {
  GemmCase few;
  few.rows = 8;
  few.experts = 1;
  few.features = 70;
  few.sum = 300;
  few.ranges = consecutive({8});
  few.w = whole_numbers(few.features * few.sum, 2);
  for (float& f : few.w) f *= 0.1f;
  GemmCase many = few;
  many.rows = 64;
  many.ranges = consecutive({64});
  many.x = whole_numbers(many.rows * many.sum, 1);
  for (float& f : many.x) f *= 0.3f;
  few.x.assign(many.x.begin(), many.x.begin() + few.rows * few.sum);
  const PlanOptions options{.batch_invariant = true};
  std::vector<float> y = many.run(options);
  y.resize(static_cast<size_t>(few.rows * few.features));
  expect_same_bits(few.run(options), y);
}

// What a code of e2m1 says.
double e2m1_value(uint8_t code) {
  constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (code & 8) != 0 ? -kMagnitudes[code & 7] : kMagnitudes[code & 7];
}

// A matrix (rows, 32) in MXFP4: one scale a row, and every element its own code.
struct Mxfp4Rows {
  std::vector<uint8_t> codes, exponents;

  Mxfp4Rows(int64_t rows, uint32_t seed) {
    std::mt19937 random(seed);
    for (int64_t i = 0; i < rows * 32; ++i) codes.push_back(static_cast<uint8_t>(random() % 16));
    for (int64_t i = 0; i < rows; ++i) {
      exponents.push_back(static_cast<uint8_t>(124 + random() % 7));
    }
  }
  [[nodiscard]] double at(int64_t row, int64_t k) const {
    return std::ldexp(e2m1_value(codes[static_cast<size_t>(row * 32 + k)]),
                      exponents[static_cast<size_t>(row)] - 127);
  }
  // The lower half of a byte is the even element.
  void put(Tensors& t, const std::string& name, ScaleLayout layout) const {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i < codes.size(); i += 2) {
      bytes.push_back(static_cast<uint8_t>(codes[i] | codes[i + 1] << 4));
    }
    t.set(name, bytes);
    t.fill(name + ".scale", 0xFF);  // padding is NaN
    for (size_t r = 0; r < exponents.size(); ++r) {
      const size_t tiled = r / 128 * 512 + r % 32 * 16 + r % 128 / 32 * 4;
      const size_t place = layout == ScaleLayout::linear ? r : tiled;
      ASSERT_LT(static_cast<int64_t>(place), t.bytes(name + ".scale"));
      t.data<uint8_t>(name + ".scale")[place] = exponents[r];
    }
  }
};

// triton#10343, #10385: MXFP4 weights with K = 32, below any tile, and N = 258. Every sum is a
// multiple of 2^-8 below 2^16: all of them are exact.
TEST(UserCases, Mxfp4OfOneBlockAndOddWidth) {
  for (const ScaleLayout layout : {ScaleLayout::linear, ScaleLayout::tiled_128x4}) {
    SCOPED_TRACE(std::string(name(layout)));
    Builder g("narrow");
    const auto x = g.scaled_input("x", {3, 32}, Format::mxfp4, {.layout = layout});
    const auto w = g.scaled_weights("w", {1, 258, 32}, Format::mxfp4, {.layout = layout});
    g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = g.groups("g", 1, GroupForm::ends)}));
    Bench bench(finish(g));
    const Mxfp4Rows tokens(3, 1);
    const Mxfp4Rows weights(258, 2);
    tokens.put(bench.tensors, "x", layout);
    weights.put(bench.tensors, "w", layout);
    bench.tensors.set<int32_t>("g", {3});
    bench.run_well();
    const auto y = bench.tensors.values<float>("y");
    ASSERT_EQ(y.size(), 3u * 258);
    for (int64_t i = 0; i < 3 * 258; ++i) {
      double want = 0;
      for (int64_t k = 0; k < 32; ++k) want += tokens.at(i / 258, k) * weights.at(i % 258, k);
      EXPECT_EQ(static_cast<double>(y[static_cast<size_t>(i)]), want) << i / 258 << " " << i % 258;
    }
  }
}

// TE#2924, TE#3518: scales of a 64x64 MXFP8 tensor, compact and tiled, are not the same buffer.
TEST(UserCases, CompactAndTiledScalesDiffer) {
  EXPECT_EQ(*scale_bytes(ScaleLayout::linear, 64, 64, 32), 64 * 2);
  EXPECT_EQ(*scale_bytes(ScaleLayout::tiled_128x4, 64, 64, 32), 128 * 4);
  Builder g("tiled");
  const auto x = g.scaled_input("x", {64, 64}, Format::mxfp8_e4m3);
  g.output("y", g.add(Load{.x = x}));
  Bench bench(finish(g));
  TensorView& scale = bench.tensors.view("x.scale");
  scale = TensorView::packed(scale.data, DType::e8m0, {64, 2});
  const auto e = bench.plan.bind(bench.graph, {}, bench.tensors.all());
  ASSERT_FALSE(e);
  const auto f = only(e.findings());
  EXPECT_EQ(f.code, "E-SHAPE");
  EXPECT_EQ(f.op, "x.scale");
  EXPECT_EQ(f.wanted, "[512]");
  EXPECT_EQ(f.got, "[64, 2]");
}

}  // namespace
}  // namespace cohort::test
