#include "base/nearest.h"

#include <algorithm>

namespace cohort::base {

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, above + 1, row[j - 1] + 1});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view text, const std::vector<std::string_view>& words) {
  if (text.empty() || text.size() > 64) return {};
  std::string_view best;
  size_t least = text.size() / 3 + 2;
  for (std::string_view w : words) {
    if (w.size() > 64) continue;
    const size_t d = distance(text, w);
    if (d < least && d < std::max(text.size(), w.size())) {
      least = d;
      best = w;
    }
  }
  return best;
}

}  // namespace cohort::base
