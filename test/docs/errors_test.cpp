// Every example of docs/errors.md is, word by word, what the library or the command prints for that
// mistake.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include "base/diagnostics.h"
#include "cli/command.h"
#include "emu/decode.h"
#include "emu/run.h"
#include "ptx/parse.h"

namespace cohort::test {
namespace {

using Changes = std::initializer_list<std::pair<std::string, std::string>>;

/// The example of a code; of E-MEMORY there are two.
using Examples = std::multimap<std::string, std::string>;

std::string text_of(const Findings& findings) { return std::string(findings.text()); }

// Between "`` " and " ``" in the lines that begin with "* Example:", by the heading above them.
Examples on_page() {
  std::istringstream lines(read_file(std::string(COHORT_SOURCE_DIR) + "/docs/errors.md"));
  Examples all;
  std::string code;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("### ", 0) == 0) code = line.substr(4);
    if (line.rfind("* Example: ", 0) != 0) continue;
    for (size_t at = line.find("`` "); at != std::string::npos; at = line.find("`` ", at)) {
      const size_t end = line.find(" ``", at + 3);
      if (end == std::string::npos) break;
      all.emplace(code, line.substr(at + 3, end - at - 3));
      at = end + 3;
    }
  }
  return all;
}

// FC1 with names as the page has them.
std::string fc1() {
  Builder g("fc1");
  const Dim t = g.dynamic("T", 65536);
  const auto x = g.input("x", {t, 512}, DType::bf16);
  const auto w = g.weights("w", {8, 256, 512}, DType::bf16);
  const auto ends = g.groups("ends", 8, GroupForm::ends);
  const auto prob = g.row_input("prob", t);
  const auto q = g.add(GroupedGemm{.a = x, .b = w, .groups = ends})
                     .then(ReluSquared{})
                     .then(RowGate{.by = prob})
                     .then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  g.output("q", q.row);
  g.output("q_t", q.col);
  const Result<Graph> graph = std::move(g).finish();
  EXPECT_TRUE(graph) << text_of(graph.findings());
  return graph ? std::string(graph->json()) : "";
}

// What a reader says of FC1 after changes of its text.
std::string damaged(const Changes& changes) {
  std::string text = fc1();
  for (const auto& [from, to] : changes) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
  }
  return text_of(parse_json(text).findings());
}

const char* const kPlainX = R"("role":"tensor","shape":["T",512],"dtype":"bf16")";
std::string scaled_x(const std::string& format, const std::string& layout,
                     const std::string& storage) {
  return R"("role":"scaled_tensor","shape":["T",512],"dtype":"e4m3","format":")" + format +
         R"(","layout":")" + layout + R"(","axis":"row","storage":")" + storage + R"(")";
}

// A value of another builder; the page calls the places a.cpp:12 and a.cpp:20.
std::string foreign_handle() {
  Builder first("first");
  const Tensor x = first.input("x", {64, 32}, DType::bf16, {}, {"a.cpp", 12});
  Builder g("second");
  const auto w = g.weights("w", {2, 32, 32}, DType::bf16);
  const auto ends = g.groups("ends", 2, GroupForm::ends);
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}, {"a.cpp", 20}));
  return text_of(std::move(g).finish().findings());
}

