// What the pages of the ops claim, with numbers worked out by hand.
#include <cohort/cohort.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace cohort;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Memory of one run by name. An output begins as bytes of 0xAA.
class ClaimRun {
 public:
  template <class T>
  void set(const std::string& name, const std::vector<T>& values) {
    std::vector<std::byte>& b = given_[name];
    b.resize(values.size() * sizeof(T));
    if (!b.empty()) std::memcpy(b.data(), values.data(), b.size());
  }

  void go(const Result<Graph>& graph, Sizes sizes) {
    ASSERT_TRUE(graph) << graph.findings().text();
    const Result<Plan> plan = make_plan(graph, Device::cpu());
    ASSERT_TRUE(plan) << plan.findings().text();
    std::vector<NamedTensor> tensors;
    for (int32_t i = 0; i < graph->tensor_count(); ++i) {
      const TensorInfo info = *plan->tensor(i, *graph, sizes);
      const std::string name(graph->tensor_name(i));
      std::vector<std::byte>& memory = memory_[name];
      memory.assign(static_cast<size_t>(info.bytes) + 128, std::byte{0xAA});
      TensorView v;
      v.data = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
      v.dtype = info.dtype;
      v.rank = info.rank;
      std::copy(info.shape, info.shape + info.rank, v.shape);
      v.pack();
      at_[name] = v.data;
      if (!info.is_output) {
        ASSERT_EQ(given_[name].size(), static_cast<size_t>(info.bytes)) << name;
        if (info.bytes > 0) std::memcpy(v.data, given_[name].data(), given_[name].size());
      }
      tensors.push_back({graph->tensor_name(i), v});
    }
    const Result<Execution> execution = plan->bind(*graph, sizes, tensors);
    ASSERT_TRUE(execution) << execution.findings().text();
    std::vector<std::byte> workspace(static_cast<size_t>(execution->workspace_bytes()) + 256);
    const Status status = execution->run(workspace.data() + 256 -
                                         reinterpret_cast<uintptr_t>(workspace.data()) % 256);
    ASSERT_TRUE(status) << status.findings().text();
  }

  template <class T>
  std::vector<T> get(const std::string& name, size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), at_.at(name), count * sizeof(T));
    return values;
  }

 private:
  std::map<std::string, std::vector<std::byte>> given_;
  std::map<std::string, std::vector<std::byte>> memory_;
  std::map<std::string, void*> at_;
};

// NaN equals NaN, and -0 differs from 0.
void expect_same(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const bool both_nan = std::isnan(got[i]) && std::isnan(wanted[i]);
    const bool same = got[i] == wanted[i] && std::signbit(got[i]) == std::signbit(wanted[i]);
    EXPECT_TRUE(both_nan || same) << "element " << i << ": " << got[i] << ", not " << wanted[i];
  }
}

// One row of values through one op.
template <class O>
std::vector<float> elementwise(const O& op, const std::vector<float>& x) {
  Builder g("claim");
  const auto n = static_cast<int64_t>(x.size());
  g.output("y", g.add(Load{.x = g.input("x", {1, n}, DType::f32)}).then(op));
  ClaimRun run;
  run.set("x", x);
  run.go(std::move(g).finish(), {});
  return run.get<float>("y", x.size());
}

TEST(Claims, Unary) {
  const std::vector<float> x{-0.0f, 0, -2, 3, kNaN, -kInf, kInf};
  expect_same(elementwise(Unary{.mode = UnaryMode::relu}, x), {-0.0f, 0, 0, 3, kNaN, 0, kInf});
  expect_same(elementwise(Unary{.mode = UnaryMode::identity}, x), x);
}

TEST(Claims, ReluSquared) {
  const std::vector<float> x{-0.0f, -2, 3, kNaN, kInf};
  expect_same(elementwise(ReluSquared{}, x), {0, 0, 9, kNaN, kInf});
  const float h = 2 * std::tanh(3.0f / 2);
  expect_same(elementwise(ReluSquared{.clamp = 2.0f}, x), {0, 0, h * h, kNaN, 4});
}

// fp8 saturates, infinity too; f16 and bf16 overflow to infinity; nearest even; NaN stays.
TEST(Claims, CastRounds) {
  Builder g("claim");
  auto v = g.add(Load{.x = g.input("x", {1, 5}, DType::f32)});
  for (DType t : {DType::e4m3, DType::e5m2, DType::f16, DType::bf16}) {
    // Read on as f32, so that one output type serves.
    g.output(name(t), v.then(Cast{.to = t}).then(Unary{.mode = UnaryMode::identity}));
  }
  ClaimRun run;
  run.set<float>("x", {1e5f, -kInf, kNaN, 1.0625f, 3.4e38f});
  run.go(std::move(g).finish(), {});
  expect_same(run.get<float>("e4m3", 5), {448, -448, kNaN, 1.0f, 448});
  expect_same(run.get<float>("e5m2", 5), {57344, -57344, kNaN, 1.0f, 57344});
  expect_same(run.get<float>("f16", 5), {kInf, -kInf, kNaN, 1.0625f, kInf});
  expect_same(run.get<float>("bf16", 5), {99840, -kInf, kNaN, 1.0625f, kInf});
}

