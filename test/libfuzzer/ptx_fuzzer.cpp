// libFuzzer target: any bytes are refused with findings, or are a module whose own text reads as
// the same module.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ptx/dump.h"
#include "ptx/parse.h"
#include "ptx/print.h"

namespace {

using cohort::ptx::Module;

void demand(bool good, const char* what, std::string_view text) {
  if (good) return;
  std::fprintf(stderr, "%s\n%.*s\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // Small limits are met more often.
  const cohort::ptx::Limits limits{.name_bytes = 2000, .operands = 300, .image_bytes = 1 << 16};
  const cohort::Result<Module> module = cohort::ptx::parse(text, {.limits = limits});
  if (!module) {
    const cohort::Findings findings = module.findings();
    demand(findings.size() > 0 && !findings.text().empty(), "refused in silence", text);
    return 0;
  }
  const std::string printed = cohort::ptx::print(*module);
  const cohort::Result<Module> again = cohort::ptx::parse(printed);
  demand(static_cast<bool>(again), "its own text is refused", printed);
  demand(cohort::ptx::dump(*again) == cohort::ptx::dump(*module),
         "its own text reads as another module", printed);
  demand(cohort::ptx::print(*again) == printed, "its own text is printed otherwise", printed);
  return 0;
}
