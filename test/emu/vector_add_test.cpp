// A compiled kernel from end to end.
#include "emu/fixture.h"

namespace cohort::emu::test {
namespace {

std::vector<float> sequence(size_t n, float step) {
  std::vector<float> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<float>(i) * step;
  return v;
}

RunInput vector_add(uint32_t n, uint32_t threads) {
  const uint32_t padded = (n + threads - 1) / threads * threads;
  RunInput in = simple(file("vector_add.ptx"), "vector_add",
                       {buffer_of(sequence(n, 0.5f)), buffer_of(sequence(n, 3.0f)),
                        buffer_of(std::vector<float>(n, -1.0f))},
                       threads, padded / threads);
  Arguments a;
  a.buffer(0).buffer(1).buffer(2).add(n);
  in.launches[0].arguments = a.bytes();
  return in;
}

TEST(VectorAdd, GivesTheSum) {
  for (const uint32_t threads : {1u, 31u, 32u, 100u, 256u}) {
    const Outcome o = run_input(vector_add(1000, threads));
    ASSERT_TRUE(o.result.completed);
    EXPECT_TRUE(o.faults.empty());
    const auto c = values_of<float>(o.result.buffers[2]);
    for (size_t i = 0; i < c.size(); ++i) {
      ASSERT_EQ(c[i], static_cast<float>(i) * 3.5f) << threads << " " << i;
    }
  }
}

TEST(VectorAdd, IsTheSameRunForASeed) {
  RunInput in = vector_add(1000, 64);
  in.schedule.seed = 17;
  const Outcome first = run_input(in);
  const Outcome second = run_input(in);
  EXPECT_EQ(first.result.choices, second.result.choices);
  EXPECT_EQ(first.result.instructions, second.result.instructions);
  in.schedule.seed = 18;
  EXPECT_NE(run_input(in).result.choices, first.result.choices);
}

TEST(VectorAdd, ReplaysARecordedSchedule) {
  RunInput in = vector_add(1000, 64);
  in.schedule.seed = 17;
  const Outcome first = run_input(in);
  in.schedule.seed = 99;
  in.schedule.replay = true;
  in.schedule.choices = first.result.choices;
  EXPECT_EQ(run_input(in).result.choices, first.result.choices);
}

TEST(VectorAdd, SaysWhereItLeavesABuffer) {
  RunInput in = vector_add(1000, 64);
  in.buffers[2].bytes.resize(400);
  in.schedule.kind = ScheduleKind::in_order;
  const Outcome o = run_input(in);
  EXPECT_FALSE(o.result.completed);
  ASSERT_EQ(o.faults.size(), 1u);
  const Fault& f = o.faults[0];
  EXPECT_EQ(f.code, FaultCode::bounds);
  EXPECT_EQ(f.space, Space::global);
  EXPECT_EQ(f.block, 2u);
  EXPECT_EQ(f.offset, 400u);
  EXPECT_EQ(f.bytes, 4u);
  const Kernel& k = *in.launches[0].kernel;
  EXPECT_EQ(k.opcodes[k.source[f.now.pc].opcode], "st.global.f32");
}

TEST(VectorAdd, RefusesALaunchThatDoesNotFit) {
  RunInput in = vector_add(1000, 64);
  in.launches[0].arguments.pop_back();
  in.launches[0].block = {2048, 1, 1};
  in.launches[0].cluster = {3, 1, 1};
  in.launches[0].dynamic_shared = 1 << 20;
  const auto r = run(in);
  ASSERT_FALSE(r);
  const std::string text(r.findings().text());
  for (const char* field : {"arguments", "block", "cluster", "dynamic_shared"}) {
    EXPECT_NE(text.find(field), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace cohort::emu::test
