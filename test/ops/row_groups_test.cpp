// A computed row vector has the groups of the rows that it was summed over: it serves no value of
// other groups, as whose rows are the holes of a buffer would differ.
#include "ops/small.h"

namespace cohort::test {
namespace {

constexpr int64_t kRows = 6, kN = 4;

// Two values of 6 rows, and dprob of the first.
struct TwoGroups {
  Builder g{"two"};
  Groups a = g.groups("a", 2, GroupForm::ends);
  Groups b = g.groups("b", 2, GroupForm::boundaries);
  Value of_a = load("x", kN, a);
  Value of_b = load("y", kN, b);
  Value of_none = g.add(Load{.x = g.input("z", {kRows, kN}, DType::f32)});
  RowVec dprob = of_a.then(DReluSquared{.c = load("c", kN, a)}).dprob;

  TwoGroups() {
    g.output("of_a", of_a);
    g.output("of_b", of_b);
    g.output("of_none", of_none);
    g.output("dprob", dprob);
  }
  Value load(const char* name, int64_t columns, const Groups& groups) {
    return g.add(Load{.x = g.input(name, {kRows, columns}, DType::f32), .groups = groups});
  }
  Value product(const Groups& groups) {
    return g.add(GroupedGemm{.a = g.input("p", {kRows, kN}, DType::f32),
                             .b = g.weights("w", {2, kN, kN}, DType::f32),
                             .groups = groups});
  }
};

struct Use {
  const char* op;
  const char* field;
  Handle (*make)(TwoGroups& t, bool same);
};

DGlu glu_backward(const Value& c) {
  return {.c = c, .act = GluAct::swiglu, .packing = Packing::split};
}

const Use kUses[] = {
    {"row_gate", "by",
     [](TwoGroups& t, bool same) -> Handle {
       return (same ? t.of_a : t.of_b).then(RowGate{.by = t.dprob});
     }},
    {"row_scale", "by",
     [](TwoGroups& t, bool same) -> Handle {
       return t.product(same ? t.a : t.b).then(RowScale{.by = t.dprob});
     }},
    {"bias", "scaled_by",
     [](TwoGroups& t, bool same) -> Handle {
       const GroupMat m = t.g.group_matrix("m", {2, kN});
       return (same ? t.of_a : t.of_b).then(Bias{.by = m, .scaled_by = t.dprob});
     }},
    {"d_bias", "scaled_by",
     [](TwoGroups& t, bool same) -> Handle {
       return (same ? t.of_a : t.of_b).then(DBias{.scaled_by = t.dprob});
     }},
    {"d_glu", "prob",
     [](TwoGroups& t, bool same) -> Handle {
       DGlu op = glu_backward(t.load("saved", 2 * kN, same ? t.a : t.b));
       op.prob = t.dprob;
       return (same ? t.of_a : t.of_b).then(op);
     }},
    // The groups of the saved input are those of the results when the value has none.
    {"d_glu", "dprob_add",
     [](TwoGroups& t, bool same) -> Handle {
       DGlu op = glu_backward(t.load("saved", 2 * kN, same ? t.a : t.b));
       op.dprob_add = RowTerm(t.dprob);
       return t.of_none.then(op).dprob;
     }},
    {"d_relu_squared", "prob",
     [](TwoGroups& t, bool same) -> Handle {
       const Value& v = same ? t.of_a : t.of_b;
       return v.then(DReluSquared{.c = v, .prob = t.dprob});
     }},
    {"d_relu_squared", "dprob_add",
     [](TwoGroups& t, bool same) -> Handle {
       const Value& v = same ? t.of_a : t.of_b;
       return v.then(DReluSquared{.c = v, .dprob_add = RowTerm(t.dprob)}).dprob;
     }},
    {"binary", "by",
     [](TwoGroups& t, bool same) -> Handle {
       return (same ? t.of_a : t.of_b).then(Binary{.mode = BinaryMode::mul, .by = t.dprob});
     }},
    {"compare", "by",
     [](TwoGroups& t, bool same) -> Handle {
       return (same ? t.of_a : t.of_b).then(Compare{.mode = CompareMode::lt, .by = t.dprob});
     }},
    // The other operand decides which groups a value without groups gets.
    {"select", "if_false",
     [](TwoGroups& t, bool same) -> Handle {
       return t.of_none.then(Select{.if_true = same ? t.of_a : t.of_b, .if_false = t.dprob});
     }},
};

TEST(RowGroups, OtherGroupsAreRefused) {
  for (const Use& use : kUses) {
    SCOPED_TRACE(std::string(use.op) + "." + use.field);
    TwoGroups t;
    t.g.output("out", use.make(t, false));
    const Findings findings = std::move(t.g).finish().findings();
    const KeptFinding f = only(findings);
    EXPECT_EQ(f.code, "E-GROUPS");
    EXPECT_EQ(f.op, use.op);
    EXPECT_EQ(f.field, use.field);
    EXPECT_TRUE(has(f.wanted, "b")) << f.wanted;
    EXPECT_TRUE(has(f.got, "a")) << f.got;
  }
}

// A value without groups takes those of the row vector, as it takes those of a matrix: a row that
// no group owns has no number to be multiplied with.
const Use kUngrouped[] = {
    {"row_gate", "by",
     [](TwoGroups& t, bool) -> Handle { return t.of_none.then(RowGate{.by = t.dprob}); }},
    {"row_scale", "by",
     [](TwoGroups& t, bool) -> Handle {
       const Value y = t.g.add(Matmul{.a = t.g.input("p", {kRows, kN}, DType::f32),
                                      .b = t.g.input("w", {kN, kN}, DType::f32)});
       return y.then(RowScale{.by = t.dprob});
     }},
    {"bias", "scaled_by",
     [](TwoGroups& t, bool) -> Handle {
       return t.of_none.then(Bias{.by = t.g.group_matrix("m", {2, kN}), .scaled_by = t.dprob});
     }},
    {"d_glu", "prob",
     [](TwoGroups& t, bool) -> Handle {
       DGlu op = glu_backward(t.g.add(Load{.x = t.g.input("saved", {kRows, 2 * kN}, DType::f32)}));
       op.prob = t.dprob;
       return t.of_none.then(op);
     }},
    {"d_relu_squared", "dprob_add",
     [](TwoGroups& t, bool) -> Handle {
       return t.of_none.then(DReluSquared{.c = t.of_none, .dprob_add = RowTerm(t.dprob)}).dprob;
     }},
    {"binary", "by",
     [](TwoGroups& t, bool) -> Handle {
       return t.of_none.then(Binary{.mode = BinaryMode::mul, .by = t.dprob});
     }},
    {"compare", "by",
     [](TwoGroups& t, bool) -> Handle {
       return t.of_none.then(Compare{.mode = CompareMode::lt, .by = t.dprob});
     }},
    {"select", "if_false",
     [](TwoGroups& t, bool) -> Handle {
       return t.of_none.then(Select{.if_true = 1.0, .if_false = t.dprob});
     }},
};

// No group owns row 5: what an output holds there stays, and the other rows are written.
TEST(RowGroups, AValueWithoutGroupsTakesThem) {
  for (const Use& use : kUngrouped) {
    SCOPED_TRACE(std::string(use.op) + "." + use.field);
    TwoGroups t;
    t.g.output("out", use.make(t, true));
    Bench b(finish(t.g));
    for (int32_t i = 0; i < b.graph.tensor_count(); ++i) {
      const std::string name(b.graph.tensor_name(i));
      const TensorInfo info = b.plan.tensor(i);
      if (info.is_output || info.dtype != DType::f32) continue;
      b.tensors.set(name, std::vector<float>(static_cast<size_t>(info.bytes) / sizeof(float), 1));
    }
    b.tensors.set<int32_t>("a", {2, 5});
    b.tensors.set<int32_t>("b", {0, 1, 2});
    b.run_well();
    const auto out = b.tensors.values<float>("out");
    const size_t width = out.size() / kRows;
    std::vector<float> untouched(1);
    std::memset(untouched.data(), kPoison, sizeof(float));
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t n = 0; n < width; ++n) {
        const bool same = std::memcmp(&out[r * width + n], untouched.data(), sizeof(float)) == 0;
        EXPECT_EQ(same, r == 5) << "row " << r;
      }
    }
  }
}