Examples of_graphs() {
  const std::string gate = R"({"op":"row_gate","in":"%1","by":"prob"})";
  const std::string plain_w = R"("shape":[8,256,512],"dtype":"bf16","format":null,"layout":null)";
  return {
      {"E-ALIGNMENT", damaged({{R"("alignment":16)", R"("alignment":24)"}})},
      {"E-ATTRIBUTE", damaged({{kPlainX, scaled_x("fp8_row", "linear", "transposed")},
                               {plain_w, R"("shape":[8,256,512],"dtype":"e4m3",)"
                                         R"("format":"fp8_tensor","layout":"linear")"}})},
      {"E-CHAIN", damaged({{R"({"name":"prob","role":"row_vec","shape":["T"])",
                            R"({"name":"prob","role":"group_vec","shape":[8])"},
                           {gate, R"({"op":"alpha","in":"%1","by":"prob","power":1})"}})},
      {"E-DTYPE", damaged({{kPlainX, scaled_x("fp8_row", "linear", "as_rows")},
                           {plain_w, R"("shape":[8,256,512],"dtype":"e2m1","format":"mxfp4",)"
                                     R"("layout":"tiled_128x4")"}})},
      {"E-GROUPS", damaged({{R"({"name":"ends","role":"groups","shape":[8])",
                             R"({"name":"rows","role":"groups","shape":[9])"},
                            {R"("groups":"ends")", R"("groups":"rows")"}})},
      {"E-HANDLE", foreign_handle()},
      {"E-LAYOUT", damaged({{kPlainX, scaled_x("mxfp8_e4m3", "global", "as_rows")},
                            {plain_w, R"("shape":[8,256,512],"dtype":"e4m3",)"
                                      R"("format":"mxfp8_e4m3","layout":"tiled_128x4")"}})},
      {"E-LIMIT", damaged({{R"("bound":65536)", R"("bound":999999999999999999)"}})},
      {"E-NAME",
       damaged({{R"({"name":"w")",
                 R"({"name":"x","role":"row_vec","shape":["T"],"dtype":"f32"},{"name":"w")"}})},
      {"E-OUTPUT", damaged({{R"("axes":"both")", R"("axes":"row")"}})},
      {"E-RANK", damaged({{R"([8,256,512])", R"([8,256])"}})},
      {"E-ROLE", damaged({{R"("by":"prob")", R"("by":"ends")"}})},
      {"E-SHAPE", damaged({{R"([8,256,512])", R"([8,256,384])"}})},
      {"E-STRIDE", damaged({{R"("strides":null)", R"("strides":[0,1])"}})},
      {"E-OVERFLOW", damaged({{R"(["T",512])", R"(["T",281474976710656])"}})},
  };
}

Examples of_texts() {
  return {
      {"E-UNUSED", damaged({{R"({"op":"row_gate","in":"%1","by":"prob"})",
                             R"({"op":"bias","in":"%1","by":"prob","scaled_by":null})"},
                            {R"({"name":"prob","role":"row_vec","shape":["T"])",
                             R"({"name":"prob","role":"group_mat","shape":[8,256])"},
                            {R"("in":"%2")", R"("in":"%1")"}})},
      {"E-JSON", damaged({{R"("bound":65536)", R"("bound":"many")"}})},
      {"E-KEY", damaged({{R"("gather":null)", R"("gahter":null)"}})},
      {"E-OP", damaged({{R"("op":"grouped_gemm")", R"("op":"grouped_gem")"}})},
      {"E-REFERENCE", damaged({{R"("by":"prob")", R"("by":"prop")"}})},
      {"E-VERSION", damaged({{R"("cohort":1)", R"("cohort":2)"}})},
      {"E-WORD", damaged({{R"("axes":"both")", R"("axes":"bth")"}})},
  };
}

// An output scattered to rows of which nothing says how many there are.
std::string scattered_without_rows() {
  Builder g("scattered");
  const auto index = g.index("index", 4);
  g.output("y", g.add(Load{.x = g.input("x", {4, 8}, DType::f32)}),
           {.scatter = index, .rows = Dim(9)});
  const Result<Graph> graph = std::move(g).finish();
  std::string text(graph->json());
  text.replace(text.find(R"("rows":9)"), 8, R"("rows":null)");
  return text_of(parse_json(text).findings());
}

// A product with token numbers, and memory for four tokens.
class Bound {
 public:
  static constexpr int64_t kTokens = 4;

  Bound() : graph_(make("fc1")), plan_(make_plan(graph_, Device::cpu())) {
    token_[3] = 4096;
    views_ = {{"x", TensorView::packed(memory_, DType::bf16, {512, 1})},
              {"w", TensorView::packed(memory_ + 2048, DType::bf16, {2, 4, 1})},
              {"ends", TensorView::packed(ends_, DType::i32, {2})},
              {"token", TensorView::packed(token_, DType::i32, {kTokens})},
              {"y", TensorView::packed(memory_ + 4096, DType::f32, {kTokens, 4})}};
  }
  [[nodiscard]] TensorView& view(size_t i) { return views_[i].view; }
  [[nodiscard]] std::vector<NamedTensor>& views() { return views_; }
  [[nodiscard]] std::string bind(int64_t tokens = kTokens) const {
    return text_of(plan_->bind(*graph_, {{"T", tokens}}, views_).findings());
  }
  [[nodiscard]] std::string run(const RunOptions& options = {}) const {
    const Result<Execution> execution = plan_->bind(*graph_, {{"T", kTokens}}, views_);
    EXPECT_TRUE(execution) << text_of(execution.findings());
    return text_of(execution->run(nullptr, {}, options).findings());
  }
  void name_token(int32_t token) { token_[3] = token; }

