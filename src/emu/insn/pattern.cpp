#include "emu/insn/pattern.h"

#include <algorithm>

namespace cohort::emu {

namespace {

// "{a,b}" or "a", cut at commas.
std::vector<std::string_view> choices_of(std::string_view text) {
  if (text.starts_with('{')) text = text.substr(1, text.size() - 2);
  std::vector<std::string_view> found;
  while (true) {
    const size_t comma = text.find(',');
    found.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return found;
    text.remove_prefix(comma + 1);
  }
}

bool matches_from(const std::vector<PatternPart>& parts, size_t i,
                  const std::vector<std::string_view>& modifiers, size_t j) {
  if (i == parts.size()) return j == modifiers.size();
  const PatternPart& p = parts[i];
  const bool here = j < modifiers.size() &&
                    std::find(p.choices.begin(), p.choices.end(), modifiers[j]) != p.choices.end();
  if (here && matches_from(parts, i + 1, modifiers, j + 1)) return true;
  return p.optional && matches_from(parts, i + 1, modifiers, j);
}

// What the rest of both patterns has in common, as ".x.y"; false when there is none. `dead` keeps
// the pairs that were found to have none, so that the time is a product of lengths.
bool common_from(const std::vector<PatternPart>& a, size_t i, const std::vector<PatternPart>& b,
                 size_t j, std::vector<bool>& dead, std::string& text) {
  const size_t key = i * (b.size() + 1) + j;
  if (dead[key]) return false;
  if (i == a.size() && j == b.size()) return true;
  const size_t length = text.size();
  if (i < a.size() && a[i].optional && common_from(a, i + 1, b, j, dead, text)) return true;
  if (j < b.size() && b[j].optional && common_from(a, i, b, j + 1, dead, text)) return true;
  if (i < a.size() && j < b.size()) {
    for (const std::string_view x : a[i].choices) {
      if (std::find(b[j].choices.begin(), b[j].choices.end(), x) == b[j].choices.end()) continue;
      text.append(".").append(x);
      if (common_from(a, i + 1, b, j + 1, dead, text)) return true;
      text.resize(length);
      break;  // Which of the common choices stands here changes nothing for the rest.
    }
  }
  dead[key] = true;
  return false;
}

}  // namespace

Pattern::Pattern(std::string_view text) {
  bool optional = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '[' || text[i] == ']') {
      optional = text[i] == '[';
      ++i;
      continue;
    }
    if (text[i] == '.') ++i;
    const size_t end = text[i] == '{' ? text.find('}', i) + 1
                                      : std::min(text.find_first_of(".[]", i), text.size());
    parts_.push_back({choices_of(text.substr(i, end - i)), optional});
    i = end;
  }
}

bool Pattern::matches(const std::vector<std::string_view>& modifiers) const {
  return matches_from(parts_, 0, modifiers, 0);
}

std::string Pattern::common(const Pattern& a, const Pattern& b) {
  std::vector<bool> dead((a.parts_.size() + 1) * (b.parts_.size() + 1));
  std::string text;
  if (!common_from(a.parts_, 0, b.parts_, 0, dead, text)) return {};
  return text.substr(1);
}

}  // namespace cohort::emu
