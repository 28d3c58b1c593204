// The command `cohort`.
#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <sstream>

#include "cli/commands.h"
#include "cli/common.h"
#include "io/temporaries.h"

namespace {

using namespace cohort::cli;

// What is wrong with an argument, or nothing.
std::string seed_fault(const std::string& text) {
  uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, seed);
  if (parsed.ec == std::errc() && parsed.ptr == end) return {};
  return "wanted a seed of 0 .. 2^64 - 1, got " + text;
}
std::string path_fault(const std::string& path) {
  return path.empty() ? "wanted a path, got an empty one" : "";
}
// Tensors are read where they stand in a file, which a stream has no places for.
std::string tensors_fault(const std::string& path) {
  return path == "-" ? "wanted a file, got -: tensors are not read from standard input"
                     : path_fault(path);
}
// Outputs are written under a temporary name and renamed, which a stream cannot be.
std::string output_fault(const std::string& path) {
  return path == "-" ? "wanted a file, got -: outputs do not go to standard output"
                     : path_fault(path);
}
std::string name_fault(const std::string& name) {
  return name.empty() ? "wanted a name, got an empty one" : "";
}

// What is set for the library as a shell takes it, before the command: it decides about a failure
// as the arguments do.
std::string environment_prefix() {
  std::string s;
  for (int32_t i = 0; i < cohort::environment_count(); ++i) {
    const cohort::EnvironmentVariable v = cohort::environment_variable(i);
    if (!v.value.empty()) s.append(v.name).append("=").append(quoted(v.value)).append(" ");
  }
  return s;
}

// The commands, their options, and what runs when one is chosen.
class Application {
 public:
  Application() {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", std::string(cohort::version()));
    graph_command("check", "Parse and validate a graph; every finding with its JSON path.",
                  [this] { return check(common_); });
    CLI::App* s = graph_command("show", "The graph as text, SVG or JSON.",
                                [this] { return show(common_, format_); });
    s->add_option("--format", format_, "text, svg or json")
        ->check(CLI::IsMember({"text", "svg", "json"}));
    add_plan();
    add_run();
    add_race();
    command("env", "What the library finds on this machine.", [this] { return env(common_); });
    CLI::App* b = command("sample", "List the bundled graphs, or print one as JSON.",
                          [this] { return sample(common_, sample_); });
    b->add_option("NAME", sample_, "Name of a bundled graph");
  }

  int run_command(int argc, char** argv) {
    common_.repro = environment_prefix() + "cohort";
    for (int i = 1; i < argc; ++i) common_.repro += " " + quoted(argv[i]);
    // Also where the arguments cannot be parsed to the end.
    for (int i = 1; i < argc; ++i) common_.json |= std::string_view(argv[i]) == "--json";
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
      std::ostringstream out;
      std::ostringstream err;
      const int exit = app_.exit(e, out, err) == 0 ? kOk : kUsage;
      const bool is_unknown = argc > 1 && argv[1][0] != '-' && app_.get_subcommands().empty();
      if (exit != kOk && is_unknown) throw usage(unknown_command(argv[1]));
      // The first line says what is wrong, the other one where help is.
      const std::string text = err.str();
      if (exit != kOk) throw usage(text.substr(0, text.find('\n')), "--help says what there is");
      print(out.str());
      return exit;
    }
    return chosen_();
  }

  const Common& common() const { return common_; }

 private:
  static Stop usage(std::string message, std::string hint = {}) {
    return {
        kUsage,
        {{.code = "E-USAGE", .op = "", .message = std::move(message), .hint = std::move(hint)}}};
  }
  std::string unknown_command(const std::string& given) const {
    std::string text = "no command '" + given + "'; there are";
    for (const CLI::App* c : app_.get_subcommands(nullptr)) text += " " + c->get_name();
    return text;
  }
  CLI::App* command(const char* name, const char* about, const std::function<int()>& action) {
    CLI::App* c = app_.add_subcommand(name, about);
    c->add_flag("--json", common_.json, "Machine-readable output");
    c->callback([this, action] { chosen_ = action; });
    return c;
  }
  CLI::App* graph_command(const char* name, const char* about, const std::function<int()>& action) {
    CLI::App* c = command(name, about, action);
    c->add_option("G", common_.graph, "Graph as JSON: a path, or - for standard input")->required();
    return c;
  }

  void add_plan() {
    CLI::App* p = graph_command("plan", "Choose an engine for a device, present or not.",
                                [this] { return plan(common_, plan_); });
    p->add_option("--arch", plan_.arch, "One of " + device_names())->check(name_fault);
    p->add_option("--engine", plan_.engine, "Only this engine")->check(name_fault);
    p->add_flag("--explain", plan_.explain, "Why this engine and why not the others");
  }

  void add_run() {
    CLI::App* r = graph_command("run", "Plan and execute.", [this] { return run(common_, run_); });
    r->add_option("--arch", run_.arch, "One of " + device_names())->check(name_fault);
    r->add_option("--engine", run_.engine, "Only this engine")->check(name_fault);
    CLI::Option* inputs = r->add_option("--inputs", run_.inputs, "Tensors by name, safetensors")
                              ->check(tensors_fault);
    CLI::Option* random =
        r->add_option("--random", run_.seed, "Make inputs from this seed")->check(seed_fault);
    inputs->excludes(random);
    r->add_option("--size", run_.sizes, "Value of a dynamic extent, NAME=VALUE");
    r->add_option("--outputs", run_.outputs, "Where to store the outputs, safetensors")
        ->check(output_fault);
    CLI::Option* compare =
        r->add_option("--compare", run_.compare, "Hold every output to its derived error bound")
            ->check(CLI::IsMember({"reference"}));
    r->add_option("--results", run_.results,
                  "Compare these outputs of another run, safetensors; nothing is run")
        ->check(tensors_fault)
        ->needs(compare);
    r->callback([this, random] {
      run_.random = random->count() > 0;
      if (run_.inputs.empty() && !run_.random) {
        throw CLI::RequiredError("--inputs or --random");
      }
      chosen_ = [this] { return run(common_, run_); };
    });
  }

  void add_race() {
    CLI::App* r =
        command("race", "Run PTX under many schedules and say what it does wrong.", [this] {
          race_.environment = environment_prefix();
          return race(common_, race_);
        });
    r->add_option("K", common_.graph, "PTX: a path, or - for standard input")->required();
    r->add_option("--launch", race_.launch, "What it is run with, JSON")
        ->required()
        ->check(path_fault);
    r->add_option("--profile", race_.profile, "strict: the PTX text; practice: what kernels do")
        ->check(CLI::IsMember({"strict", "practice"}));
    r->add_option("--schedules", race_.schedules, "How many, 1 to 1000000")
        ->check(CLI::Range(1, 1000000));
    r->add_option("--seed", race_.seed, "Of the first schedule")->check(seed_fault);
    r->add_option("--outputs", race_.outputs, "Where to store the buffers, safetensors")
        ->check(output_fault);
  }

  CLI::App app_{"Grouped GEMM graphs: check, show, plan, run; kernels: race."};
  Common common_;
  PlanArguments plan_;
  RunArguments run_;
  RaceArguments race_;
  std::string format_ = "text";
  std::string sample_;
  std::function<int()> chosen_;
};

