// Every mistake of a graph at once, and each once: mistakes that stand beside each other in a node,
// along a chain and in an output hide nothing of each other.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include "fixtures/findings.h"

namespace cohort {
namespace {

using Changes = std::vector<std::pair<std::string, std::string>>;

// FC1 with what may be misspelt, and a second chain from the first one's product.
std::string fc1() {
  Builder g("fc1");
  const Dim t = g.dynamic("T", 64);
  const auto x = g.scaled_input("x", {t, 64}, Format::mxfp8_e4m3);
  const auto w = g.scaled_weights("w", {2, 32, 64}, Format::mxfp8_e4m3);
  const auto ends = g.groups("ends", 2, GroupForm::ends);
  const auto prob = g.row_input("prob", t);
  const auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends});
  const auto q = y.then(ReluSquared{})
                     .then(RowGate{.by = prob})
                     .then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  g.output("y", q.row);
  g.output("y_t", q.col);
  g.output("saved", y, {.dtype = DType::bf16});
  const Result<Graph> graph = std::move(g).finish();
  EXPECT_TRUE(graph) << graph.findings().text();
  return std::string(graph->json());
}

// "CODE path" of each finding, after changes of the text.
std::string mistakes(const Changes& changes) {
  std::string text = fc1();
  for (const auto& [from, to] : changes) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
  }
  const Findings findings = parse_json(text).findings();
  std::string s;
  for (const Finding& f : findings) {
    if (!s.empty()) s += "; ";
    s += std::string(f.code) + " " + std::string(f.where);
  }
  return s;
}

const std::pair<std::string, std::string> kWrongK{"[2,32,64]", "[2,32,96]"};
const std::pair<std::string, std::string> kLinear{R"("col_layout":"per_group")",
                                                  R"("col_layout":"linear")"};
const std::pair<std::string, std::string> kNoSeed{R"("rounding":"nearest_even")",
                                                  R"("rounding":"stochastic")"};
// An input that nobody uses.
std::pair<std::string, std::string> spare(const std::string& role) {
  return {R"({"name":"prob")", R"({"name":"spare","role":")" + role +
                                   R"(","shape":["T"],"dtype":"f32"},)" + "\n" +
                                   R"({"name":"prob")"};
}

TEST(EveryMistake, ThereIsNoneInTheGraph) { EXPECT_TRUE(parse_json(fc1())); }

TEST(EveryMistake, OfAttributesBehindAProductThatIsWrong) {
  const std::string k = "E-SHAPE /nodes/0/b";
  EXPECT_EQ(mistakes({kWrongK}), k);
  EXPECT_EQ(mistakes({kWrongK, kNoSeed}),
            k + "; E-ATTRIBUTE /nodes/3/seed; E-ATTRIBUTE /nodes/3/offset");
  EXPECT_EQ(mistakes({kWrongK, kLinear}), k + "; E-ATTRIBUTE /nodes/3/col_layout");
  EXPECT_EQ(mistakes({kWrongK, {R"("element":null)", R"("element":"e5m2")"}}),
            k + "; E-ATTRIBUTE /nodes/3/element");
}

// What is wrong with a product or an op says nothing of how many rows there are.
TEST(EveryMistake, OfRowsBehindAProductThatIsWrong) {
  const std::string k = "E-SHAPE /nodes/0/b";
  const std::pair<std::string, std::string> short_gate{
      R"({"name":"prob","role":"row_vec","shape":["T"])",
      R"({"name":"prob","role":"row_vec","shape":[63])"};
  const std::pair<std::string, std::string> bad_clamp{R"("clamp":null)", R"("clamp":-1)"};
  EXPECT_EQ(mistakes({kWrongK, short_gate}), k + "; E-SHAPE /nodes/2/by");
  EXPECT_EQ(mistakes({kWrongK, bad_clamp, short_gate}),
            k + "; E-ATTRIBUTE /nodes/1/clamp; E-SHAPE /nodes/2/by");
  EXPECT_EQ(mistakes({bad_clamp, short_gate}), "E-ATTRIBUTE /nodes/1/clamp; E-SHAPE /nodes/2/by");
  // Features follow from the operand that is wrong, perhaps: nothing is said of them.
  const std::pair<std::string, std::string> add{
      R"({"op":"row_gate","in":"%1","by":"prob"})",
      R"({"op":"bias","in":"%1","by":"prob","scaled_by":null})"};
  const std::pair<std::string, std::string> narrow{
      R"({"name":"prob","role":"row_vec","shape":["T"])",
      R"({"name":"prob","role":"group_mat","shape":[2,8])"};
  EXPECT_EQ(mistakes({kWrongK, add, narrow}), k);
  EXPECT_EQ(mistakes({add, narrow}), "E-SHAPE /nodes/2/by");
  // Rows of an operand that is not known are not known either.
  EXPECT_EQ(mistakes({{R"("a":"x")", R"("a":"ends")"}, short_gate}), "E-ROLE /nodes/0/a");
}

