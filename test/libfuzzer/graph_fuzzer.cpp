// libFuzzer target: any bytes are refused with findings, or are a graph that reads back as itself.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <cohort/cohort.h>

namespace {

void demand(bool good, const char* what, std::string_view text) {
  if (good) return;
  std::fprintf(stderr, "%s\n%.*s\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const cohort::Result<cohort::Graph> graph = cohort::parse_json(text);
  if (!graph) {
    const cohort::Findings findings = graph.findings();
    demand(findings.size() > 0 && !findings.text().empty(), "refused in silence", text);
    demand(findings.kind() != cohort::ErrorKind::internal, "E-INTERNAL", findings.text());
    return 0;
  }
  const std::string json(graph->json());
  const cohort::Result<cohort::Graph> again = cohort::parse_json(json);
  demand(static_cast<bool>(again), "its own text is refused", json);
  demand(again->json() == json, "its own text reads as another graph", json);
  demand(again->key() == graph->key(), "its own text has another key", json);
  return 0;
}
