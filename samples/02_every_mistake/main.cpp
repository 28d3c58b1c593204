// Every mistake at once: a graph with mistakes of many kinds. finish() returns all of them in one
// pass, each with its op, field, both values, and the line of this file.
#include <cohort/cohort.h>

#include <cstdio>
#include <string>

using namespace cohort;

int main() {
  Builder g("mistakes");
  Dim T = g.dynamic("T", 65536);
  Dim U = g.dynamic("U", 65536);

  auto x = g.scaled_input("x", {T, 4096}, Format::mxfp8_e4m3);
  auto w = g.scaled_weights("w", {8, 2048, 4096}, Format::mxfp8_e4m3);
  auto ends = g.groups("ends", 8, GroupForm::ends);

  // K differs.
  auto narrow = g.scaled_weights("narrow", {8, 2048, 2048}, Format::mxfp8_e4m3);
  auto a = g.add(GroupedGemm{.a = x, .b = narrow, .groups = ends});
  // No tensor core multiplies MX blocks by f32 factors: it is no conversion that could be guessed.
  auto fp8 = g.scaled_weights("fp8", {8, 2048, 4096}, Format::fp8_block128);
  auto b = g.add(GroupedGemm{.a = x, .b = fp8, .groups = ends});
  // Nine entries counted instead of eight groups.
  auto nine = g.groups("nine", 9, GroupForm::boundaries);
  auto c = g.add(GroupedGemm{.a = x, .b = w, .groups = nine});

  auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends});
  // Rows of another extent.
  auto d = y.then(RowGate{.by = g.row_input("prob", U)});
  // Alpha multiplies the accumulator only.
  auto e = y.then(ReluSquared{}).then(Alpha{.by = g.group_input("alpha", 8)});
  // Stochastic rounding without its scalars; a clamp of 0.
  auto f = y.then(Quantize{.to = Format::mxfp8_e4m3, .rounding = Rounding::stochastic});
  auto h = y.then(ReluSquared{.clamp = 0.0f});
  // Quantised weights without scales, an odd number of fp4 elements, strides that overlap.
  auto raw = g.input("raw", {T, 4096}, DType::e4m3);
  auto odd = g.scaled_input("odd", {T, 4095}, Format::nvfp4);

  g.output("a", a);
  g.output("b", b);
  g.output("c", c);
  g.output("d", d);
  g.output("e", e);
  g.output("f", f.row);
  g.output("h", h);
  g.output("y", y, {.dtype = DType::e4m3});                         // fp8 needs Cast or Quantize
  g.output("wide", y, {.strides = {1024, 1}});                      // rows overlap
  g.output("col", y.then(Quantize{.to = Format::mxfp8_e4m3}).col);  // not asked for
  g.output("y", y);                                                 // the name is taken
  (void)raw;
  (void)odd;

  const Result<Graph> graph = std::move(g).finish();
  if (graph) {
    std::printf("a graph full of mistakes was accepted\n");
    return 1;
  }
  // findings().text() is the same, a line a finding.
  const Findings findings = graph.findings();
  std::printf("No graph: %lld findings, each with the line that made it.\n",
              static_cast<long long>(findings.total()));
  for (const Finding& found : findings) {
    if (found.where.empty() || found.code.empty() || found.message.empty()) return 1;
    std::string text = "\n" + std::string(found.code) + " " + std::string(found.op);
    if (!found.field.empty()) text += "." + std::string(found.field);
    text += "  [" + std::string(found.where) + "]\n  " + std::string(found.message);
    if (!found.hint.empty()) text += "\n  hint: " + std::string(found.hint);
    std::printf("%s\n", text.c_str());
  }
  return findings.total() >= 12 ? 0 : 1;
}