TEST(Claims, CastScalesFirst) {
  Builder g("claim");
  g.output("y", g.add(Load{.x = g.input("x", {1, 3}, DType::f32)})
                    .then(Cast{.to = DType::e4m3, .scale = g.scalar("scale")}));
  ClaimRun run;
  run.set<float>("x", {2, 1000, -0.5f});
  run.set<float>("scale", {0.5f});
  run.go(std::move(g).finish(), {});
  // 1 is 0x38, 448 is 0x7E, -0.25 is 0xA8.
  EXPECT_EQ(run.get<uint8_t>("y", 3), (std::vector<uint8_t>{0x38, 0x7E, 0xA8}));
}

// Rows 0, 1 are group 0's, group 1 is empty, row 2 is group 2's; row 3 belongs to none.
class Grouped : public ::testing::Test {
 protected:
  Grouped() : t_(g_.dynamic("T", 8)), groups_(g_.groups("ends", 3, GroupForm::ends)) {
    run_.set<float>("x", {1, -2, 3, 4, 5, -60, 700, 800});
    run_.set<int32_t>("ends", {2, 2, 3});
  }
  Value load() { return g_.add(Load{.x = g_.input("x", {t_, 2}, DType::f32), .groups = groups_}); }
  void go() { run_.go(std::move(g_).finish(), {{"T", 4}}); }

  Builder g_{"claim"};
  Dim t_;
  Groups groups_;
  ClaimRun run_;
};

TEST_F(Grouped, AmaxIgnoresRowsOfNoGroup) {
  const Value x = load();
  g_.output("tensor", x.then(Amax{}));
  g_.output("expert", x.then(Amax{.per = AmaxPer::expert}));
  g_.output("half", x.then(Amax{.per = AmaxPer::expert_half}));
  go();
  expect_same(run_.get<float>("tensor", 1), {60});
  expect_same(run_.get<float>("expert", 3), {4, 0, 60});
  expect_same(run_.get<float>("half", 6), {3, 4, 0, 0, 5, 60});
}

TEST_F(Grouped, AmaxPropagatesNaN) {
  run_.set<float>("x", {1, kNaN, 3, 4, 5, -60, 700, 800});
  g_.output("expert", load().then(Amax{.per = AmaxPer::expert}));
  go();
  expect_same(run_.get<float>("expert", 3), {kNaN, 0, 60});
}

TEST_F(Grouped, BiasTakesTheRowOfTheGroup) {
  const Value x = load();
  auto by = g_.group_matrix("b", {3, 2});
  g_.output("plain", x.then(Bias{.by = by}), {.tail = Tail::zero});
  g_.output("scaled", x.then(Bias{.by = by, .scaled_by = g_.row_input("p", t_)}),
            {.tail = Tail::zero});
  run_.set<float>("b", {10, 20, kNaN, kNaN, 30, 40});
  run_.set<float>("p", {1, 2, -1, kNaN});
  go();
  expect_same(run_.get<float>("plain", 8), {11, 18, 13, 24, 35, -20, 0, 0});
  expect_same(run_.get<float>("scaled", 8), {11, 18, 23, 44, -25, -100, 0, 0});
}

TEST_F(Grouped, RowGateStandsWhereTheChainPutsIt) {
  const Value x = load();
  auto p = g_.row_input("p", t_);
  g_.output("before", x.then(RowGate{.by = p}).then(ReluSquared{}), {.tail = Tail::zero});
  g_.output("after", x.then(ReluSquared{}).then(RowGate{.by = p}), {.tail = Tail::zero});
  run_.set<float>("p", {2, -1, 0.5f, kNaN});
  go();
  expect_same(run_.get<float>("before", 8), {4, 0, 0, 0, 6.25f, 0, 0, 0});
  expect_same(run_.get<float>("after", 8), {2, 0, -9, -16, 12.5f, 0, 0, 0});
}

TEST_F(Grouped, TailLeavesOrZeroes) {
  const Value x = load();
  g_.output("leave", x, {.tail = Tail::leave});
  g_.output("zero", x, {.tail = Tail::zero});
  go();
  const auto kept = run_.get<uint32_t>("leave", 8);
  EXPECT_EQ(kept[6], 0xAAAAAAAAu);
  EXPECT_EQ(kept[7], 0xAAAAAAAAu);
  expect_same(run_.get<float>("zero", 8), {1, -2, 3, 4, 5, -60, 0, 0});
}

