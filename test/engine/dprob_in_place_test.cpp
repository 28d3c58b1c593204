// dprob is added to what a buffer holds, in place: the gradient of the probabilities over several
// layers or micro-batches.
#include <cstdlib>
#include <random>

#include "engine/gemm_case.h"
#include "fixtures/findings.h"

namespace cohort::test {
namespace {

// Before the library reads it: more threads than one on any machine.
[[maybe_unused]] const int kFourThreads = ::setenv("COHORT_THREADS", "4", 0);

// The product needs enough work for threads.
constexpr int64_t kRows = 1100, kN = 96, kK = 128;
constexpr int32_t kOwned = 1090;

enum class Op : uint8_t { d_glu, d_relu_squared };

struct Case {
  Op op = Op::d_glu;
  OutputOptions options{};
  bool is_prob_too = false;  ///< The buffer is read as prob, too.

  [[nodiscard]] Graph graph() const {
    Builder g("dprob");
    const auto ends = g.groups("ends", 2, GroupForm::ends);
    const RowVec add = g.row_input("add", kRows);
    const Value y = g.add(GroupedGemm{.a = g.input("x", {kRows, kK}, DType::f32),
                                      .b = g.weights("w", {2, kN, kK}, DType::f32),
                                      .groups = ends});
    const int64_t saved = op == Op::d_glu ? 2 * kN : kN;
    const Value c = g.add(Load{.x = g.input("c", {kRows, saved}, DType::f32), .groups = ends});
    OutputOptions stored = options;
    if (stored.rows) stored.scatter = g.index("to", kRows);
    if (op == Op::d_glu) {
      DGlu d{.c = c, .act = GluAct::swiglu, .packing = Packing::split};
      d.dprob_add = RowTerm(add);
      if (is_prob_too) d.prob = add;
      const DGated made = y.then(d);
      g.output("d", made);
      g.output("dprob", made.dprob, stored);
    } else {
      DReluSquared d{.c = c, .dprob_add = RowTerm(add)};
      if (is_prob_too) d.prob = add;
      const auto made = y.then(d);
      g.output("d", made);
      g.output("dprob", made.dprob, stored);
    }
    return finish(g);
  }
};

std::vector<float> normal(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> distribution;
  std::vector<float> v(static_cast<size_t>(count));
  for (float& x : v) x = distribution(random);
  return v;
}

void fill(Bench& b, int64_t saved) {
  b.tensors.set("x", normal(kRows * kK, 1));
  b.tensors.set("w", normal(2 * kN * kK, 2));
  b.tensors.set("c", normal(kRows * saved, 3));
  b.tensors.set("add", normal(kRows, 4));
  b.tensors.set<int32_t>("ends", {700, kOwned});
}

// Twice, so that the second run reads what the first one wrote.
TEST(DprobInPlace, HasTheBitsOfBuffersOfTheirOwn) {
  for (const Op op : {Op::d_glu, Op::d_relu_squared}) {
    for (const int32_t threads : {1, 4}) {
      for (const Tail tail : {Tail::leave, Tail::zero}) {
        SCOPED_TRACE(std::to_string(threads) + " threads, " + std::string(name(tail)));
        const Case c{.op = op, .options = {.tail = tail}};
        Bench apart(c.graph(), {}, {.sm_limit = threads});
        Bench in_place(c.graph(), {}, {.sm_limit = threads});
        const int64_t saved = op == Op::d_glu ? 2 * kN : kN;
        fill(apart, saved);
        fill(in_place, saved);
        const std::vector<float> before = in_place.tensors.values<float>("add");
        in_place.tensors.view("dprob").data = in_place.tensors.view("add").data;
        for (int run = 0; run < 2; ++run) {
          apart.run_well();
          const Result<Execution> e =
              in_place.plan.bind(in_place.graph, {}, in_place.tensors.all());
          ASSERT_TRUE(e) << e.findings().text();
          Workspace workspace(e->workspace_bytes());
          ASSERT_TRUE(e->run(workspace.data()));
          std::vector<float> wanted = apart.tensors.values<float>("dprob");
          // Rows of no group follow the tail: the buffer's own bytes are what `leave` leaves.
          for (size_t r = kOwned; tail == Tail::leave && r < wanted.size(); ++r) {
            wanted[r] = before[r];
          }
          expect_same_bits(in_place.tensors.values<float>("add"), wanted);
          EXPECT_EQ(in_place.tensors.raw("d"), apart.tensors.raw("d"));
          apart.tensors.set("add", wanted);
        }
      }
    }
  }
}

Findings refused(const Case& c, int64_t shift = 0) {
  Bench b(c.graph());
  b.tensors.view("dprob").data = b.tensors.data<float>("add") + shift;
  const Result<Execution> e = b.plan.bind(b.graph, {}, b.tensors.all());
  EXPECT_FALSE(e);
  return e.findings();
}

TEST(DprobInPlace, NothingElseMayOverlap) {
  const Findings shifted = refused({}, 4);
  EXPECT_EQ(only(shifted).code, "E-OVERLAP");
  const Findings another_type = refused({.options = {.dtype = DType::bf16}});
  EXPECT_EQ(only(another_type).code, "E-OVERLAP");
  const Findings scattered = refused({.options = {.rows = Dim(kRows)}});
  EXPECT_EQ(only(scattered).code, "E-OVERLAP") << "a row would be written before it is read";
  const Findings read_twice = refused({.is_prob_too = true});
  EXPECT_EQ(only(read_twice).code, "E-OVERLAP") << "somebody else reads the buffer";
}

}  // namespace
}  // namespace cohort::test
