#include <cohort/numerics.h>
#include <cohort/plan.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>

#include "cli/commands.h"

namespace cohort::cli {

std::string device_names() {
  std::string s;
  for (int32_t i = 0; i < Device::count(); ++i) {
    s.append(i > 0 ? ", " : "").append(Device::at(i).name());
  }
  return s;
}

namespace {

std::string variable_names() {
  std::string s;
  for (int32_t i = 0; i < environment_count(); ++i) {
    s.append(i > 0 ? " and " : "").append(environment_variable(i).name);
  }
  return s;
}

// At least one space follows.
std::string padded(std::string_view text, size_t width) {
  std::string s(text);
  s.resize(std::max(width, s.size() + 1), ' ');
  return s;
}

}  // namespace

int env(const Common& common) {
  const Result<Device> current = Device::current();
  const std::string gpu =
      current ? std::string(current->description()) : std::string(current.findings()[0].message);
  const Findings wrong = check_environment().findings();
  const std::string variables = wrong.size() > 0 ? std::string(wrong[0].message) : "";
  if (common.json) {
    Json models = Json::array();
    for (int32_t i = 0; i < Device::count(); ++i) {
      models.push_back(
          {{"name", Device::at(i).name()}, {"description", Device::at(i).description()}});
    }
    Json engines = Json::array();
    for (int32_t i = 0; i < engine_count(); ++i) {
      engines.push_back({{"name", engine_info(i).name}, {"runs", engine_info(i).runs}});
    }
    const Json j{{"version", version()},
                 {"processors", std::thread::hardware_concurrency()},
                 {"isa_level", "x86-64-" + std::string(isa_level())},
                 {"variables", variables.empty() ? Json() : Json(variables)},
                 {"cache_folder", nullptr},
                 {"gpu", gpu},
                 {"devices", models},
                 {"engines", engines}};
    print(j.dump(1) + "\n");
    return kOk;
  }
  std::string s = "cohort " + std::string(version()) + "\n";
  s += "processors: " + std::to_string(std::thread::hardware_concurrency()) + ", code for x86-64-" +
       std::string(isa_level()) + "\n";
  s += "variables: " +
       (variables.empty() ? "nothing wrong with " + variable_names()
                          : variables + "; until then no plan is made") +
       "\n";
  s += "GPU: " + gpu + "\n";
  s += "cache folder: none, no engine keeps files\n";
  s += "engines:\n";
  for (int32_t i = 0; i < engine_count(); ++i) {
    s += "  " + padded(engine_info(i).name, 11) + std::string(engine_info(i).runs) + "\n";
  }
  s += "device models to plan for:\n";
  for (int32_t i = 0; i < Device::count(); ++i) {
    s += "  " + padded(Device::at(i).name(), 7) + std::string(Device::at(i).description()) + "\n";
  }
  print(s);
  return kOk;
}

}  // namespace cohort::cli
