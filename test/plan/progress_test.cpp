// RunOptions::progress: what it is told, and that it can stop a run.
#include <vector>

#include "engine/gemm_case.h"

namespace cohort::test {
namespace {

struct Told {
  std::vector<int64_t> done;
  std::vector<int64_t> total;
  size_t stop_at = 1000;  // calls that are answered with "go on"
};

bool note(int64_t done, int64_t total, void* user) {
  Told& told = *static_cast<Told*>(user);
  told.done.push_back(done);
  told.total.push_back(total);
  return told.done.size() <= told.stop_at;
}

// Two products after one another: more than one region, with panels each.
class Progress : public ::testing::Test {
 protected:
  Progress() : bench_(graph(), {{"T", 1000}}) {
    for (const char* name : {"x", "w", "v"}) bench_.tensors.fill(name, 0);
  }
  static Graph graph() {
    Builder g("two");
    const Dim t = g.dynamic("T", 4096);
    const auto x = g.input("x", {t, 8}, DType::f32);
    const auto w = g.input("w", {8, 8}, DType::f32);
    const auto v = g.input("v", {8, 8}, DType::f32);
    const auto y = g.add(Matmul{.a = x, .b = w});
    g.output("y", g.add(Matmul{.a = y, .b = v}));
    return finish(g);
  }
  Status run(Told& told) {
    const Execution e = *bench_.plan.bind(bench_.graph, {{"T", 1000}}, bench_.tensors.all());
    Workspace workspace(e.workspace_bytes());
    return e.run(workspace.data(), {}, {note, &told});
  }
  Bench bench_;
};

TEST_F(Progress, NeverFallsAndNeverPassesTheTotal) {
  Told told;
  ASSERT_TRUE(run(told));
  ASSERT_FALSE(told.done.empty());
  for (size_t i = 0; i < told.done.size(); ++i) {
    EXPECT_EQ(told.total[0], told.total[i]);
    EXPECT_LE(told.done[i], told.total[i]);
    EXPECT_GE(told.done[i], i > 0 ? told.done[i - 1] : 0);
  }
  EXPECT_GE(told.total[0], 12) << "two products of six panels of 192 rows";
}

TEST_F(Progress, StopsTheRun) {
  for (const size_t calls : {size_t{0}, size_t{1}, size_t{7}}) {
    Told told;
    told.stop_at = calls;
    const Status status = run(told);
    ASSERT_FALSE(status) << calls;
    EXPECT_EQ(ErrorKind::environment, status.findings().kind());
    ASSERT_EQ(1, status.findings().size());
    EXPECT_EQ("E-STOPPED", status.findings()[0].code);
    EXPECT_EQ(calls + 1, told.done.size()) << "it is asked no more once it said no";
  }
}

TEST_F(Progress, AStoppedExecutionRunsAgain) {
  const Execution e = *bench_.plan.bind(bench_.graph, {{"T", 1000}}, bench_.tensors.all());
  Workspace workspace(e.workspace_bytes());
  Told told;
  told.stop_at = 0;
  EXPECT_FALSE(e.run(workspace.data(), {}, {note, &told}));
  bench_.tensors.fill("y", kPoison);
  ASSERT_TRUE(e.run(workspace.data()));
  for (const float y : bench_.tensors.values<float>("y")) ASSERT_EQ(0.0F, y);
}

}  // namespace
}  // namespace cohort::test
