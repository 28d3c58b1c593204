#include "base/options.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/isa_level.h"

namespace cohort::base {

const Options& options() {
  static const Options all = [] {
    Options o;
    if (const char* isa = std::getenv("COHORT_ISA"); isa != nullptr) o.isa = isa;
    if (const char* threads = std::getenv("COHORT_THREADS"); threads != nullptr) {
      const std::string_view text(threads);
      int32_t n = 0;
      const auto end = std::from_chars(text.data(), text.data() + text.size(), n);
      if (end.ec == std::errc() && n > 0 && n <= 4096) o.threads = n;
    }
    return o;
  }();
  return all;
}

IsaLevel isa_level() {
  static const IsaLevel level = [] {
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    const std::string& most = options().isa;
    if (v4 && (most.empty() || most == "v4")) return IsaLevel::v4;
    return v3 && most != "v1" ? IsaLevel::v3 : IsaLevel::v1;
  }();
  return level;
}

}  // namespace cohort::base
