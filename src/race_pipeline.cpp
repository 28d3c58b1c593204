// The emulator on one page: PTX -> module -> kernels -> launches -> schedules -> report.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cohort/emulate.h>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "emu/run.h"
#include "launch/contents.h"
#include "launch/prepare.h"
#include "race/checker.h"
#include "report/outcome.h"

namespace cohort {

struct detail::RaceReportAccess {
  static RaceReport make(RaceReportRep* rep) { return RaceReport(rep); }
};

namespace {

using launch::Prepared;
using report::Outcome;

// A seed says everything about a schedule, so that one of many can be run again by itself.
emu::ScheduleSpec schedule_of(uint64_t seed) {
  constexpr emu::ScheduleKind kKinds[] = {emu::ScheduleKind::in_order, emu::ScheduleKind::random,
                                          emu::ScheduleKind::late, emu::ScheduleKind::early,
                                          emu::ScheduleKind::starve};
  emu::ScheduleSpec spec;
  spec.kind = kKinds[seed % std::size(kKinds)];
  spec.seed = seed;
  spec.starved = static_cast<uint32_t>(seed / std::size(kKinds));
  return spec;
}

// One schedule on buffers of its own, watched by a checker of its own.
emu::RunResult run_schedule(const Prepared& p, const emu::Rules& rules, Outcome& outcome) {
  emu::FaultList faults;
  const auto checker = race::make_checker(rules, faults);
  emu::RunInput input = p.input;
  input.schedule = schedule_of(outcome.seed);
  input.events = checker.get();
  input.faults = &faults;
  Result<emu::RunResult> result = emu::run(std::move(input));
  if (!result) throw base::FindingsError{result.findings()};
  outcome.completed = result->completed;
  outcome.lane_instructions = result->lane_instructions;
  outcome.waiting = result->waiting;
  outcome.faults = faults.faults();
  return *std::move(result);
}

// What a schedule that came to its end left in the buffers, against what was expected.
void compare(const Prepared& p, const emu::RunResult& result, Outcome& outcome) {
  for (const launch::Expected& e : p.expected) {
    const ElementType type = p.types[e.buffer];
    const std::vector<uint8_t>& got = result.buffers[e.buffer].bytes;
    const launch::Difference d = launch::differences(type, e.bytes, got, e.absolute, e.relative);
    report::OutputOutcome o{.wrong = d.wrong, .index = d.first};
    if (d.wrong != 0) {
      const auto at = static_cast<size_t>(d.first * element_bytes(type));
      o.wanted = launch::element(type, e.bytes.data() + at);
      o.got = launch::element(type, got.data() + at);
    }
    outcome.outputs.push_back(o);
  }
}

// As many schedules side by side as have memory for their buffers.
int thread_count(const Prepared& p, const RaceOptions& options) {
  const uint64_t each = 2 * p.buffer_bytes + (uint64_t{64} << 20);
  const uint64_t most = static_cast<uint64_t>(options.memory_bytes) / each;
  const int wanted = options.threads > 0 ? options.threads : base::thread_count(0);
  return static_cast<int>(std::clamp<uint64_t>(most, 1, static_cast<uint64_t>(wanted)));
}

// What the first schedule left behind: buffers, names of variables, printed text.
void keep(const Prepared& p, emu::RunResult&& result, report::Scene& scene,
          detail::RaceReportRep& rep) {
  std::vector<std::string> names;
  for (size_t i = 0; i < result.buffers.size(); ++i) {
    names.push_back(result.buffers[i].name);
    rep.bytes.push_back(std::move(result.buffers[i].bytes));
    const ElementType type = i < p.types.size() ? p.types[i] : ElementType::u8;
    rep.buffers.push_back({rep.keep(names.back()), type, rep.bytes.back().data(),
                           static_cast<int64_t>(rep.bytes.back().size())});
  }
  rep.printed = std::move(result.printed);
  scene.name_buffers(std::move(names));
}

Result<RaceReport> check(const EmulatedRun& run, const RaceOptions& options) {
  const Prepared p = launch::prepare(run, options);
  const emu::Rules rules =
      options.profile == RaceProfile::strict ? emu::strict_rules() : emu::practice_rules();
  auto rep = std::make_unique<detail::RaceReportRep>();
  rep->profile = options.profile;
  rep->first_seed = options.seed;
  report::Scene scene(p.input, p.shared, p.module_name);
  for (const launch::Expected& e : p.expected) {
    const auto elements = static_cast<int64_t>(e.bytes.size()) / element_bytes(p.types[e.buffer]);
    rep->outputs.push_back({.buffer = rep->keep(p.input.buffers[e.buffer].name),
                            .elements = elements,
                            .wrong = 0,
                            .index = -1,
                            .wanted = 0,
                            .got = 0,
                            .seed = 0});
  }

  std::vector<Outcome> outcomes(static_cast<size_t>(options.schedules));
  const auto one = [&](int64_t i, int) {
    Outcome& outcome = outcomes[static_cast<size_t>(i)];
    outcome.seed = options.seed + static_cast<uint64_t>(i);
    emu::RunResult result = run_schedule(p, rules, outcome);
    if (outcome.completed) compare(p, result, outcome);
    if (i == 0) keep(p, std::move(result), scene, *rep);
  };
  const auto progress = [&](int64_t done) {
    return options.progress == nullptr || options.progress(done, options.schedules, options.user);
  };
  if (!base::parallel_for(options.schedules, thread_count(p, options), one, progress)) {
    return base::make_findings(
        ErrorKind::environment,
        {.code = "E-STOPPED", .message = "the run was stopped by its progress callback"});
  }

  report::fold(outcomes, scene, *rep);
  report::write_texts(*rep);
  return detail::RaceReportAccess::make(rep.release());
}

}  // namespace

Result<RaceReport> race_check(const EmulatedRun& run, const RaceOptions& options) noexcept {
  return base::guarded("checking kernels", [&]() -> Result<RaceReport> {
    if (const Status environment = check_environment(); !environment) {
      return environment.findings();
    }
    return check(run, options);
  });
}

}  // namespace cohort
