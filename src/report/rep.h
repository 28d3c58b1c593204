// What stands behind a RaceReport.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <cohort/emulate.h>

namespace cohort::detail {

struct RaceReportRep {
  std::atomic<int64_t> references{1};
  std::deque<std::string> letters;  ///< What views point to; never moved.
  std::vector<RaceFinding> findings;
  int64_t total = 0;
  std::vector<RaceOutput> outputs;
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<BufferView> buffers;
  RaceProfile profile = RaceProfile::strict;
  int32_t schedules = 0;
  int32_t completed = 0;
  int64_t thread_instructions = 0;
  uint64_t first_seed = 1;  ///< As asked for.
  uint64_t seed = 1;        ///< See RaceReport::seed().
  std::string printed;
  std::string text;
  std::string json;

  std::string_view keep(std::string view) { return letters.emplace_back(std::move(view)); }
};

}  // namespace cohort::detail
