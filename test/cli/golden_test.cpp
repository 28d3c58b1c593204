// What the command says of the plan of every bundled graph, for every device model.
#include <cohort/cohort.h>

#include <set>

#include "cli/command.h"
#include "fixtures/golden.h"

namespace cohort::test {
namespace {

class GoldenPlans : public Command {};

TEST_F(GoldenPlans, OfEveryBundledGraphAndDevice) {
  const auto names = samples();
  EXPECT_GE(names.size(), 20u);
  for (const std::string& name : names) {
    const std::string file = sample(name);
    std::string text;
    for (int32_t d = 0; d < Device::count(); ++d) {
      const std::string arch(Device::at(d).name());
      const Said s = cohort("plan " + file + " --arch " + arch + " --explain");
      EXPECT_EQ(0, s.exit) << name << " " << arch << s.err;
      text += masked(s.out) + "\n";
    }
    expect_golden("plan/" + name, text);
  }
}

// A graph that is gone leaves no text behind.
TEST_F(GoldenPlans, NoTextIsLeftOver) {
  const auto names = samples();
  const std::set<std::string> known(names.begin(), names.end());
  const std::filesystem::path folder = std::filesystem::path(COHORT_TEST_DATA) / "golden/plan";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(1u, known.count(entry.path().stem().string())) << entry.path();
  }
}

TEST(Golden, MasksTheMachineOnly) {
  EXPECT_EQ("expected TIME at the bound (f64 on N CPU threads, host memory)",
            masked("expected 42.9 ms at the bound (f64 on 16 CPU threads, host memory)"));
  EXPECT_EQ("expected 1 s at the bound (a made-up number)",
            masked("expected 1 s at the bound (a made-up number)"));
}

}  // namespace
}  // namespace cohort::test
