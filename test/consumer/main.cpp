#include <cstdio>
#include <string>

#include <cohort/cohort.h>

// Strings of the user's ABI; none crosses the border of the library.
std::string plan_text(const cohort::Graph& graph);

int main() {
  cohort::Builder g("consumer");
  const auto t = g.dynamic("T", 64);
  const auto x = g.input("x", {t, 32}, cohort::DType::bf16);
  const auto w = g.weights("w", {2, 16, 32}, cohort::DType::bf16);
  const auto ends = g.groups("ends", 2, cohort::GroupForm::ends);
  g.output("y", g.add(cohort::GroupedGemm{.a = x, .b = w, .groups = ends}));
  const cohort::Result<cohort::Graph> graph = std::move(g).finish();
  if (!graph) {
    const std::string text(graph.findings().text());
    std::printf("%s\n", text.c_str());
    return 1;
  }
  // A mistake comes back as findings, without exceptions.
  cohort::Builder wrong("wrong");
  if (std::move(wrong).finish()) return 2;
  const std::string text = plan_text(*graph);
  std::printf("%s\n%s\n", std::string(graph->json()).c_str(), text.c_str());
  return text.empty() ? 3 : 0;
}
