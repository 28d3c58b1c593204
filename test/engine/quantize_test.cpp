// Quantised operands and results: padding, tails, layouts, row and column from the same values.
#include <cmath>

#include "engine/gemm_case.h"
#include "numerics/codec.h"
#include "numerics/layout.h"

namespace cohort::test {
namespace {

using numerics::tiled_offset;

std::vector<uint8_t> finite_codes(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> v(static_cast<size_t>(count));
  // 2^-6 .. 2^2 in both signs.
  for (uint8_t& c : v) c = static_cast<uint8_t>((random() & 0x8F) | (random() % 4 + 4) << 3);
  return v;
}

// x (40, 80) and w (2, 24, 80) in MXFP8: three scale columns, one of them partial.
struct MxCase {
  int64_t rows = 40;
  ScaleLayout layout = ScaleLayout::tiled_128x4;
  int padding = 0xFF;
  bool gather = false;
  std::vector<Range> ranges = consecutive({17, 23});

  [[nodiscard]] Graph graph() const {
    Builder g("mx");
    const auto x = g.scaled_input("x", {rows, 80}, Format::mxfp8_e4m3, {.layout = layout});
    const auto w = g.scaled_weights("w", {2, 24, 80}, Format::mxfp8_e4m3);
    const auto ends = g.groups("g", 2, GroupForm::ends);
    Maybe<Index> index;
    if (gather) index = g.index("index", 40);
    g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends, .gather = index}));
    return finish(g);
  }
  void fill(Tensors& t) const {
    t.set("x", finite_codes(rows * 80, 1));
    t.set("w", finite_codes(2 * 24 * 80, 2));
    t.fill("x.scale", padding);
    t.fill("w.scale", padding);
    int64_t before = 0;
    for (size_t g = 0; g < ranges.size(); ++g) {
      for (int64_t r = ranges[g].begin; r < ranges[g].begin + ranges[g].rows; ++r) {
        for (int64_t b = 0; b < 3; ++b)
          t.data<uint8_t>("x.scale")[at(g, before, r, b)] = scale(r, b);
      }
      before += ranges[g].rows;
    }
    for (int64_t i = 0; i < 2 * 24 * 3; ++i) {
      const int64_t n = i / 3 % 24;
      t.data<uint8_t>("w.scale")[i / 72 * 512 + tiled_offset(n, i % 3, 3)] = scale(n, i % 3);
    }
    put_groups(t, "g", GroupForm::ends, DType::i32, ranges);
  }
  static uint8_t scale(int64_t row, int64_t block) {
    return static_cast<uint8_t>(120 + (row * 5 + block * 3) % 11);
  }
  [[nodiscard]] int64_t at(size_t g, int64_t before, int64_t r, int64_t b) const {
    if (layout == ScaleLayout::linear) return r * 3 + b;
    if (layout == ScaleLayout::tiled_128x4) return tiled_offset(r, b, 3);
    const auto group = static_cast<int64_t>(g);
    return tiled_offset((before / 128 + group) * 128 + r - ranges[g].begin, b, 3);
  }
  [[nodiscard]] std::vector<float> run() const {
    Bench b(graph());
    fill(b.tensors);
    b.run_well();
    return b.tensors.values<float>("y");
  }
};

TEST(Scales, PaddingDoesNotMatter) {
  MxCase c;
  const auto want = c.run();
  for (float v : want) ASSERT_TRUE(std::isfinite(v));
  c.padding = 0;
  expect_same_bits(c.run(), want);
}

TEST(Scales, EveryLayoutMeansTheSame) {
  MxCase c;
  const auto want = c.run();
  for (const ScaleLayout l : {ScaleLayout::linear, ScaleLayout::shifted_128}) {
    c.layout = l;
    expect_same_bits(c.run(), want);
  }
}