TEST(EveryMistake, OfOneNode) {
  const std::string k = "E-SHAPE /nodes/0/b";
  // An operand of a wrong role says nothing of the others.
  EXPECT_EQ(mistakes({kWrongK, {R"("gather":null)", R"("gather":"ends")"}}),
            "E-ROLE /nodes/0/gather; " + k);
  EXPECT_EQ(mistakes({kWrongK, {R"("gather":null)", R"("gather":"nope")"}}),
            "E-REFERENCE /nodes/0/gather; " + k);
  EXPECT_EQ(mistakes({kWrongK, {R"("groups":"ends")", R"("groups":"prob")"}}),
            "E-ROLE /nodes/0/groups; " + k);
  EXPECT_EQ(mistakes({{R"("qmax":null)", R"("qmax":-1)"}, kLinear, kNoSeed}),
            "E-ATTRIBUTE /nodes/3/qmax; E-ATTRIBUTE /nodes/3/col_layout; "
            "E-ATTRIBUTE /nodes/3/seed; E-ATTRIBUTE /nodes/3/offset");
  EXPECT_EQ(mistakes({{R"("to":"mxfp8_e4m3")", R"("to":"mxfp9")"}, kNoSeed, kLinear}),
            "E-WORD /nodes/3/to; E-ATTRIBUTE /nodes/3/col_layout; E-ATTRIBUTE /nodes/3/seed; "
            "E-ATTRIBUTE /nodes/3/offset");
  // The kinds of numbers and K of one product.
  EXPECT_EQ(mistakes({kWrongK,
                      {R"([2,32,96],"dtype":"e4m3","format":"mxfp8_e4m3","layout":"tiled_128x4")",
                       R"([2,32,96],"dtype":"e4m3","format":"fp8_tensor","layout":"linear")"}}),
            k + "; E-DTYPE /nodes/0/b");
}

TEST(EveryMistake, OfAnInput) {
  const std::string place = "/inputs/0/";
  EXPECT_EQ(mistakes({{R"(["T",64])", R"(["T",-64])"}, {R"("alignment":16)", R"("alignment":3)"}}),
            "E-SHAPE " + place + "shape; E-ALIGNMENT " + place + "alignment");
  EXPECT_EQ(mistakes({{R"("layout":"tiled_128x4")", R"("layout":"per_group")"},
                      {R"("alignment":16)", R"("alignment":3)"}}),
            "E-LAYOUT " + place + "layout; E-ALIGNMENT " + place + "alignment");
  EXPECT_EQ(mistakes({{R"("shape":[2],"dtype":"i32","form":"ends","row_alignment":1)",
                       R"("shape":[-2],"dtype":"f32","form":"ends","row_alignment":0)"}}),
            "E-SHAPE /inputs/2/shape; E-DTYPE /inputs/2/dtype; E-GROUPS /inputs/2/row_alignment");
  // What C++ calls the element of a format stands under dtype.
  EXPECT_EQ(mistakes({{R"("dtype":"e4m3","format":"mxfp8_e4m3")",
                       R"("dtype":"e5m2","format":"mxfp8_e4m3")"}}),
            "E-DTYPE " + place + "dtype");
}

