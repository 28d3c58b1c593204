// One function a command; each returns an exit code or throws Failure or Stop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/common.h"

namespace cohort::cli {

/// The names of the device models that the library has, as it lists them: "cpu, sm90, ...".
std::string device_names();

struct PlanArguments {
  std::string arch = "cpu";
  std::string engine;
  bool explain = false;
};

struct RunArguments {
  std::string arch = "cpu";
  std::string engine;
  std::string inputs;   ///< Path of a safetensors file; empty: random.
  std::string outputs;  ///< Path; empty: not stored.
  uint64_t seed = 0;
  bool random = false;
  std::vector<std::string> sizes;  ///< "T=4096"
  std::string compare;             ///< "reference" or empty.
  std::string results;             ///< Outputs of another run to compare, in place of running.
};

struct RaceArguments {
  std::string launch;  ///< Path of a launch file.
  std::string profile = "strict";
  int32_t schedules = 10;
  uint64_t seed = 1;
  std::string outputs;      ///< Path; empty: not stored.
  std::string environment;  ///< Stands before the command in REPRO.
};

int check(const Common& common);
int show(const Common& common, const std::string& format);
int plan(const Common& common, const PlanArguments& arguments);
int run(const Common& common, const RunArguments& arguments);
int race(const Common& common, const RaceArguments& arguments);
int env(const Common& common);
int sample(const Common& common, const std::string& name);

}  // namespace cohort::cli