TEST(Scales, AreGatheredWithTheirRows) {
  MxCase c;
  const auto plain = c.run();
  c.gather = true;
  Bench b(c.graph());
  c.fill(b.tensors);
  std::vector<int32_t> index(40);
  for (int32_t r = 0; r < 40; ++r) index[static_cast<size_t>(r)] = 39 - r;
  b.tensors.set("index", index);
  b.tensors.set<int32_t>("g", {40, 40});
  b.run_well();
  for (int64_t r = 23; r < 40; ++r) {  // token 39 - r is of the first group in both runs
    for (int64_t n = 0; n < 24; ++n) {
      ASSERT_EQ(plain[static_cast<size_t>((39 - r) * 24 + n)],
                b.tensors.data<float>("y")[r * 24 + n]);
    }
  }
}

TEST(Scales, NotANumberReachesItsBlockOnly) {
  MxCase c;
  Bench b(c.graph());
  c.fill(b.tensors);
  b.tensors.data<uint8_t>("x.scale")[tiled_offset(5, 2, 3)] = 0xFF;
  b.run_well();
  const auto want = c.run();
  for (size_t i = 0; i < want.size(); ++i) {
    const float got = b.tensors.data<float>("y")[i];
    if (i / 24 == 5) {
      EXPECT_TRUE(std::isnan(got));
    } else {
      ASSERT_EQ(want[i], got);
    }
  }
}

TEST(Scales, ExtremeScalesDoNotOverflowBeforeTheSum) {
  MxCase c;
  Bench b(c.graph());
  c.fill(b.tensors);
  for (int64_t r = 0; r < 40; ++r) {
    for (int64_t k = 0; k < 3; ++k) {
      b.tensors.data<uint8_t>("x.scale")[tiled_offset(r, k, 3)] = 254;
    }
  }
  for (int64_t e = 0; e < 2; ++e) {
    for (int64_t i = 0; i < 72; ++i) {
      b.tensors.data<uint8_t>("w.scale")[e * 512 + tiled_offset(i / 3, i % 3, 3)] = 0;
    }
  }
  b.run_well();
  MxCase plain;
  Bench p(plain.graph());
  plain.fill(p.tensors);
  for (int64_t r = 0; r < 40; ++r) {
    for (int64_t k = 0; k < 3; ++k) {
      p.tensors.data<uint8_t>("x.scale")[tiled_offset(r, k, 3)] = 127;
    }
  }
  for (int64_t e = 0; e < 2; ++e) {
    for (int64_t i = 0; i < 72; ++i) {
      p.tensors.data<uint8_t>("w.scale")[e * 512 + tiled_offset(i / 3, i % 3, 3)] = 127;
    }
  }
  p.run_well();
  expect_same_bits(b.tensors.values<float>("y"), p.tensors.values<float>("y"));  // 2^127 * 2^-127
}

// ---- results

struct QuantCase {
  int64_t rows = 100;
  int64_t features = 80;
  std::vector<Range> ranges = consecutive({33, 0, 40}, 4);
  Tail tail = Tail::leave;
  Axes axes = Axes::both;
  Format to = Format::mxfp8_e4m3;
  ScaleLayout row = ScaleLayout::tiled_128x4;

  [[nodiscard]] Bench bench(const std::vector<float>& x) const {
    Builder g("quantise");
    const auto in = g.input("x", {rows, features}, DType::f32);
    const auto slots = g.groups("g", static_cast<int64_t>(ranges.size()), GroupForm::boundaries);
    Quantize op{.to = to, .axes = axes};
    if (axes != Axes::col) op.row_layout = row;
    const auto q = g.add(Load{.x = in, .groups = slots}).then(op);
    if (axes != Axes::col) g.output("q", q.row, {.tail = tail});
    if (axes != Axes::row) g.output("t", q.col, {.tail = tail});
    Bench b(finish(g));
    b.tensors.set("x", x);
    put_groups(b.tensors, "g", GroupForm::boundaries, DType::i32, ranges);
    return b;
  }
};

std::vector<float> signal(const QuantCase& c) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(c.rows * c.features));
  for (float& v : x) v = normal(random) * std::ldexp(1.0f, static_cast<int>(random() % 8));
  return x;
}

TEST(Quantised, RowAndColumnComeFromTheSameValues) {
  QuantCase c;
  const auto x = signal(c);
  Bench both = c.bench(x);
  both.run_well();
  for (const bool is_row : {true, false}) {
    c.axes = is_row ? Axes::row : Axes::col;
    Bench one = c.bench(x);
    one.run_well();
    for (const char* part : {"", ".scale"}) {
      const std::string name = std::string(is_row ? "q" : "t") + part;
      EXPECT_EQ(one.tensors.raw(name), both.tensors.raw(name)) << name;
    }
  }
}

