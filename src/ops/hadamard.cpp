#include <array>
#include <string>

#include "ir/bound.h"
#include "numerics/codec.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

constexpr int64_t kBlock = 16;

void infer(ir::Infer& c) {
  const auto axis = c.knows("axis") ? c.choice<Axes>("axis") : Axes::both;
  if (c.knows("axis") && axis == Axes::both) {
    c.fail("E-ATTRIBUTE", "axis", -1, "row or col", "both", "one node transforms one axis",
           "let two follow each other");
  }
  const auto through =
      c.knows("round_through") ? c.choice_or<DType>("round_through", DType::bf16) : DType::bf16;
  if (through != DType::bf16 && through != DType::f16) {
    c.fail("E-ATTRIBUTE", "round_through", -1, "bf16 or f16", std::string(name(through)),
           "values are rounded to a type of 16 bits, or not at all");
  }
  if (!c.knows("in") || axis == Axes::both) return;
  const ir::Value& x = c.in();
  const bool row = axis == Axes::row;
  const ir::Extent e = x.shape[row ? 1 : 0];
  // Rows of groups, and of named extents, are known to a run only.
  const bool all_rows =
      x.groups == ir::kNone || ir::is_whole(c.graph().values[static_cast<size_t>(x.groups)]);
  const bool known = row || (all_rows && e.symbol == ir::kNone);
  if (known && (e.symbol != ir::kNone || e.bound % kBlock != 0)) {
    c.fail("E-SHAPE", "in", row ? 1 : 0, "a multiple of 16", c.text(e),
           c.describe(x) + " has no whole blocks of 16");
  }
  if (c.failed()) return;
  ir::Value y = x;
  y.dtype = c.choice_or<DType>("round_through", DType::f32);
  y.accumulator = false;
  c.result(0, y);
}

int64_t row_unit(const ir::Graph& g, const ir::Node& n) {
  return static_cast<Axes>(g.field(n, "axis").integer) == Axes::col ? kBlock : 1;
}

using Block = std::array<double, kBlock>;

// Sylvester's matrix as four passes of sums and differences.
void transform(Block& b) {
  for (size_t half = 1; half < b.size(); half *= 2) {
    for (size_t i = 0; i < b.size(); ++i) {
      if ((i & half) != 0) continue;
      const double sum = b[i] + b[i + half];
      b[i + half] = b[i] - b[i + half];
      b[i] = sum;
    }
  }
}

void map(const ir::Panel& p) {
  const bool row = static_cast<Axes>(p.graph->field(*p.node, "axis").integer) == Axes::row;
  const double factor = p.graph->field(*p.node, "normalised").integer != 0 ? 0.25 : 1;
  const ir::FieldValue& round = p.graph->field(*p.node, "round_through");
  const DType type =
      round.kind == ir::FieldValue::Kind::none ? DType::f32 : static_cast<DType>(round.integer);
  const int64_t in_step = row ? 1 : p.in.stride;
  const int64_t out_step = row ? 1 : p.out[0].stride;
  Block b{};
  for (int64_t r = 0; r < p.rows; r += row ? 1 : kBlock) {
    for (int64_t n = 0; n < p.columns; n += row ? kBlock : 1) {
      const float* x = p.in.data + r * p.in.stride + n;
      float* y = p.out[0].data + r * p.out[0].stride + n;
      for (int64_t i = 0; i < kBlock; ++i) {
        b[static_cast<size_t>(i)] = static_cast<double>(numerics::round_to(type, x[i * in_step]));
      }
      transform(b);
      for (int64_t i = 0; i < kBlock; ++i) {
        const auto f = static_cast<float>(b[static_cast<size_t>(i)] * factor);
        y[i * out_step] = numerics::round_to(type, f);
      }
    }
  }
}

ir::Bound rounded(DType type, ir::Bound x) {
  if (type == DType::f32) return x;
  const auto round = [type](double d) {
    return static_cast<double>(numerics::round_to(type, static_cast<float>(d)));
  };
  return {round(x.low), round(x.high)};
}

// Sylvester's sign: whether i and j share an odd number of bits.
bool is_negative(int64_t i, int64_t j) {
  int64_t both = i & j;
  both ^= both >> 2;
  both ^= both >> 1;
  return (both & 1) != 0;
}

void bound(const ir::BoundPanel& b) {
  const ir::Panel& p = b.low;
  const bool row = static_cast<Axes>(p.graph->field(*p.node, "axis").integer) == Axes::row;
  const double factor = p.graph->field(*p.node, "normalised").integer != 0 ? 0.25 : 1;
  const ir::FieldValue& round = p.graph->field(*p.node, "round_through");
  const DType type =
      round.kind == ir::FieldValue::Kind::none ? DType::f32 : static_cast<DType>(round.integer);
  for (int64_t r = 0; r < p.rows; ++r) {
    for (int64_t n = 0; n < p.columns; ++n) {
      const int64_t at = (row ? n : r) % kBlock;
      ir::RowBound sum;
      for (int64_t j = 0; j < kBlock; ++j) {
        const ir::Bound x = rounded(type, row ? b.in(r, n - at + j) : b.in(r - at + j, n));
        sum.add(is_negative(at, j) ? -x : x);
      }
      const ir::Bound y = sum.finish();
      b.put(0, r, n, rounded(type, {y.low * factor, y.high * factor}));
    }
  }
}

}  // namespace

ir::OpRecord hadamard() {
  ir::OpRecord r = ir::describe(Hadamard{});
  r.infer = infer;
  r.reference = {
      .kind = ir::Reference::Kind::map, .map = map, .row_unit = row_unit, .bound = bound};
  r.device_functor = "Hadamard";
  r.formula = "y = x * H16 over blocks of 16, / 4 when normalised";
  document(r, {{"axis", "blocks of 16 features (row) or of 16 tokens of a group (col)"},
               {"normalised", "divided by 4, so that it is orthonormal"},
               {"round_through", "bf16 or f16: x and y are rounded to it"}});
  return r;
}

}  // namespace cohort::ops
