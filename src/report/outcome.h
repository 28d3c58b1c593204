// Outcomes of schedules, folded into a report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emu/fault.h"
#include "emu/run.h"
#include "report/rep.h"
#include "report/scene.h"

namespace cohort::report {

/// How an expected output compared in one schedule.
struct OutputOutcome {
  int64_t wrong = 0;
  int64_t index = -1;
  double wanted = 0;
  double got = 0;
};

/// What one schedule showed.
struct Outcome {
  uint64_t seed = 0;
  bool completed = false;
  std::vector<emu::Fault> faults;
  std::vector<emu::Waiting> waiting;
  std::vector<OutputOutcome> outputs;  ///< Empty when it did not come to its end.
  uint64_t lane_instructions = 0;
};

/// Findings of all outcomes in their order, equal ones folded, into `rep`. rep.outputs has a line
/// for each expected output already.
void fold(const std::vector<Outcome>& outcomes, const Scene& scene, detail::RaceReportRep& rep);

/// rep.text and rep.json, from all else.
void write_texts(detail::RaceReportRep& rep);

}  // namespace cohort::report