  [[nodiscard]] std::string bind_another_graph() const {
    Builder g("fc1");
    g.output("y", g.add(Load{.x = g.input("x", {4, 8}, DType::f32)}));
    return text_of(plan_->bind(*std::move(g).finish(), {}, {}).findings());
  }
  [[nodiscard]] std::string plan_for(std::string_view engine) const {
    PlanOptions options;
    options.engine = engine;
    return text_of(make_plan(graph_, Device::cpu(), options).findings());
  }

 private:
  static Result<Graph> make(std::string_view name) {
    Builder g(name);
    const auto x = g.input("x", {512, 1}, DType::bf16);
    const auto w = g.weights("w", {2, 4, 1}, DType::bf16);
    const auto ends = g.groups("ends", 2, GroupForm::ends);
    const auto token = g.index("token", g.dynamic("T", 65536));
    g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends, .gather = token}));
    return std::move(g).finish();
  }

  alignas(64) std::byte memory_[8192] = {};
  alignas(64) int32_t ends_[2] = {2, kTokens};
  alignas(64) int32_t token_[kTokens] = {};
  Result<Graph> graph_;
  Result<Plan> plan_;
  std::vector<NamedTensor> views_;
};

// Two products, one after the other: what lies between them is kept in the workspace.
std::string no_workspace() {
  alignas(64) static std::byte memory[1 << 20] = {};
  Builder g("two");
  const auto w = g.input("w", {256, 256}, DType::bf16);
  const Value first = g.add(Matmul{.a = g.input("x", {256, 256}, DType::bf16), .b = w});
  g.output("y", g.add(Matmul{.a = first.then(Cast{.to = DType::bf16}), .b = w}));
  const Result<Graph> graph = std::move(g).finish();
  EXPECT_TRUE(graph) << text_of(graph.findings());
  const Result<Plan> plan = make_plan(graph, Device::cpu());
  const auto bf16 = [](std::byte* at) { return TensorView::packed(at, DType::bf16, {256, 256}); };
  const TensorView y = TensorView::packed(memory + (1 << 19), DType::f32, {256, 256});
  const Result<Execution> e =
      plan->bind(*graph, {}, {{"w", bf16(memory)}, {"x", bf16(memory + (1 << 17))}, {"y", y}});
  EXPECT_TRUE(e) << text_of(e.findings());
  return text_of(e->run(nullptr).findings());
}

// A quantised tensor without its scales.
std::string no_scales() {
  alignas(64) static std::byte memory[4096] = {};
  Builder g("load");
  const auto x = g.scaled_input("x", {4, 32}, Format::mxfp8_e4m3);
  g.output("y", g.add(Load{.x = x}));
  const Result<Graph> graph = std::move(g).finish();
  const Result<Plan> plan = make_plan(graph, Device::cpu());
  const TensorView codes = TensorView::packed(memory, DType::e4m3, {4, 32});
  const TensorView y = TensorView::packed(memory + 1024, DType::f32, {4, 32});
  return text_of(plan->bind(*graph, {}, {{"x", codes}, {"y", y}}).findings());
}

Examples of_plans() {
  Examples all{{"E-DEVICE", text_of(Device::find("sm99").findings())},
               {"E-INDEX", Bound().run()},
               {"E-PLAN", Bound().bind_another_graph()},
               {"E-SIZE", Bound().bind(70000)},
               {"E-TENSOR", no_scales()},
               {"E-UNSUPPORTED", Bound().plan_for("native")},
               {"E-WORKSPACE", no_workspace()}};
  Bound shared;
  shared.view(4).data = shared.view(0).data;
  all.emplace("E-OVERLAP", shared.bind());
  Bound null;
  null.view(0).data = nullptr;
  all.emplace("E-POINTER", null.bind());
  Bound stopped;
  stopped.name_token(0);
  RunOptions options;
  options.progress = [](int64_t, int64_t, void*) { return false; };
  all.emplace("E-STOPPED", stopped.run(options));
  return all;
}

