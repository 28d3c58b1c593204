// EXPECT BAD1: cohort::Groups
// EXPECT BAD2: cohort::Groups
// EXPECT BAD3: cohort::Operand
// EXPECT BAD4: cohort::WeightOperand
// EXPECT BAD5: cohort::Operand
// EXPECT g++ BAD6: WeightOperand
// EXPECT clang++ BAD6: field 'groups'
// EXPECT BAD7: Index>
// EXPECT BAD8: prob
// EXPECT BAD9: cohort::Groups
// EXPECT BAD10: cohort::WeightOperand
// EXPECT BAD11: cohort::Groups
// EXPECT BAD12: cohort::Operand
// EXPECT BAD13: cohort::WeightOperand
#include <cohort/cohort.h>

using namespace cohort;

#ifdef __clang__
// An error in the standard; clang means the same and warns.
#pragma clang diagnostic error "-Wreorder-init-list"
#endif

void use(Builder& g, Tensor x, ScaledTensor q, Weights w, Groups ends, RowVec gate, Index rows) {
  (void)g;
  (void)x;
  (void)q;
  (void)w;
  (void)ends;
  (void)gate;
  (void)rows;
#if defined(BAD1)  // a row vector as groups
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = gate});
#elif defined(BAD2)   // forgotten groups
  auto y = g.add(GroupedGemm{.a = x, .b = w});
#elif defined(BAD3)   // a row vector as operand
  auto y = g.add(GroupedGemm{.a = gate, .b = w, .groups = ends});
#elif defined(BAD4)   // a plain tensor as weights
  auto y = g.add(GroupedGemm{.a = x, .b = x, .groups = ends});
#elif defined(BAD5)   // weights as tokens
  auto y = g.add(GroupedGemm{.a = w, .b = w, .groups = ends});
#elif defined(BAD6)   // fields out of order
  auto y = g.add(GroupedGemm{.a = x, .groups = ends, .b = w});
#elif defined(BAD7)   // groups as gather
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends, .gather = ends});
#elif defined(BAD8)   // a field that does not exist
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends, .prob = gate});
#elif defined(BAD9)   // an index as groups
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = rows});
#elif defined(BAD10)  // a quantised tensor as weights
  auto y = g.add(GroupedGemm{.a = x, .b = q, .groups = ends});
#elif defined(BAD11)  // numbers as groups: an offsets vector of the host
  long offsets[3] = {0, 1, 2};
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = offsets});
#elif defined(BAD12)  // both results of quantize as operand: which one?
  const auto pair =
      g.add(Load{.x = x}).then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  auto y = g.add(GroupedGemm{.a = pair, .b = w, .groups = ends});
#elif defined(BAD13)  // the same as weights
  const auto pair =
      g.add(Load{.x = x}).then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  auto y = g.add(GroupedGemm{.a = x, .b = pair, .groups = ends});
#else
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends, .gather = rows});
  auto z = g.add(GroupedGemm{.a = q, .b = w, .groups = ends});
  const auto pair =
      g.add(Load{.x = x}).then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  auto v = g.add(GroupedGemm{.a = pair.row, .b = w, .groups = ends});
  (void)z;
  (void)v;
#endif
  (void)y;
}
