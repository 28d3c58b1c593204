// What bind, rebind and resize refuse, and that a refusal changes nothing.
#include "engine/gemm_case.h"
#include "plan/access.h"
#include "plan/fake_engine.h"

namespace cohort::test {
namespace {

class Bind : public ::testing::Test {
 protected:
  Bind() : bench_(case_.graph(), {{"T", 40}}), views_(bench_.tensors.all()) {
    bench_.tensors.set("x", case_.x);
    bench_.tensors.set("w", case_.w);
    put_groups(bench_.tensors, "g", case_.form, case_.offsets, case_.ranges);
  }
  Result<Execution> bind(Sizes sizes = {{"T", 40}}) {
    return bench_.plan.bind(bench_.graph, sizes, views_);
  }
  TensorView& view(std::string_view name) {
    for (NamedTensor& t : views_) {
      if (t.name == name) return t.view;
    }
    std::abort();
  }
  void expect(std::string_view code, std::string_view tensor, std::string_view field) {
    const auto e = bind();
    ASSERT_FALSE(e);
    EXPECT_EQ(ErrorKind::mismatch, e.findings().kind());
    ASSERT_EQ(1, e.findings().size()) << e.findings().text();
    EXPECT_EQ(code, e.findings()[0].code);
    EXPECT_EQ(tensor, e.findings()[0].op);
    EXPECT_EQ(field, e.findings()[0].field);
    EXPECT_FALSE(e.findings()[0].wanted.empty());
    EXPECT_FALSE(e.findings()[0].got.empty());
  }