// Columns of a group are the rows of its transposed matrix.
TEST(Quantised, ColumnsAreRowsOfTheTransposedGroup) {
  QuantCase c;
  const auto x = signal(c);
  Bench b = c.bench(x);
  b.run_well();
  int64_t base = 0;
  for (const Range& r : c.ranges) {
    if (r.rows == 0) continue;
    QuantCase turned{.rows = c.features,
                     .features = r.rows,
                     .ranges = consecutive({c.features}),
                     .axes = Axes::row};
    std::vector<float> xt(static_cast<size_t>(c.features * r.rows));
    for (int64_t i = 0; i < c.features * r.rows; ++i) {
      xt[static_cast<size_t>(i)] =
          x[static_cast<size_t>((r.begin + i % r.rows) * c.features + i / r.rows)];
    }
    Bench t = turned.bench(xt);
    t.run_well();
    for (int64_t i = 0; i < c.features * r.rows; ++i) {
      ASSERT_EQ(t.tensors.data<uint8_t>("q")[i],
                b.tensors.data<uint8_t>("t")[(r.begin + i % r.rows) * c.features + i / r.rows]);
    }
    const auto scales = t.tensors.raw("q.scale");
    for (size_t i = 0; i < scales.size(); ++i) {
      ASSERT_EQ(scales[i], b.tensors.data<uint8_t>("t.scale")[static_cast<size_t>(base) + i]) << i;
    }
    base += static_cast<int64_t>(scales.size());
  }
}

bool owned(const QuantCase& c, int64_t row) {
  return std::any_of(c.ranges.begin(), c.ranges.end(),
                     [&](const Range& r) { return row >= r.begin && row < r.begin + r.rows; });
}

TEST(Quantised, TailsOfCodesAndScales) {
  for (const Tail tail : {Tail::leave, Tail::zero}) {
    for (const ScaleLayout layout : {ScaleLayout::tiled_128x4, ScaleLayout::linear}) {
      QuantCase c{.tail = tail, .row = layout};
      auto x = signal(c);
      for (int64_t r = 0; r < c.rows; ++r) {
        if (owned(c, r)) continue;
        std::fill_n(x.begin() + r * c.features, c.features,
                    std::numeric_limits<float>::quiet_NaN());
      }
      Bench b = c.bench(x);
      b.run_well();
      const int want = tail == Tail::leave ? kPoison : 0;
      for (int64_t r = 0; r < c.rows; ++r) {
        for (int64_t n = 0; n < c.features; ++n) {
          if (owned(c, r)) {
            ASSERT_NE(0x7F, b.tensors.data<uint8_t>("q")[r * c.features + n] & 0x7F);
            ASSERT_NE(0x7F, b.tensors.data<uint8_t>("t")[r * c.features + n] & 0x7F);
            continue;
          }
          ASSERT_EQ(want, b.tensors.data<uint8_t>("q")[r * c.features + n]) << r;
          ASSERT_EQ(want, b.tensors.data<uint8_t>("t")[r * c.features + n]) << r;
        }
        for (int64_t s = 0; s < 3; ++s) {
          const int64_t at = layout == ScaleLayout::linear ? r * 3 + s : tiled_offset(r, s, 3);
          const uint8_t got = b.tensors.data<uint8_t>("q.scale")[at];
          if (owned(c, r)) {
            ASSERT_TRUE(got != 0 && got != 0xFF);
          } else {
            ASSERT_EQ(want, got) << "row " << r << " scale " << s;
          }
        }
      }
    }
  }
}

