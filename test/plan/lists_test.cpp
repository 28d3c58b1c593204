// What a program may list: device models, engines, environment variables.
#include <cohort/cohort.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace cohort {
namespace {

TEST(Lists, DevicesAreThoseThatCanBeFound) {
  std::string names;
  for (int32_t i = 0; i < Device::count(); ++i) {
    const Device d = Device::at(i);
    names.append(names.empty() ? "" : ", ").append(d.name());
    const Result<Device> found = Device::find(d.name());
    ASSERT_TRUE(found) << d.name();
    EXPECT_EQ(found->name(), d.name());
    EXPECT_EQ(found->description(), d.description());
  }
  EXPECT_EQ(names, Device::find("").findings()[0].wanted);
  EXPECT_EQ(Device::at(0).name(), Device::cpu().name());
  EXPECT_NE(names.find(Device::sm107().name()), std::string::npos);
}

TEST(Lists, EnginesAreThoseThatCanBeAskedFor) {
  Builder g("g");
  g.output("y", g.add(Load{.x = g.input("x", {8, 8}, DType::f32)}));
  const Result<Graph> graph = std::move(g).finish();
  ASSERT_GE(engine_count(), 1);
  std::set<std::string> refused;
  PlanOptions options;
  options.engine = "nobody";
  const Findings none = make_plan(graph, Device::cpu(), options).findings();
  for (const Finding& f : none) refused.insert(std::string(f.op));
  std::set<std::string> listed;
  for (int32_t i = 0; i < engine_count(); ++i) {
    listed.insert(std::string(engine_info(i).name));
    EXPECT_FALSE(engine_info(i).runs.empty());
  }
  EXPECT_EQ(listed, refused);
  options.engine = "reference";
  EXPECT_EQ(make_plan(graph, Device::cpu(), options)->engine(), engine_info(0).name);
  for (const int32_t i : {-1, engine_count()}) EXPECT_TRUE(engine_info(i).name.empty());
}

TEST(Lists, VariablesAreThoseThatAreRead) {
  std::set<std::string> names;
  for (int32_t i = 0; i < environment_count(); ++i) {
    names.insert(std::string(environment_variable(i).name));
  }
  EXPECT_EQ(names, (std::set<std::string>{"COHORT_ISA", "COHORT_THREADS"}));
  for (const int32_t i : {-1, environment_count()}) {
    EXPECT_TRUE(environment_variable(i).name.empty());
  }
}

}  // namespace
}  // namespace cohort
