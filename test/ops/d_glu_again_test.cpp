// A backward with d_bias, run again and again.
#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "engine/gemm_case.h"

namespace cohort::test {
namespace {

// Numbers of which rows 110 and 300 are huge and cancel: they stand in different panels of one
// group, so that sums over rows show the order they are made in.
struct Again {
  static constexpr int64_t kRows = 500, kN = 96, kK = 256;  // enough work for threads
  Graph graph = described();
  std::vector<float> x, w, c;

  Again() {
    std::mt19937 random(23);
    std::normal_distribution<float> normal;
    const auto numbers = [&](int64_t count) {
      std::vector<float> v(static_cast<size_t>(count));
      for (float& e : v) e = normal(random);
      return v;
    };
    x = numbers(kRows * kK);
    w = numbers(3 * kN * kK);
    c = numbers(kRows * 2 * kN);
    for (size_t k = 0; k < kK; ++k) {
      x[110 * kK + k] *= 0x1p80f;
      x[300 * kK + k] = -x[110 * kK + k];
    }
    std::copy_n(c.begin() + 110 * 2 * kN, 2 * kN, c.begin() + 300 * 2 * kN);
  }

  static Graph described() {
    Builder g("again");
    const auto ends = g.groups("ends", 3, GroupForm::ends);
    const auto in = g.input("x", {kRows, kK}, DType::f32);
    const auto weights = g.weights("w", {3, kN, kK}, DType::f32);
    const auto saved = g.input("c", {kRows, 2 * kN}, DType::f32);
    const DGated d = g.add(GroupedGemm{.a = in, .b = weights, .groups = ends})
                         .then(DGlu::of(Glu::gpt_oss(Packing::bands32),
                                        g.add(Load{.x = saved, .groups = ends})));
    g.output("d", d);
    g.output("dprob", d.dprob);
    g.output("d_bias", d.then(DBias{}));
    return finish(g);
  }

  // Bytes of all outputs, run by run, of an execution and memory of their own.
  [[nodiscard]] std::vector<std::vector<uint8_t>> runs(const Plan& plan, int times) const {
    Tensors t(graph, plan, {});
    t.set("x", x);
    t.set("w", w);
    t.set("c", c);
    t.set<int32_t>("ends", {100, 100, kRows});
    const Result<Execution> e = plan.bind(graph, {}, t.all());
    EXPECT_TRUE(e) << e.findings().text();
    std::vector<std::vector<uint8_t>> all;
    for (int i = 0; i < times; ++i) {
      for (const char* name : {"d", "dprob", "d_bias"}) t.fill(name, 0xFF);
      Workspace workspace(e->workspace_bytes());
      const Status status = e->run(workspace.data());
      EXPECT_TRUE(status) << status.findings().text();
      std::vector<uint8_t>& bytes = all.emplace_back();
      for (const char* name : {"d", "dprob", "d_bias"}) {
        const std::vector<uint8_t> more = t.raw(name);
        bytes.insert(bytes.end(), more.begin(), more.end());
      }
    }
    return all;
  }
};

// cudnn-frontend#521, unsloth-zoo#1258: sums have one order, whatever the threads, however often,
// and whoever else runs the plan.
TEST(DGlu, FortyRunsGiveTheSameBits) {
  const Again again;
  const auto plan = make_plan(again.graph, Device::cpu(), {.deterministic = true});
  const auto narrow = make_plan(again.graph, Device::cpu(), {.deterministic = true, .sm_limit = 1});
  ASSERT_TRUE(plan && narrow);
  const std::vector<uint8_t> alone = again.runs(*narrow, 1)[0];
  std::vector<std::vector<uint8_t>> theirs;
  std::thread other([&] { theirs = again.runs(*plan, 20); });
  std::vector<std::vector<uint8_t>> ours = again.runs(*plan, 20);
  other.join();
  ours.insert(ours.end(), theirs.begin(), theirs.end());
  ASSERT_EQ(ours.size(), 40U);
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_TRUE(ours[i] == alone) << "run " << i;
}

}  // namespace
}  // namespace cohort::test