TEST(Quantised, PaddingOfScalesIsZero) {
  QuantCase c{.ranges = consecutive({60, 0, 40})};
  Bench b = c.bench(signal(c));
  b.run_well();
  for (int64_t r = 0; r < 128; ++r) {
    for (int64_t s = 0; s < 4; ++s) {
      const uint8_t got = b.tensors.data<uint8_t>("q.scale")[tiled_offset(r, s, 3)];
      ASSERT_EQ(r >= 100 || s >= 3, got == 0) << r << " " << s;
    }
  }
  int64_t base = 0;
  for (const int64_t rows : {60, 40}) {
    for (int64_t n = 0; n < 128; ++n) {
      for (int64_t s = 0; s < 4; ++s) {
        const uint8_t got = b.tensors.data<uint8_t>("t.scale")[base + tiled_offset(n, s, 2)];
        ASSERT_EQ(n >= c.features || s >= (rows + 31) / 32, got == 0) << n << " " << s;
      }
    }
    base += 512;
  }
}

TEST(Quantised, NotANumberStaysInItsBlock) {
  QuantCase c{.ranges = consecutive({60, 0, 40})};
  auto x = signal(c);
  x[static_cast<size_t>(10 * c.features + 40)] = std::numeric_limits<float>::quiet_NaN();
  Bench b = c.bench(x);
  b.run_well();
  for (int64_t n = 0; n < c.features; ++n) {
    const int code = b.tensors.data<uint8_t>("q")[10 * c.features + n] & 0x7F;
    ASSERT_EQ(n / 32 == 1, code == 0x7F) << n;
  }
  EXPECT_EQ(0xFF, b.tensors.data<uint8_t>("q.scale")[tiled_offset(10, 1, 3)]);
  EXPECT_EQ(0xFF, b.tensors.data<uint8_t>("t.scale")[tiled_offset(40, 0, 2)]);
  EXPECT_NE(0xFF, b.tensors.data<uint8_t>("t.scale")[tiled_offset(40, 1, 2)]);
}

// A chain of two products inside one graph: what is kept between them is the quantised value.
TEST(Quantised, SecondProductReadsWhatTheFirstQuantised) {
  for (const Format format : {Format::mxfp8_e4m3, Format::nvfp4, Format::fp8_tensor,
                              Format::fp8_row, Format::fp8_block128}) {
    SCOPED_TRACE(std::string(name(format)));
    const auto build = [&](bool split) {
      Builder g("two");
      const auto x = g.input("x", {50, 64}, DType::f32);
      const auto bounds = g.groups("g", 2, GroupForm::boundaries);
      const auto q = g.add(Load{.x = x, .groups = bounds}).then(Quantize{.to = format});
      if (split) {
        g.output("q", q.row);
        return finish(g);
      }
      const auto w = g.scaled_weights("w", {2, 8, 64}, format);
      g.output("y", g.add(GroupedGemm{.a = q.row, .b = w, .groups = bounds}), {.tail = Tail::zero});
      return finish(g);
    };
    Builder s("second");
    const auto xq = s.scaled_input("x", {50, 64}, format);
    const auto bounds = s.groups("g", 2, GroupForm::boundaries);
    const auto w = s.scaled_weights("w", {2, 8, 64}, format);
    s.output("y", s.add(GroupedGemm{.a = xq, .b = w, .groups = bounds}), {.tail = Tail::zero});
    Bench one(build(false));
    Bench first(build(true));
    Bench second(finish(s));
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> x(50 * 64);
    for (float& v : x) v = normal(random);
    for (Bench* b : {&one, &first}) b->tensors.set("x", x);
    for (Bench* b : {&one, &first, &second}) {
      b->tensors.set<int32_t>("g", {3, 20, 45});
    }
    for (Bench* b : {&one, &second}) {
      const auto codes = static_cast<size_t>(b->tensors.bytes("w"));
      b->tensors.set("w", finite_codes(static_cast<int64_t>(codes), 5));
      if (info(format).scale == DType::f32) {
        b->tensors.set("w.scale",
                       std::vector<float>(static_cast<size_t>(b->tensors.bytes("w.scale")) / 4, 2));
      } else {
        b->tensors.fill("w.scale", 0x38);
      }
    }
    one.run_well();
    first.run_well();
    for (const char* part : {"", ".scale"}) {
      second.tensors.set(std::string("x") + part, first.tensors.raw(std::string("q") + part));
    }
    second.run_well();
    expect_same_bits(one.tensors.values<float>("y"), second.tensors.values<float>("y"));
  }
}

}  // namespace
}  // namespace cohort::test
