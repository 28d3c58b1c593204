// A text as a string of JSON.
#pragma once

#include <string>
#include <string_view>

namespace cohort::base {

/// Appends `text`, which is UTF-8, quoted and escaped.
void append_json_string(std::string& out, std::string_view text);
/// The same alone.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace cohort::base