// The members of an output that say where it lies, in the order of the text.
std::string lies(const std::string& strides, const std::string& alignment,
                 const std::string& scatter, const std::string& top_k, const std::string& rows) {
  return R"("strides":)" + strides + R"(,"alignment":)" + alignment +
         R"(,"discrete":false,"scatter":)" + scatter + R"(,"slot":null,"top_k":)" + top_k +
         R"(,"rows":)" + rows + "}";
}

// A change of the output of that value.
std::pair<std::string, std::string> output(const std::string& head, const std::string& to) {
  return {head + lies("null", "16", "null", "1", "null"), to};
}

TEST(EveryMistake, OfAnOutput) {
  const std::string y = R"("value":"%3.row","dtype":"e4m3","tail":"leave",)";
  const auto top_k = output(y, y + lies("null", "3", "null", "3", "null"));
  EXPECT_EQ(mistakes({top_k}), "E-ATTRIBUTE /outputs/0/top_k; E-ALIGNMENT /outputs/0/alignment");
  EXPECT_EQ(mistakes({kWrongK, top_k}),
            "E-SHAPE /nodes/0/b; E-ATTRIBUTE /outputs/0/top_k; E-ALIGNMENT /outputs/0/alignment");
  EXPECT_EQ(mistakes({output(y, y + lies("[1]", "3", "null", "3", "null"))}),
            "E-ATTRIBUTE /outputs/0/top_k; E-ALIGNMENT /outputs/0/alignment; "
            "E-STRIDE /outputs/0/strides");
  const std::string wrong = R"("value":"%3.rows","dtype":"e4m3","tail":"left",)";
  EXPECT_EQ(mistakes({output(y, wrong + lies("null", "3", "null", "3", "null"))}),
            "E-REFERENCE /outputs/0/value; E-WORD /outputs/0/tail; E-ATTRIBUTE /outputs/0/top_k; "
            "E-ALIGNMENT /outputs/0/alignment");
  // A type of the output that is none of its value says nothing of where it may lie.
  const std::string saved = R"("value":"%0","dtype":"bf16","tail":"leave",)";
  const std::string long_type = R"("value":"%0","dtype":"i64","tail":"leave",)";
  EXPECT_EQ(mistakes({output(saved, long_type + lies("null", "2", "null", "1", "null"))}),
            "E-DTYPE /outputs/2/dtype");
}

TEST(EveryMistake, OfAScatteredOutput) {
  const std::string saved = R"("value":"%0","dtype":"bf16","tail":"leave",)";
  const auto scatter = [&](const std::string& to) { return output(saved, saved + to); };
  EXPECT_EQ(mistakes({scatter(lies("[8]", "16", R"("nope")", "0", "null"))}),
            "E-REFERENCE /outputs/2/scatter; E-ATTRIBUTE /outputs/2/top_k; "
            "E-MISSING /outputs/2/rows; E-STRIDE /outputs/2/strides");
  EXPECT_EQ(mistakes({scatter(lies("null", "5", R"("ends")", "1", "8"))}),
            "E-ROLE /outputs/2/scatter; E-ALIGNMENT /outputs/2/alignment");
  EXPECT_EQ(mistakes({scatter(lies("null", "5", "7", "2", R"("S")"))}),
            "E-JSON /outputs/2/scatter; E-REFERENCE /outputs/2/rows; "
            "E-ALIGNMENT /outputs/2/alignment");
}