// The table of group forms in docs/concepts.md: groups of 2, 0 and 3 rows in a buffer of 6.
TEST(Claims, GroupForms) {
  const auto rows = [](GroupForm form, const std::vector<int32_t>& values,
                       const std::vector<int32_t>& used) {
    Builder g("claim");
    Dim t = g.dynamic("T", 8);
    auto groups = g.groups("rows", 3, form);
    auto y = g.add(Load{.x = g.input("x", {t, 1}, DType::f32), .groups = groups})
                 .then(Bias{.by = g.group_matrix("b", {3, 1})});
    g.output("y", y, {.tail = Tail::zero});
    ClaimRun run;
    run.set<float>("x", std::vector<float>(6, 0));
    run.set<float>("b", {1, 2, 3});
    run.set(form == GroupForm::slots ? "rows.begin" : "rows", values);
    if (form == GroupForm::slots) run.set("rows.used", used);
    run.go(std::move(g).finish(), {{"T", 6}});
    return run.get<float>("y", 6);
  };
  expect_same(rows(GroupForm::starts, {0, 2, 2}, {}), {1, 1, 3, 3, 3, 3});
  expect_same(rows(GroupForm::ends, {2, 2, 5}, {}), {1, 1, 3, 3, 3, 0});
  expect_same(rows(GroupForm::boundaries, {0, 2, 2, 5}, {}), {1, 1, 3, 3, 3, 0});
  expect_same(rows(GroupForm::counts, {2, 0, 3}, {}), {1, 1, 3, 3, 3, 0});
  expect_same(rows(GroupForm::slots, {0, 2, 3}, {2, 0, 3}), {1, 1, 0, 3, 3, 3});
}

TEST(Claims, AlphaAndRowScaleMultiplyTheAccumulator) {
  Builder g("claim");
  auto x = g.input("x", {3, 1}, DType::f32);
  auto w = g.weights("w", {2, 1, 1}, DType::f32);
  auto ends = g.groups("ends", 4, GroupForm::ends);  // more groups than experts: g mod E
  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends});
  g.output("alpha", y.then(Alpha{.by = g.group_input("alpha.by", 2)}));
  g.output("scaled", y.then(RowScale{.by = g.row_input("s", 3)}));
  ClaimRun run;
  run.set<float>("x", {1, 2, 3});
  run.set<float>("w", {10, 100});
  run.set<int32_t>("ends", {1, 2, 3, 3});
  run.set<float>("alpha.by", {2, -1});
  run.set<float>("s", {1, 0.5f, kInf});
  run.go(std::move(g).finish(), {});
  expect_same(run.get<float>("alpha", 3), {20, -200, 60});
  expect_same(run.get<float>("scaled", 3), {10, 100, kInf});
}

// The edges of quantize: a zero block, infinity, NaN; the norm is not in what is read back.
TEST(Claims, QuantizeEdges) {
  Builder g("claim");
  auto x = g.add(Load{.x = g.input("x", {3, 32}, DType::f32)});
  auto mx = x.then(Quantize{.to = Format::mxfp8_e4m3, .row_layout = ScaleLayout::linear});
  auto nv = x.then(Quantize{.to = Format::nvfp4, .row_layout = ScaleLayout::linear});
  auto fp = x.then(Quantize{.to = Format::fp8_row});
  g.output("mx", mx.row);
  g.output("nv", nv.row);
  g.output("fp", fp.row);
  std::vector<float> values(96, 0);
  values[32] = kInf;
  values[33] = 400;
  values[64] = kNaN;
  values[65] = 1;
  ClaimRun run;
  run.set("x", values);
  run.go(std::move(g).finish(), {});
  const auto codes = run.get<uint8_t>("mx", 96);
  EXPECT_EQ(run.get<uint8_t>("mx.scale", 3), (std::vector<uint8_t>{0, 254, 0xFF}));
  EXPECT_EQ(codes[0], 0);
  EXPECT_EQ(codes[32], 0x7E);
  EXPECT_EQ(codes[33], 0);
  for (size_t i = 64; i < 96; ++i) EXPECT_EQ(codes[i] & 0x7F, 0x7F);
  const auto scales = run.get<uint8_t>("nv.scale", 6);
  EXPECT_EQ(scales[0], 0);
  EXPECT_EQ(scales[2], 0x7E);  // 448
  EXPECT_EQ(scales[4], 0x7F);
  EXPECT_EQ(run.get<uint8_t>("nv", 48)[16], 0x27);  // infinity is 6, 400 / 448 is 1
  const auto factors = run.get<float>("fp.scale", 3);
  EXPECT_EQ(factors[0], 0);
  EXPECT_EQ(factors[1], std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isnan(factors[2]));
}

}  // namespace
