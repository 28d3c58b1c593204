// Patterns of the instruction table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cohort::emu {

/// One modifier of a pattern: any of `choices`.
struct PatternPart {
  std::vector<std::string_view> choices;
  bool optional = false;
};

/// A pattern taken apart; views into its text.
class Pattern {
 public:
  /// "add[.sat].{s32,u32}": parts are separated by dots; `[.x.y]` makes parts optional one by one.
  explicit Pattern(std::string_view text);

  /// Whether these modifiers are one of the texts that the pattern stands for.
  [[nodiscard]] bool matches(const std::vector<std::string_view>& modifiers) const;
  /// An opcode that both stand for; empty when there is none.
  [[nodiscard]] static std::string common(const Pattern& a, const Pattern& b);
  [[nodiscard]] const std::vector<PatternPart>& parts() const { return parts_; }

 private:
  std::vector<PatternPart> parts_;
};

}  // namespace cohort::emu