TEST(EveryMistake, UnusedIsWhatNoBrokenReferenceExplains) {
  const std::pair<std::string, std::string> near{R"("by":"prob")", R"("by":"prb")"};
  const std::pair<std::string, std::string> far{R"("by":"prob")", R"("by":"nobody")"};
  const std::string by = "E-REFERENCE /nodes/2/by";
  EXPECT_EQ(mistakes({near}), by);
  EXPECT_EQ(mistakes({far}), by);
  EXPECT_EQ(mistakes({near, spare("col_vec")}), by + "; E-UNUSED /inputs/3");
  EXPECT_EQ(mistakes({far, spare("col_vec")}), by + "; E-UNUSED /inputs/3");
  // Both could be meant: the nearer name is.
  EXPECT_EQ(mistakes({near, spare("row_vec")}), by + "; E-UNUSED /inputs/3");
  EXPECT_EQ(mistakes({{R"("by":"prob")", R"("by":"ends")"}, spare("col_vec")}),
            "E-ROLE /nodes/2/by; E-UNUSED /inputs/3");
  // A node that nothing leads to, and one that a reference missed.
  EXPECT_EQ(mistakes({{R"("value":"%3.row")", R"("value":"%9")"}}), "E-REFERENCE /outputs/0/value");
  EXPECT_EQ(mistakes({{R"("in":"%2")", R"("in":"%7")"}, spare("row_vec")}),
            "E-REFERENCE /nodes/3/in; E-UNUSED /inputs/3");
  EXPECT_EQ(mistakes({{R"("op":"row_gate")", R"("op":"row_gates")"}, spare("row_vec")}),
            "E-OP /nodes/2/op; E-UNUSED /inputs/3");
  // A key that is misspelt: the operand has its consumer.
  EXPECT_EQ(mistakes({{R"("gather":null)", R"("gathers":"spare")"}, spare("row_vec")}),
            "E-KEY /nodes/0/gathers");
}

// A dim that only a faulty input has is used all the same.
TEST(EveryMistake, AFaultyInputUsesItsDims) {
  const auto code = [](const std::string& from, const std::string& to) {
    Builder g("one");
    g.output("y", g.add(Load{.x = g.input("x", {g.dynamic("T", 64), 8}, DType::f32)}));
    std::string text(std::move(g).finish()->json());
    EXPECT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    const Findings f = parse_json(text).findings();
    return std::string(test::only(f).code) + " " + std::string(f[0].where);
  };
  EXPECT_EQ(code(R"("role":"tensor")", R"("role":"tensr")"), "E-WORD /inputs/0/role");
  EXPECT_EQ(code(R"("role":"tensor")", R"("role":"value")"), "E-ROLE /inputs/0/role");
  EXPECT_EQ(code(R"("role":"tensor",)", ""), "E-KEY /inputs/0/role");
  EXPECT_EQ(code(R"(["T",8])", R"(["Q","T"])"), "E-REFERENCE /inputs/0/shape");
  EXPECT_EQ(code(R"(["T",8])", R"([true,"T"])"), "E-JSON /inputs/0/shape");
  EXPECT_EQ(code(R"(["T",8])", R"("T")"), "E-JSON /inputs/0/shape");
  EXPECT_EQ(code(R"(["T",8])", "[1,1,1,1,1,1,1,1,\"T\"]"), "E-LIMIT /inputs/0/shape");
  EXPECT_EQ(code(R"(["T",8])", "[8,8]"), "E-UNUSED /dims/0");
}

// Which input a reference means is not known: no op says that it has the wrong role.
TEST(Names, TwiceIsOneMistake) {
  EXPECT_EQ(mistakes({{R"("name":"ends")", R"("name":"prob")"},
                      {R"("groups":"ends")", R"("groups":"prob")"}}),
            "E-NAME /inputs/3/name");
  EXPECT_EQ(mistakes({{R"("name":"w")", R"("name":"x")"}, {R"("b":"w")", R"("b":"x")"}}),
            "E-NAME /inputs/1/name");
}

TEST(Ops, WordsOfModesAreHints) {
  const auto hint = [](const std::string& op) {
    std::string text = fc1();
    const std::string known = "relu_squared";
    text.replace(text.find(known), known.size(), op);
    return std::string(test::only(parse_json(text).findings()).hint);
  };
  for (const std::string mode : {"relu", "silu", "sigmoid", "tanh"}) {
    EXPECT_EQ(hint(mode), "did you mean unary with mode " + mode + "?");
  }
  EXPECT_EQ(hint("mul"), "did you mean binary with mode mul?");
  EXPECT_EQ(hint("swiglu"), "did you mean glu with act swiglu, or d_glu with act swiglu?");
  EXPECT_EQ(hint("relu_sqared"), "did you mean 'relu_squared'?");
  EXPECT_EQ(hint("nobody"), "");
}

}  // namespace
}  // namespace cohort
