// Reading of PTX: a text of n lines as compilers write them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "ptx/parse.h"

namespace {

using namespace cohort;

// Kernels of the mix that a tensor-core kernel has, each with names of its own, until there are
// `lines` lines.
std::string text_of(int64_t lines) {
  std::ifstream in(std::string(COHORT_SOURCE_DIR) + "/test/ptx/data/pipeline.ptx");
  std::stringstream content;
  content << in.rdbuf();
  const std::string all = content.str();
  const size_t begin = all.find(".visible .entry");
  const size_t end = all.rfind("\n}\n") + 3;
  if (begin == std::string::npos || end < begin) std::abort();
  const std::string kernel = all.substr(begin, end - begin);
  std::string text = all.substr(0, begin);
  const auto count = [](const std::string& s) {
    return static_cast<int64_t>(std::count(s.begin(), s.end(), '\n'));
  };
  const int64_t lines_of_kernel = count(kernel);
  int64_t now = count(text);
  for (int i = 0; now + lines_of_kernel <= lines; ++i) {
    std::string copy = kernel;
    const std::string name = "pipeline";
    const std::string other = "kernel_" + std::to_string(i);
    for (size_t at = copy.find(name); at != std::string::npos; at = copy.find(name, at + 1)) {
      copy.replace(at, name.size(), other);
    }
    text += copy;
    now += lines_of_kernel;
  }
  return text + std::string(static_cast<size_t>(lines - now), '\n');
}

void read(benchmark::State& state) {
  const std::string text = text_of(state.range(0));
  for (auto _ : state) {
    Result<ptx::Module> module = ptx::parse(text);
    if (!module) {
      state.SkipWithError(std::string(module.findings().text()).c_str());
      break;
    }
    benchmark::DoNotOptimize(&module);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(read)->Arg(10000)->Arg(30000)->Unit(benchmark::kMillisecond);

}  // namespace
