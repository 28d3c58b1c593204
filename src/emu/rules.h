// What separates the profiles `strict` (the PTX text) and `practice` (what public kernels rely on).
#pragma once

#include <array>
#include <string_view>

namespace cohort::emu {

/// Each member: whether that relaxation holds. All false is `strict`.
struct Rules {
#define COHORT_RULE(name, by, reason) bool name = false;
#include "emu/rules.def"
#undef COHORT_RULE
};

/// A line of the table.
struct RuleLine {
  std::string_view name;
  std::string_view by;  ///< Who applies it: "race" or "machine".
  std::string_view reason;
  bool Rules::*member;
};

inline constexpr std::array kRuleLines = {
#define COHORT_RULE(name, by, reason) RuleLine{#name, #by, reason, &Rules::name},
#include "emu/rules.def"
#undef COHORT_RULE
};

/// The PTX text.
constexpr Rules strict_rules() { return {}; }

/// What public kernels rely on.
constexpr Rules practice_rules() {
  Rules rules;
  for (const RuleLine& line : kRuleLines) rules.*line.member = true;
  return rules;
}

}  // namespace cohort::emu