  GemmCase case_;
  Bench bench_;
  std::vector<NamedTensor> views_;
};

TEST_F(Bind, WhatFitsIsBound) { EXPECT_TRUE(bind()); }

TEST_F(Bind, Dtype) {
  view("x").dtype = DType::bf16;
  expect("E-DTYPE", "x", "dtype");
}
TEST_F(Bind, Shape) {
  view("w").shape[1] = 11;
  expect("E-SHAPE", "w", "shape");
  EXPECT_EQ(1, bind().findings()[0].dimension);
}
TEST_F(Bind, Rank) {
  for (const int rank : {-1, 0, 1, 3, 9, 1000}) {
    view("x").rank = rank;
    expect("E-SHAPE", "x", "shape");
  }
}
TEST_F(Bind, Strides) {
  view("y").strides[0] = 11;
  expect("E-STRIDE", "y", "strides");
  EXPECT_EQ(0, bind().findings()[0].dimension);
}
TEST_F(Bind, Alignment) {
  view("x").data = static_cast<char*>(view("x").data) + 8;
  expect("E-ALIGNMENT", "x", "data");
}
TEST_F(Bind, Null) {
  view("g").data = nullptr;
  expect("E-POINTER", "g", "data");
}
TEST_F(Bind, DeviceMemory) {
  view("x").device.type = MemoryDevice::Type::cuda;
  expect("E-DEVICE", "x", "device");
}
TEST_F(Bind, SeveralOrdinals) {
  view("w").device.ordinal = 1;
  expect("E-DEVICE", "w", "device");
}
TEST_F(Bind, Overlap) {
  view("y").data = static_cast<char*>(view("x").data) + 16;
  expect("E-OVERLAP", "y", "data");
}
TEST_F(Bind, InputsMayShareMemory) {
  view("x").data = view("w").data;
  // x is longer than w's memory here, so it is only bound.
  EXPECT_TRUE(bind());
}
TEST_F(Bind, Missing) {
  views_.erase(views_.begin());
  expect("E-TENSOR", "x", "data");
}
TEST_F(Bind, Extra) {
  views_.push_back({"z", views_[0].view});
  expect("E-TENSOR", "z", "name");
}
TEST_F(Bind, Twice) {
  views_.push_back(views_[0]);
  expect("E-TENSOR", "x", "name");
}
TEST_F(Bind, EverythingAtOnce) {
  view("x").dtype = DType::f16;
  view("x").data = nullptr;
  view("w").shape[0] = 4;
  views_.pop_back();
  const auto e = bind();
  ASSERT_FALSE(e);
  EXPECT_EQ(4, e.findings().size()) << e.findings().text();
}

TEST_F(Bind, Sizes) {
  const auto code = [&](cohort::Sizes sizes) {
    const auto e = bind(sizes);
    EXPECT_FALSE(e);
    return e ? std::string() : std::string(e.findings()[0].code);
  };
  EXPECT_EQ("E-SIZE", code({}));
  EXPECT_EQ("E-SIZE", code({{"T", -1}}));
  EXPECT_EQ("E-SIZE", code({{"T", 4097}}));
  EXPECT_EQ("E-SIZE", code({{"T", 40}, {"T", 40}}));
  EXPECT_EQ("E-SIZE", code({{"T", 40}, {"S", 1}}));
}

TEST_F(Bind, AnotherGraph) {
  GemmCase other;
  other.features = 11;
  const auto e = bench_.plan.bind(other.graph(), {{"T", 40}}, views_);
  ASSERT_FALSE(e);
  EXPECT_EQ("E-PLAN", e.findings()[0].code);
}

// A plan carries no names: a graph that differs by names alone is served by it.
TEST_F(Bind, NamesAreTheGraphs) {
  Builder g("renamed");
  const Dim t = g.dynamic("rows", 4096);
  const auto a = g.input("tokens", {t, 9}, DType::f32);
  const auto b = g.weights("experts", {3, 10, 9}, DType::f32);
  const auto ends = g.groups("where", 3, GroupForm::ends);
  g.output("out", g.add(GroupedGemm{.a = a, .b = b, .groups = ends}));
  const Graph renamed = finish(g);
  views_[0].name = "tokens";
  views_[1].name = "experts";
  views_[2].name = "where";
  views_[3].name = "out";
  const auto e = bench_.plan.bind(renamed, {{"rows", 40}}, views_);
  ASSERT_TRUE(e) << e.findings().text();
  ASSERT_TRUE(e->run(nullptr));
  expect_same_bits(bench_.tensors.values<float>("y"), case_.expected());
}

TEST_F(Bind, RebindIsCheckedAndKeepsTheOldPointer) {
  Execution e = *bind();
  const int32_t y = bench_.graph.tensor_index("y");
  EXPECT_EQ("E-POINTER", e.rebind(y, nullptr).findings()[0].code);
  EXPECT_EQ("E-OVERLAP", e.rebind(y, view("x").data).findings()[0].code);
  EXPECT_EQ("E-ALIGNMENT", e.rebind(y, static_cast<char*>(view("y").data) + 4).findings()[0].code);
  EXPECT_EQ("E-TENSOR", e.rebind(4, view("y").data).findings()[0].code);
  EXPECT_EQ("E-TENSOR", e.rebind(-1, view("y").data).findings()[0].code);
  ASSERT_TRUE(e.run(nullptr));
  expect_same_bits(bench_.tensors.values<float>("y"), case_.expected());
  Tensors other(bench_.graph, bench_.plan, {{"T", 40}});
  ASSERT_TRUE(e.rebind(y, other.data<void>("y")));
  ASSERT_TRUE(e.run(nullptr));
  expect_same_bits(other.values<float>("y"), case_.expected());
}

// Double buffering: what was read is written next. One by one each would overlap the other.
TEST_F(Bind, TwoTensorsChangePlaces) {
  Execution e = *bind();
  const int32_t x = bench_.graph.tensor_index("x");
  const int32_t y = bench_.graph.tensor_index("y");
  std::vector<char> room(2 * 4096 + 512);
  char* first = room.data() + (256 - reinterpret_cast<uintptr_t>(room.data()) % 256);
  char* second = first + 4096;
  std::memcpy(first, view("x").data, 40 * 9 * 4);
  ASSERT_TRUE(e.rebind({{x, first}, {y, second}}));
  ASSERT_TRUE(e.run(nullptr));
  std::vector<float> values(400);
  std::memcpy(values.data(), second, 1600);
  expect_same_bits(values, case_.expected());
  std::memcpy(second, view("x").data, 40 * 9 * 4);
  EXPECT_EQ("E-OVERLAP", e.rebind(x, second).findings()[0].code);
  ASSERT_TRUE(e.rebind({{x, second}, {y, first}}));
  ASSERT_TRUE(e.run(nullptr));
  std::memcpy(values.data(), first, 1600);
  expect_same_bits(values, case_.expected());
}

TEST_F(Bind, ARefusalOfSeveralChangesNothing) {
  Execution e = *bind();
  const int32_t x = bench_.graph.tensor_index("x");
  const int32_t y = bench_.graph.tensor_index("y");
  void* const at = view("x").data;
  const auto code = [&](Rebindings list) {
    const Status s = e.rebind(list);
    return s ? std::string() : std::string(s.findings()[0].code);
  };
  EXPECT_EQ("E-OVERLAP", code({{y, at}}));
  EXPECT_EQ("E-OVERLAP", code({{y, at}, {x, static_cast<char*>(at) + 16}}));
  EXPECT_EQ("E-POINTER", code({{x, at}, {y, nullptr}}));
  EXPECT_EQ("E-TENSOR", code({{x, at}, {4, at}}));
  EXPECT_EQ("E-TENSOR", code({{x, at}, {-1, at}}));
  EXPECT_EQ("E-TENSOR", code({{x, at}, {x, at}}));
  EXPECT_EQ("", code({}));
  ASSERT_TRUE(e.run(nullptr));
  expect_same_bits(bench_.tensors.values<float>("y"), case_.expected());
}

TEST_F(Bind, ResizeIsCheckedAndARefusalChangesNothing) {
  Execution e = *bind();
  EXPECT_EQ("E-SIZE", e.resize({{"T", 5000}}).findings()[0].code);
  EXPECT_EQ("E-SIZE", e.resize({}).findings()[0].code);
  EXPECT_EQ("E-SIZE", e.resize({{"S", 3}}).findings()[0].code);
  // y right behind x: 4,096 rows of x would reach into it.
  std::vector<char> room(4096 * 9 * 4 + 4096 * 10 * 4 + 256);
  char* memory = room.data() + (256 - reinterpret_cast<uintptr_t>(room.data()) % 256);
  std::memcpy(memory, view("x").data, 40 * 9 * 4);
  ASSERT_TRUE(e.rebind(bench_.graph.tensor_index("x"), memory));
  ASSERT_TRUE(e.rebind(bench_.graph.tensor_index("y"), memory + 40 * 9 * 4));
  EXPECT_EQ("E-OVERLAP", e.resize({{"T", 41}}).findings()[0].code);
  ASSERT_TRUE(e.rebind(bench_.graph.tensor_index("y"), view("y").data));
  ASSERT_TRUE(e.run(nullptr));
  expect_same_bits(bench_.tensors.values<float>("y"), case_.expected());
  GemmCase less;
  less.rows = 27;
  less.ranges = consecutive({7, 20, 0});
  put_groups(bench_.tensors, "g", less.form, less.offsets, less.ranges);
  bench_.tensors.fill("y", kPoison);
  ASSERT_TRUE(e.resize({{"T", 27}}));
  ASSERT_TRUE(e.run(nullptr));
  const auto y = bench_.tensors.values<float>("y");
  expect_same_bits({y.begin(), y.begin() + 270}, less.expected());
}

TEST_F(Bind, CopiesAreIndependent) {
  const Execution first = *bind();
  Execution second = first;
  Tensors other(bench_.graph, bench_.plan, {{"T", 40}});
  ASSERT_TRUE(second.rebind(bench_.graph.tensor_index("y"), other.data<void>("y")));
  ASSERT_TRUE(first.run(nullptr));
  for (uint8_t b : other.raw("y")) ASSERT_EQ(kPoison, b);
  ASSERT_TRUE(second.run(nullptr));
  EXPECT_EQ(bench_.tensors.raw("y"), other.raw("y"));
}

Execution bound_fake(FakeEngine& fake, MemoryDevice device, void* memory) {
  Builder g("fake");
  const auto x = g.input("x", {4, 4}, DType::f32);
  g.output("y", g.add(Load{.x = x}));
  const Graph graph = finish(g);
  const engine::Engine* list[] = {&fake};
  const Plan plan = detail::PlanAccess::plan(plan::plan_graph(
      *detail::Access::graph(graph), detail::PlanAccess::model(Device::sm100()), {}, list));
  TensorView v = TensorView::packed(memory, DType::f32, {4, 4});
  v.device = device;
  TensorView y = v;
  y.data = static_cast<char*>(memory) + 64;
  return *plan.bind(graph, {}, {{"x", v}, {"y", y}});
}

TEST(Workspace, NullAndMisaligned) {
  alignas(256) static char memory[1024];
  FakeEngine fake("fake");
  fake.workspace = 100;
  const Execution e = bound_fake(fake, {}, memory);
  EXPECT_EQ(100, e.workspace_bytes());
  EXPECT_EQ("E-WORKSPACE", e.run(nullptr).findings()[0].code);
  EXPECT_EQ("E-ALIGNMENT", e.run(memory + 128).findings()[0].code);
  EXPECT_TRUE(e.run(memory));
}

TEST(DeviceMemory, IsWhatTheEngineSays) {
  alignas(256) static char memory[1024];
  FakeEngine fake("fake");
  fake.memory = MemoryDevice::Type::cuda;
  EXPECT_TRUE(bound_fake(fake, {MemoryDevice::Type::cuda, 3}, memory).run(nullptr));
}

}  // namespace
}  // namespace cohort::test
