// "Did you mean": the nearest of some words.
#pragma once

#include <string_view>
#include <vector>

namespace cohort::json {

/// The word at the smallest edit distance from `text`, or nothing when all are too far.
[[nodiscard]] std::string_view nearest(std::string_view text,
                                       const std::vector<std::string_view>& words);

}  // namespace cohort::json
