// Names and findings are UTF-8 that a terminal can show.
#pragma once

#include <string>
#include <string_view>

namespace cohort::base {

/// True for well-formed UTF-8 without control characters.
[[nodiscard]] bool is_clean_utf8(std::string_view text);

/// Replaces each byte that is no part of such a text by \\xHH; line ends stay.
void make_printable(std::string& text);

}  // namespace cohort::base
