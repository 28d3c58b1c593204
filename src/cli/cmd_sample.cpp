#include "cli/commands.h"
#include "cli/sample_list.h"

namespace cohort::cli {

int sample(const Common& common, const std::string& name) {
  Json list = Json::array();
  std::string text;
  for (const Sample& s : samples()) {
    if (s.name == name) {
      print(value_of(s.make()).json());
      return kOk;
    }
    list.push_back({{"name", s.name}, {"about", s.about}});
    std::string padded(s.name);
    padded.resize(24, ' ');
    text += padded + std::string(s.about) + "\n";
  }
  if (!name.empty()) {
    throw Stop{kUsage,
               {{"E-SAMPLE", "", "no bundled graph '" + name + "'; `cohort sample` lists them",
                 "a name of the list", name}}};
  }
  print(common.json ? list.dump(1) + "\n" : text);
  return kOk;
}

}  // namespace cohort::cli
