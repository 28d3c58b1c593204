#include "base/options.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/isa_level.h"

namespace cohort::base {

const Options& options() {
  static const Options all = [] {
    Options o;
    for (Variable& v : o.variables) {
      if (const char* value = std::getenv(v.name); value != nullptr) v.value = value;
    }
    if (const std::string& isa = o.variables[0].value; !isa.empty()) {
      o.isa = isa;
      if (o.isa != "v1" && o.isa != "v3" && o.isa != "v4") {
        o.fault = "COHORT_ISA: wanted v1, v3 or v4, got " + o.isa.substr(0, 64);
      }
    }
    if (const std::string_view text = o.variables[1].value; !text.empty()) {
      int32_t n = 0;
      const auto end = std::from_chars(text.data(), text.data() + text.size(), n);
      const bool is_whole = end.ec == std::errc() && end.ptr == text.data() + text.size();
      if (is_whole && n > 0 && n <= 4096) {
        o.threads = n;
      } else {
        o.fault += o.fault.empty() ? "" : "; ";
        o.fault += "COHORT_THREADS: wanted 1 .. 4096, got " + std::string(text.substr(0, 64));
      }
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
