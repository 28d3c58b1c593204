// Outputs whose rows go elsewhere.
#include <limits>

#include "engine/gemm_case.h"
#include "fixtures/findings.h"

namespace cohort::test {
namespace {

// x times 1, one row after the other: what is written is the row itself.
struct Scatter {
  std::vector<float> x{1, 2, 3, 4, 5, 6};
  std::vector<int32_t> token{2, 0, 2, -1, 1, 0};
  std::vector<int32_t> slot{1, 0, 0, 7, 1, 1};
  std::vector<int32_t> ends{2, 5};  // row 5 belongs to no group
  int64_t top_k = 2;
  int64_t places = 6;

  [[nodiscard]] Graph graph(Tail tail) const {
    Builder g("scatter");
    const Dim t = g.dynamic("T", 64);
    const Dim s = g.dynamic("S", 64);
    const auto groups = g.groups("ends", 2, GroupForm::ends);
    const auto y = g.add(Load{.x = g.input("x", {t, 1}, DType::f32), .groups = groups});
    g.output("y", y.then(RowGate{.by = g.row_input("p", t)}),
             {.tail = tail,
              .scatter = g.index("token", t),
              .slot = g.index("slot", t),
              .top_k = top_k,
              .rows = s});
    g.output("plain", y, {.dtype = DType::bf16});
    return finish(g);
  }
  [[nodiscard]] Status run(Tail tail, std::vector<float>& y) const {
    Bench bench(graph(tail), {{"T", 6}, {"S", places}});
    bench.tensors.set("x", x);
    bench.tensors.set("p", std::vector<float>{1, 10, 100, 1000, 10000, 100000});
    bench.tensors.set("ends", ends);
    bench.tensors.set("token", token);
    bench.tensors.set("slot", slot);
    bench.tensors.set("y", std::vector<float>(static_cast<size_t>(places), -9));
    const Status s = bench.run();
    y = bench.tensors.values<float>("y");
    return s;
  }
};

TEST(Scatter, ByHand) {
  std::vector<float> y;
  // Rows 0, 1, 2, 4 go to 2*2+1, 0, 2*2, 1*2+1; factors are those of the row before it moves.
  ASSERT_TRUE(Scatter{}.run(Tail::leave, y));
  expect_same_bits(y, {20, -9, -9, 50000, 300, 1});
  ASSERT_TRUE(Scatter{}.run(Tail::zero, y));
  expect_same_bits(y, {20, 0, 0, 50000, 300, 1});
}

// A buffer that ends before the last slot of its last token is as good as any.
TEST(Scatter, OutputNeedNotBeAMultipleOfTopK) {
  Scatter s;
  s.places = 5;
  s.token[0] = 1;
  s.slot[0] = 0;
  std::vector<float> y;
  ASSERT_TRUE(s.run(Tail::leave, y));
  expect_same_bits(y, {20, -9, 1, 50000, 300});
}

TEST(Scatter, BadEntriesAreFindings) {
  struct Bad {
    const char* tensor;
    size_t row;
    int32_t value;
    const char* wanted;
  };
  const Bad all[] = {{"token", 1, 3, "-1 .. 2"},
                     {"token", 1, -2, "-1 .. 2"},
                     {"slot", 4, 2, "0 .. 1"},
                     {"slot", 4, -1, "0 .. 1"},
                     {"token", 4, 2, "an output row that no other row is written to"}};
  for (const Bad& bad : all) {
    Scatter s;
    (std::string_view(bad.tensor) == "token" ? s.token : s.slot)[bad.row] = bad.value;
    std::vector<float> y;
    const Status status = s.run(Tail::leave, y);
    ASSERT_FALSE(status) << bad.tensor << bad.value;
    const auto f = only(status.findings());
    EXPECT_EQ(f.code, "E-INDEX");
    EXPECT_EQ(f.op, bad.tensor);
    EXPECT_EQ(f.wanted, bad.wanted);
  }
  Scatter s;
  s.places = 5;  // row 0 goes to 2*2+1
  std::vector<float> y;
  const Status status = s.run(Tail::leave, y);
  ASSERT_FALSE(status);
  EXPECT_EQ(only(status.findings()).wanted, "an output row below 5");
}

TEST(Scatter, TextAndKey) {
  const Graph g = Scatter{}.graph(Tail::leave);
  const Result<Graph> again = parse_json(g.json());
  ASSERT_TRUE(again) << again.findings().text();
  EXPECT_EQ(again->json(), g.json());
  EXPECT_EQ(again->key(), g.key());
  EXPECT_TRUE(has(g.json(), R"("scatter":"token","slot":"slot","top_k":2,"rows":"S")")) << g.json();
  Scatter other;
  other.top_k = 3;
  EXPECT_FALSE(other.graph(Tail::leave).key() == g.key());
}

// A builder with a scattered output of which one thing is wrong.
Findings wrong(OutputOptions (*options)(Builder&), bool quantised = false) {
  Builder g("wrong");
  const auto y = g.add(Load{.x = g.input("x", {6, 32}, DType::f32)});
  if (quantised) {
    g.output("y", y.then(Quantize{.to = Format::mxfp8_e4m3}).row, options(g));
  } else {
    g.output("y", y, options(g));
  }
  const Result<Graph> graph = std::move(g).finish();
  return graph ? Findings{} : graph.findings();
}

TEST(Scatter, Findings) {
  const auto no_rows = [](Builder& g) { return OutputOptions{.scatter = g.index("i", 6)}; };
  auto f = only(wrong(no_rows));
  EXPECT_EQ(f.code, "E-MISSING");
  EXPECT_EQ(f.field, "rows");
  const auto short_index = [](Builder& g) {
    return OutputOptions{.scatter = g.index("i", 5), .rows = Dim(8)};
  };
  f = only(wrong(short_index));
  EXPECT_EQ(f.code, "E-SHAPE");
  EXPECT_EQ(f.field, "scatter");
  EXPECT_EQ(f.wanted, "[6]");
  EXPECT_EQ(f.got, "[5]");
  const auto no_experts = [](Builder& g) {
    return OutputOptions{.scatter = g.index("i", 6), .top_k = 0, .rows = Dim(8)};
  };
  f = only(wrong(no_experts));
  EXPECT_EQ(f.code, "E-ATTRIBUTE");
  EXPECT_EQ(f.field, "top_k");
  const auto good = [](Builder& g) {
    return OutputOptions{.scatter = g.index("i", 6), .rows = Dim(8)};
  };
  EXPECT_EQ(only(wrong(good, true)).code, "E-OUTPUT");
  const auto alone = [](Builder&) { return OutputOptions{.top_k = 2, .rows = Dim(8)}; };
  EXPECT_EQ(codes(wrong(alone)), "E-ATTRIBUTE E-ATTRIBUTE");
  const auto pointers = [](Builder&) { return OutputOptions{.discrete = true}; };
  EXPECT_EQ(only(wrong(pointers)).field, "discrete");
}

}  // namespace
}  // namespace cohort::test