// Groups may be more than experts: what follows still knows how many there are.
TEST(RowGroups, ExpertsComeWithThem) {
  Builder g("experts");
  const Groups groups = g.groups("ends", 4, GroupForm::ends);
  const Value y = g.add(GroupedGemm{.a = g.input("x", {kRows, kN}, DType::f32),
                                    .b = g.weights("w", {2, kN, kN}, DType::f32),
                                    .groups = groups});
  const RowVec dprob = y.then(DReluSquared{.c = y}).dprob;
  const Value z = g.add(Load{.x = g.input("z", {kRows, kN}, DType::f32)});
  g.output("out", z.then(RowGate{.by = dprob}).then(Bias{.by = g.group_matrix("m", {2, kN})}));
  g.output("sums", z.then(DBias{.scaled_by = dprob}));
  const Graph graph = finish(g);
  const Plan plan = *make_plan(graph, Device::cpu());
  EXPECT_EQ(plan.tensor(graph.tensor_index("sums")).shape[0], 4) << "a row a group";
}

TEST(RowGroups, TheSameGroupsAreNot) {
  for (const Use& use : kUses) {
    SCOPED_TRACE(std::string(use.op) + "." + use.field);
    TwoGroups t;
    t.g.output("out", use.make(t, true));
    const Result<Graph> graph = std::move(t.g).finish();
    EXPECT_TRUE(graph) << graph.findings().text();
  }
}

}  // namespace
}  // namespace cohort::test
