// binary, compare and select: values, edges, and every class of operand.
#include <cmath>

#include "ops/small.h"

namespace cohort::test {
namespace {

// Every pair of these in one row: the first operand piped, the second a stored tensor.
std::vector<float> paired(BinaryMode mode, const std::vector<float>& a, const std::vector<float>& b,
                          bool swapped = false) {
  const auto n = static_cast<int64_t>(a.size());
  Small s(1, n);
  const Binary op{.mode = mode, .by = s.g.input("b", {1, n}, DType::f32), .swapped = swapped};
  Bench bench = s.bench(s.x.then(op));
  bench.tensors.set("x", a);
  bench.tensors.set("b", b);
  bench.run_well();
  return bench.tensors.values<float>("y");
}

bool commutes(BinaryMode mode) {
  Small s(1, 1);
  const auto op = Binary{.mode = mode, .by = 2.0, .swapped = true};
  return s.faults(s.x.then(op)) == "E-ATTRIBUTE";
}

const std::vector<float> kA = {7, -7, 0.5f, -0.0f, 0, kInf, -3, 2, kNaN, 1};
const std::vector<float> kB = {2, 2, -0.25f, 0, -0.0f, kInf, 0, -3, 1, kNaN};

TEST(Binary, Values) {
  const std::pair<BinaryMode, std::vector<float>> wanted[] = {
      {BinaryMode::add, {9, -5, 0.25f, 0, 0, kInf, -3, -1, kNaN, kNaN}},
      {BinaryMode::sub, {5, -9, 0.75f, -0.0f, 0, kNaN, -3, 5, kNaN, kNaN}},
      {BinaryMode::mul, {14, -14, -0.125f, -0.0f, -0.0f, kInf, -0.0f, -6, kNaN, kNaN}},
      {BinaryMode::div, {3.5f, -3.5f, -2, kNaN, kNaN, kNaN, -kInf, -2.0f / 3, kNaN, kNaN}},
      {BinaryMode::min, {2, -7, -0.25f, -0.0f, -0.0f, kInf, -3, -3, kNaN, kNaN}},
      {BinaryMode::max, {7, 2, 0.5f, 0, 0, kInf, 0, 2, kNaN, kNaN}},
      {BinaryMode::pow, {49, 49, 0x1.306fep0f, 1, 1, kInf, 1, 0.125f, kNaN, 1}},
      {BinaryMode::mod, {1, -1, 0, kNaN, kNaN, kNaN, kNaN, 2, kNaN, kNaN}},
      {BinaryMode::add_square, {11, -3, 0.5625f, 0, 0, kInf, -3, 11, kNaN, kNaN}},
      {BinaryMode::logical_and, {1, 1, 1, 0, 0, 1, 0, 1, 1, 1}},
      {BinaryMode::logical_or, {1, 1, 1, 0, 0, 1, 1, 1, 1, 1}},
  };
  for (const auto& [mode, y] : wanted) {
    SCOPED_TRACE(name(mode));
    expect_numbers(paired(mode, kA, kB), y);
    // Swapped, the second operand comes first; where that makes no difference it is refused.
    if (commutes(mode)) {
      expect_numbers(paired(mode, kB, kA), y);
    } else {
      expect_numbers(paired(mode, kB, kA, true), y);
    }
  }
}

TEST(Binary, SwappedIsRefusedWhereItIsTheSame) {
  const auto refused = {BinaryMode::add, BinaryMode::mul,         BinaryMode::min,
                        BinaryMode::max, BinaryMode::logical_and, BinaryMode::logical_or};
  for (const BinaryMode mode : refused) EXPECT_TRUE(commutes(mode)) << name(mode);
  for (const BinaryMode mode : {BinaryMode::sub, BinaryMode::div, BinaryMode::pow, BinaryMode::mod,
                                BinaryMode::add_square}) {
    EXPECT_FALSE(commutes(mode)) << name(mode);
  }
  Small s(1, 1);
  s.g.output("y", s.x.then(Binary{.mode = BinaryMode::mul, .by = 2.0, .swapped = true}));
  const KeptFinding f = only(std::move(s.g).finish().findings());
  EXPECT_EQ(f.field, "swapped");
  EXPECT_EQ(f.message, "mul is the same both ways round");
  EXPECT_EQ(f.hint, "leave swapped out");
}

TEST(Binary, EachNodeRoundsOnce) {
  // b * b rounds before the sum: 1 + 2^-12 squared is 1 + 2^-11 + 2^-24.
  const float b = 1 + 0x1p-12f;
  expect_numbers(paired(BinaryMode::add_square, {-1}, {b}), {0x1p-11f});
  expect_numbers(paired(BinaryMode::add, {0x1p24f}, {1}), {0x1p24f});
  expect_numbers(paired(BinaryMode::mod, {1e30f}, {3}), {std::fmod(1e30f, 3.0f)});
}

TEST(Compare, Values) {
  const std::vector<float> a = {1, 2, 3, -0.0f, kNaN, 1, kInf};
  const std::vector<float> b = {2, 2, 2, 0, 1, kNaN, kInf};
  const std::pair<CompareMode, std::vector<float>> wanted[] = {
      {CompareMode::eq, {0, 1, 0, 1, 0, 0, 1}}, {CompareMode::ne, {1, 0, 1, 0, 1, 1, 0}},
      {CompareMode::lt, {1, 0, 0, 0, 0, 0, 0}}, {CompareMode::le, {1, 1, 0, 1, 0, 0, 1}},
      {CompareMode::gt, {0, 0, 1, 0, 0, 0, 0}}, {CompareMode::ge, {0, 1, 1, 1, 0, 0, 1}},
  };
  for (const auto& [mode, y] : wanted) {
    SCOPED_TRACE(name(mode));
    Small s(1, 7);
    Bench bench =
        s.bench(s.x.then(Compare{.mode = mode, .by = s.g.input("b", {1, 7}, DType::f32)}));
    bench.tensors.set("x", a);
    bench.tensors.set("b", b);
    bench.run_well();
    expect_numbers(bench.tensors.values<float>("y"), y);
  }
}

TEST(Select, TakesIfTrueWhereTheConditionIsNotZero) {
  Small s(2, 3);
  const auto yes = s.g.input("yes", {2, 3}, DType::f32);
  Bench b = s.bench(s.x.then(Select{.if_true = yes, .if_false = -1.5}));
  b.tensors.set<float>("x", {0, -0.0f, 1, kNaN, -2, kInf});
  // What is not taken does not matter, be it NaN.
  b.tensors.set<float>("yes", {kNaN, kNaN, 1, 2, 3, kNaN});
  b.run_well();
  expect_numbers(b.tensors.values<float>("y"), {-1.5f, -1.5f, 1, 2, 3, kNaN});
}

// Groups {rows 0-1}, {}, {row 2}; 2 features.
struct Grouped : Small {
  Grouped() : Small(3, 2, {2, 2, 3}) {}
  std::vector<float> times(const Arg& by, const std::string& input,
                           const std::vector<float>& values) {
    Bench b = bench(x.then(Binary{.mode = BinaryMode::mul, .by = by}));
    b.tensors.set<float>("x", {1, 2, 3, 4, 5, 6});
    if (!input.empty()) b.tensors.set(input, values);
    b.run_well();
    return b.tensors.values<float>("y");
  }
};

TEST(Operands, EveryClassBroadcasts) {
  Grouped number;
  expect_numbers(number.times(3.0, "", {}), {3, 6, 9, 12, 15, 18});
  Grouped scalar;
  expect_numbers(scalar.times(scalar.g.scalar("s"), "s", {2}), {2, 4, 6, 8, 10, 12});
  Grouped row;
  expect_numbers(row.times(row.g.row_input("r", 3), "r", {1, 10, 100}), {1, 2, 30, 40, 500, 600});
  Grouped column;
  expect_numbers(column.times(column.g.col_input("c", 2), "c", {1, 10}), {1, 20, 3, 40, 5, 60});
  Grouped group;
  expect_numbers(group.times(group.g.group_input("g", 3), "g", {1, 10, 100}),
                 {1, 2, 3, 4, 500, 600});
  Grouped matrix;
  expect_numbers(matrix.times(matrix.g.group_matrix("m", {3, 2}), "m", {1, 2, 3, 4, 5, 6}),
                 {1, 4, 3, 8, 25, 36});
  Grouped full;
  expect_numbers(full.times(full.g.input("t", {3, 2}, DType::f32), "t", {1, 2, 3, 4, 5, 6}),
                 {1, 4, 9, 16, 25, 36});
  Grouped strided;
  const TensorOptions columns{.strides = {1, 3}};
  expect_numbers(
      strided.times(strided.g.input("t", {3, 2}, DType::f32, columns), "t", {1, 3, 5, 2, 4, 6}),
      {1, 4, 9, 16, 25, 36});
  Grouped value;
  const auto other = value.x.then(Unary{.mode = UnaryMode::neg});
  expect_numbers(value.times(other, "", {}), {-1, -4, -9, -16, -25, -36});
}

TEST(Operands, NumbersByValueAreRoundedToF32) {
  Grouped s;
  const std::vector<float> y = s.times(0.1, "", {});
  EXPECT_EQ(y[0], 0.1f);
  Grouped inf;
  EXPECT_EQ(inf.times(-1e300, "", {})[0], -kInf);
}

TEST(Operands, ResultsOfReductionsAreOperands) {
  Grouped s;
  const auto whole = s.x.then(Amax{});
  const auto each = s.x.then(Amax{.per = AmaxPer::expert});
  s.g.output("whole", s.x.then(Binary{.mode = BinaryMode::div, .by = whole}));
  Bench b = s.bench(s.x.then(Binary{.mode = BinaryMode::div, .by = each}));
  b.tensors.set<float>("x", {1, 2, -4, 3, 5, 8});
  b.run_well();
  expect_numbers(b.tensors.values<float>("y"), {0.25f, 0.5f, -1, 0.75f, 0.625f, 1});
  expect_numbers(b.tensors.values<float>("whole"), {0.125f, 0.25f, -0.5f, 0.375f, 0.625f, 1});
}

TEST(Operands, GroupsComeFromWhicheverOperandHasThem) {
  Builder g("mixed");
  const auto a = g.add(Load{.x = g.input("a", {4, 1}, DType::f32)});
  const auto bounds = g.groups("g", 2, GroupForm::boundaries);
  const auto b = g.add(Load{.x = g.input("b", {4, 1}, DType::f32), .groups = bounds});
  g.output("y", a.then(Select{.if_true = b, .if_false = g.group_input("v", 2)}),
           {.tail = Tail::zero});
  Bench bench(finish(g));
  bench.tensors.set<float>("a", {1, 0, 1, 0});
  bench.tensors.set<float>("b", {7, 7, 7, 7});
  bench.tensors.set<float>("v", {3, 4});
  bench.tensors.set<int32_t>("g", {1, 2, 4});
  bench.run_well();
  expect_numbers(bench.tensors.values<float>("y"), {0, 3, 7, 4});
}

TEST(Operands, PanelsReadTheirOwnRows) {
  // More rows than a panel, two groups that begin inside of one.
  constexpr int32_t kRows = 500;
  Small s(kRows, 1, {201, kRows});
  const auto t = s.g.input("t", {kRows, 1}, DType::f32, {.strides = {2, 1}});
  const auto r = s.g.row_input("r", kRows);
  Bench b = s.bench(s.x.then(Binary{.mode = BinaryMode::sub, .by = t})
                        .then(Binary{.mode = BinaryMode::sub, .by = r, .swapped = true}));
  std::vector<float> x, stored, row;
  for (int i = 0; i < kRows; ++i) {
    x.push_back(static_cast<float>(i));
    row.push_back(static_cast<float>(3 * i));
    stored.push_back(static_cast<float>(2 * i));
    stored.push_back(kNaN);
  }
  stored.pop_back();
  b.tensors.set("x", x);
  b.tensors.set("t", stored);
  b.tensors.set("r", row);
  b.run_well();
  std::vector<float> wanted;
  for (int i = 0; i < kRows; ++i) wanted.push_back(static_cast<float>(3 * i - (i - 2 * i)));
  expect_numbers(b.tensors.values<float>("y"), wanted);
}

std::string text(const KeptFinding& f) {
  return f.code + " " + f.field + " " + std::to_string(f.dimension) + " " + f.wanted + " " + f.got;
}

// What is said of an operand, for a value of 3 rows, 2 features, 3 groups.
template <class Make>
std::string said(Make&& make) {
  Grouped s;
  s.g.output("y", s.x.then(Binary{.mode = BinaryMode::add, .by = make(s.g)}));
  const Findings findings = std::move(s.g).finish().findings();
  return text(only(findings));
}

TEST(Operands, ShapesAreChecked) {
  EXPECT_EQ(said([](Builder& g) { return g.row_input("r", 4); }), "E-SHAPE by 0 3 4");
  EXPECT_EQ(said([](Builder& g) { return g.col_input("c", 3); }), "E-SHAPE by 0 2 3");
  EXPECT_EQ(said([](Builder& g) { return g.group_input("v", 2); }), "E-SHAPE by 0 3 2");
  EXPECT_EQ(said([](Builder& g) { return g.group_matrix("m", {1, 2}); }), "E-SHAPE by 0 3 1");
  EXPECT_EQ(said([](Builder& g) { return g.group_matrix("m", {3, 3}); }), "E-SHAPE by 1 2 3");
  EXPECT_EQ(said([](Builder& g) { return g.input("t", {3, 1}, DType::f32); }), "E-SHAPE by 1 2 1");
  EXPECT_EQ(said([](Builder& g) { return g.input("t", {6}, DType::f32); }),
            "E-RANK by -1 (T, N) [6]");
  EXPECT_EQ(said([](Builder& g) { return g.scalar("s", DType::i32); }),
            "E-DTYPE by -1 f32 or bf16 i32");
  Grouped halves;
  EXPECT_EQ(halves.faults(halves.x.then(Binary{
                .mode = BinaryMode::div, .by = halves.x.then(Amax{.per = AmaxPer::expert_half})})),
            "E-RANK");
}

TEST(Operands, ValuesOfOtherGroupsDoNotMeet) {
  Grouped s;
  const auto other = s.g.groups("other", 3, GroupForm::ends);
  const auto y = s.g.add(Load{.x = s.g.input("z", {3, 2}, DType::f32), .groups = other});
  EXPECT_EQ(s.faults(s.x.then(Select{.if_true = y, .if_false = 0.0})), "E-GROUPS");
}

TEST(Operands, JsonHasNumbersAndHandles) {
  Grouped s;
  const auto t = s.g.input("t", {3, 2}, DType::f32);
  s.g.output("y", s.x.then(Binary{.mode = BinaryMode::pow, .by = kInf, .swapped = true})
                      .then(Select{.if_true = t, .if_false = s.x}));
  const Graph first = finish(s.g);
  EXPECT_TRUE(
      has(first.json(), R"({"op":"binary","in":"%0","mode":"pow","by":"inf","swapped":true})"))
      << first.json();
  EXPECT_TRUE(has(first.json(),
                  R"({"op":"select","in":"%1","if_true":{"value":"t"},"if_false":{"value":"%0"}})"))
      << first.json();
  const Result<Graph> second = parse_json(first.json());
  ASSERT_TRUE(second) << second.findings().text();
  EXPECT_EQ(second->json(), first.json());
}

TEST(Operands, JsonDemandsThem) {
  const std::string head =
      R"({"cohort":1,"name":"","dims":[],"inputs":[)"
      R"({"name":"x","role":"tensor","shape":[2,2],"dtype":"f32"},)"
      R"({"name":"g","role":"groups","shape":[1],"dtype":"i32","form":"ends"}],"nodes":[)"
      R"({"op":"load","x":"x","groups":"g"},{"op":"binary","in":"%0","mode":"add")";
  const std::string tail = R"(,"swapped":false}],"outputs":[{"name":"y","value":"%1"}]})";
  const auto code = [&](const std::string& by) {
    const Result<Graph> graph = parse_json(head + by + tail);
    return graph ? std::string() : codes(graph.findings());
  };
  EXPECT_EQ(code(R"(,"by":1.5)"), "");
  EXPECT_EQ(code(R"(,"by":{"value":"x"})"), "");
  EXPECT_EQ(code(""), "E-KEY");
  EXPECT_EQ(code(R"(,"by":null)"), "E-JSON");
  EXPECT_EQ(code(R"(,"by":"x")"), "E-JSON");
  EXPECT_EQ(code(R"(,"by":{"value":"g"})"), "E-ROLE");
  EXPECT_EQ(code(R"(,"by":{"value":"z"})"), "E-REFERENCE");
}

}  // namespace
}  // namespace cohort::test