// Runs `command`; whatever it throws becomes a message, a REPRO line and an exit code.
int guarded(const Application& application, const std::function<int()>& command) {
  const Common& common = application.common();
  try {
    return command();
  } catch (const Failure& f) {
    return report(f.findings, common);
  } catch (const Stop& s) {
    return report(s, common);
  } catch (const std::bad_alloc&) {
    return report(Stop{kBadGraph, {{"E-MEMORY", "", "memory ran out"}}}, common);
  } catch (const std::exception& e) {
    return report(Stop{kInternal, {{"E-INTERNAL", "", e.what()}}}, common);
  }
}

char** arguments = nullptr;

// A destructor that needs memory when there is none ends here, past every handler: say so without
// any, as those do.
[[noreturn]] void on_terminate() {
  int exit = kInternal;
  const char* what = "E-INTERNAL: an exception that nobody expects";
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) {
    exit = kBadGraph;
    what = "E-MEMORY: memory ran out";
  } catch (...) {
    exit = kInternal;
  }
  std::fprintf(stderr, "%s\nREPRO: ", what);
  for (int32_t i = 0; i < cohort::environment_count(); ++i) {
    const cohort::EnvironmentVariable v = cohort::environment_variable(i);
    if (v.value.empty()) continue;
    std::fprintf(stderr, "%.*s=%.*s ", static_cast<int>(v.name.size()), v.name.data(),
                 static_cast<int>(v.value.size()), v.value.data());
  }
  std::fputs("cohort", stderr);
  for (char** a = arguments + 1; *a != nullptr; ++a) std::fprintf(stderr, " %s", *a);
  std::fputc('\n', stderr);
  std::_Exit(exit);
}

// A file half written goes with the command that wrote it.
extern "C" void on_signal(int number) {
  cohort::io::remove_temporaries();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void install_handlers() {
  std::set_terminate(on_terminate);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    // What the caller had ignored, as nohup does, stays so.
    if (std::signal(number, on_signal) == SIG_IGN) std::signal(number, SIG_IGN);
  }
  // A reader that goes away is a failed write, which says so and has an exit code.
  std::signal(SIGPIPE, SIG_IGN);
  // So is one that would pass the limit on file sizes.
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace

int main(int argc, char** argv) {
  arguments = argv;
  install_handlers();
  try {
    Application application;
    return guarded(application, [&] { return application.run_command(argc, argv); });
  } catch (const std::bad_alloc&) {
    on_terminate();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "E-INTERNAL: %s\nREPRO: cohort\n", e.what());
    return kInternal;
  }
}
