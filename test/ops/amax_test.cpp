// amax by the halves of a gated layer, in every packing; which packings are refused.
#include "ops/small.h"

namespace cohort::test {
namespace {

// The two maxima of one row in one group.
std::vector<float> halves(const std::vector<float>& x, Packing packing) {
  Small s(1, static_cast<int64_t>(x.size()), {1});
  Bench b = s.bench(s.x.then(Amax{.per = AmaxPer::expert_half, .packing = packing}));
  b.tensors.set("x", x);
  b.run_well();
  return b.tensors.values<float>("y");
}

TEST(Amax, HalvesAreGateAndUp) {
  EXPECT_EQ(halves({1, -2, 5, 3, 4, -6}, Packing::split), (std::vector<float>{5, 6}));
  EXPECT_EQ(halves({1, -2, 5, 3, 4, -6}, Packing::interleaved), (std::vector<float>{5, 6}));
  EXPECT_EQ(halves({7, -2, 5, 3, 4, -6}, Packing::interleaved), (std::vector<float>{7, 6}));
  std::vector<float> x(64, 0);
  x[15] = -3;  // up in bands of 8, gate in bands of 32
  x[48] = 2;   // gate in bands of 8, up in bands of 32
  EXPECT_EQ(halves(x, Packing::bands8), (std::vector<float>{2, 3}));
  EXPECT_EQ(halves(x, Packing::bands32), (std::vector<float>{3, 2}));
}

// What is said of an amax over one row of `columns`.
std::string said(int64_t columns, const Amax& op) {
  Small s(1, columns, {1});
  s.g.output("y", s.x.then(op));
  const Findings findings = std::move(s.g).finish().findings();
  const KeptFinding f = only(findings);
  return f.code + " " + f.field + ": " + f.wanted + ", " + f.got;
}

TEST(Amax, PackingsAreChecked) {
  EXPECT_EQ(said(24, {.per = AmaxPer::expert_half, .packing = Packing::bands8}),
            "E-SHAPE in: a multiple of 16 features, 24");
  EXPECT_EQ(said(5, {.per = AmaxPer::expert_half}), "E-SHAPE in: a multiple of 2 features, 5");
  EXPECT_EQ(said(5, {.per = AmaxPer::expert_half, .packing = Packing::interleaved}),
            "E-SHAPE in: a multiple of 2 features, 5");
  EXPECT_EQ(said(64, {.per = AmaxPer::expert, .packing = Packing::bands32}),
            "E-ATTRIBUTE packing: split, bands32");
}

}  // namespace
}  // namespace cohort::test
