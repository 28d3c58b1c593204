// Text -> Recording: the same calls that the C++ builder makes.
#pragma once

#include <string_view>

#include <cohort/json.h>

#include "base/diagnostics.h"
#include "ir/recording.h"

namespace cohort::json {

/// Reads a text into a recording, whose findings then hold everything wrong with its items. False,
/// with `findings` of `kind`, when the text as a whole cannot be read.
[[nodiscard]] bool read(std::string_view text, const JsonLimits& limits, ir::Recording& recording,
                        base::Diagnostics& findings, ErrorKind& kind);

}  // namespace cohort::json