// A kernel with this statement on its line 12.
std::string ptx_says(const std::string& statement) {
  const std::string text =
      ".version 9.0\n.target sm_100a\n.address_size 64\n"
      ".entry k() { .reg .b32 %r<10>;\n\n\n\n\n\n\n\n" +
      statement + "\nret;\n}\n";
  return text_of(ptx::parse(text, {.name = "kernel.ptx"}).findings());
}

// Clusters of four CTAs in a grid of ten.
std::string launch_says() {
  const Result<ptx::Module> module =
      ptx::parse(".version 9.0\n.target sm_100a\n.address_size 64\n.entry vector_add() { ret; }\n",
                 {.name = "t"});
  EXPECT_TRUE(module) << text_of(module.findings());
  const auto kernel = emu::decode(*module, "vector_add", {});
  EXPECT_TRUE(kernel) << text_of(kernel.findings());
  emu::RunInput in;
  in.launches.emplace_back();
  in.launches[0].kernel = *kernel;
  in.launches[0].grid.x = 10;
  in.launches[0].cluster.x = 4;
  return text_of(emu::run(std::move(in)).findings());
}

Examples of_ptx() {
  return {{"E-LAUNCH", launch_says()},
          {"E-PTX", ptx_says("add.s32 %r1, %r2, 3")},
          {"E-SYMBOL", ptx_says("mov.b32 %r1, %r10;")}};
}

// What the guard at the library's border makes of an exception.
template <class E>
std::string guarded(const E& exception, const char* doing) {
  try {
    throw exception;
  } catch (...) {
    return text_of(base::findings_of_current_exception(doing));
  }
}

class ErrorExamples : public Command {
 protected:
  // The first line that the command says, run where the test's files are.
  [[nodiscard]] std::string says(const std::string& arguments) const {
    const Said s = shell("cd " + path("") + "; " + COHORT_COMMAND + " " + arguments);
    EXPECT_NE(s.exit, 0) << arguments;
    return s.err.substr(0, s.err.find('\n'));
  }
  [[nodiscard]] std::string no_memory() const {
    Builder g("large");
    const auto w = g.input("w", {int64_t{1} << 40, 512}, DType::bf16);
    g.output("y", g.add(Matmul{.a = g.input("x", {1, 512}, DType::bf16), .b = w}));
    write("large.json", std::string(std::move(g).finish()->json()));
    std::string said = says("run large.json --random 1");
    // The page has another machine.
    const auto most = std::to_string(int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE));
    const size_t at = said.rfind(most);
    return at == std::string::npos ? said : said.replace(at, most.size(), "8589934592");
  }
  [[nodiscard]] std::string different() const {
    const std::string run = "run " + sample("matmul_relu") + " --size M=2 ";
    EXPECT_EQ(cohort(run + "--random 1 --outputs " + path("y")).exit, 0);
    return says(run + "--random 2 --compare reference --results y");
  }
  [[nodiscard]] Examples of_files_and_the_machine() const {
    write("z.safetensors", std::string("\2\0\0\0\0\0\0\0[]", 10));
    return {{"E-DIFFERENT", different()},
            {"E-FILE", says("check nofile")},
            {"E-SAFETENSORS", says("run " + sample("matmul_relu") + " --inputs z.safetensors")},
            {"E-USAGE", says("bogus")},
            {"E-SAMPLE", says("sample nope")},
            {"E-ENVIRONMENT", text_of(Device::current().findings())},
            {"E-MEMORY", guarded(std::bad_alloc(), "planning")},
            {"E-MEMORY", no_memory()},
            {"E-INTERNAL", guarded(std::logic_error("REASON"), "planning")}};
  }
};

TEST_F(ErrorExamples, AreWhatIsPrinted) {
  Examples printed{{"E-MISSING", scattered_without_rows()}};
  for (const Examples& some :
       {of_graphs(), of_texts(), of_plans(), of_ptx(), of_files_and_the_machine()}) {
    printed.insert(some.begin(), some.end());
  }
  const Examples examples = on_page();
  EXPECT_EQ(examples.size(), printed.size());
  for (const auto& [code, text] : printed) {
    const auto [begin, end] = examples.equal_range(code);
    EXPECT_TRUE(std::any_of(begin, end, [&t = text](const auto& e) { return e.second == t; }))
        << "docs/errors.md, " << code << ": printed is\n"
        << text;
  }
}

}  // namespace
}  // namespace cohort::test
