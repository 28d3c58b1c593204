// "Did you mean": the nearest of some words.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace cohort::base {

/// Levenshtein distance. Takes time and memory as their lengths multiplied.
[[nodiscard]] size_t distance(std::string_view a, std::string_view b);
/// The word at the smallest edit distance from `text`, or nothing when all are too far.
[[nodiscard]] std::string_view nearest(std::string_view text,
                                       const std::vector<std::string_view>& words);

}  // namespace cohort::base
