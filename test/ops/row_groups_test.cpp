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
