#include <cohort/emulate.h>

#include <unistd.h>

#include <memory>

#include "cli/bar.h"
#include "cli/commands.h"
#include "io/file.h"
#include "io/launch_file.h"

namespace cohort::cli {

int race(const Common& common, const RaceArguments& a) {
  const std::string ptx = read_text(common.graph);
  const std::string launch_text = read_text(a.launch);
  RaceOptions options;
  const std::unique_ptr<io::LaunchFile> file =
      value_of(io::read_launch(launch_text, io::folder_of(a.launch), options.memory_bytes));
  const std::string name = common.graph == "-" ? "ptx" : common.graph;
  options.profile = a.profile == "practice" ? RaceProfile::practice : RaceProfile::strict;
  options.schedules = a.schedules;
  options.seed = a.seed;
  Bar bar;
  if (::isatty(2) != 0) {
    options.progress = Bar::update;
    options.user = &bar;
  }
  const RaceReport report = value_of(race_check({.ptx = ptx,
                                                 .ptx_name = name,
                                                 .buffers = file->buffers,
                                                 .launches = file->launches,
                                                 .expected = file->expected},
                                                options));
  bar.clear();
  if (!a.outputs.empty()) {
    const Status written = io::write_buffers(a.outputs, *file, report);
    if (!written) throw Failure{written.findings()};
  }
  if (common.json) {
    print(report.json());
  } else {
    print(std::string(report.printed()) + std::string(report.text()));
  }
  if (report.good()) return kOk;
  // The first schedule that shows something, by itself.
  Common again = common;
  again.repro = a.environment + "cohort race " + cli::quoted(common.graph) + " --launch " +
                cli::quoted(a.launch) + " --profile " + a.profile + " --schedules 1 --seed " +
                std::to_string(report.seed());
  return cli::report(Stop{kBadGraph, {}, true}, again);
}

}  // namespace cohort::cli
