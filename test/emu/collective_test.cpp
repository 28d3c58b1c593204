// Lanes of a warp that exchange values.
#include <set>

#include "emu/fixture.h"

namespace cohort::emu::test {
namespace {

std::vector<In> lanes() {
  std::vector<In> in;
  for (uint64_t l = 0; l < 32; ++l) in.push_back({l * 10, l % 3, l});
  return in;
}
const std::vector<std::string> kThree = {"b32", "b32", "b32", "b32"};

TEST(Shuffle, MovesWithinSegments) {
  const auto run = [](const std::string& code) { return apply(code, kThree, lanes()); };
  const auto up = run("shfl.sync.up.b32 %d|%p, %a, 3, 0, -1;\n@!%p mov.b32 %d, 7;");
  const auto down = run("shfl.sync.down.b32 %d|%p, %a, 3, 31, -1;\n@!%p mov.b32 %d, 7;");
  const auto cross = run("shfl.sync.bfly.b32 %d, %a, 5, 31, -1;");
  const auto eights = run("shfl.sync.idx.b32 %d, %a, 2, 0x181f, -1;");
  const auto edge = run("shfl.sync.down.b32 %d|%p, %a, 6, 0x181f, -1;\n@!%p mov.b32 %d, 7;");
  for (uint64_t l = 0; l < 32; ++l) {
    EXPECT_EQ(up[l], l < 3 ? 7 : (l - 3) * 10);
    EXPECT_EQ(down[l], l + 3 > 31 ? 7 : (l + 3) * 10);
    EXPECT_EQ(cross[l], (l ^ 5) * 10);
    EXPECT_EQ(eights[l], (l / 8 * 8 + 2) * 10);
    EXPECT_EQ(edge[l], l % 8 < 2 ? (l + 6) * 10 : 7);
  }
}

TEST(Vote, CountsTheLanesOfItsMask) {
  const std::string is_zero = "setp.eq.b32 %p, %b, 0;\n";
  uint64_t zeros = 0;
  for (uint64_t l = 0; l < 32; l += 3) zeros |= uint64_t{1} << l;
  const auto ballot = apply(is_zero + "vote.sync.ballot.b32 %d, %p, -1;", kThree, lanes());
  EXPECT_EQ(ballot, std::vector<uint64_t>(32, zeros));
  const auto any =
      apply(is_zero + "vote.sync.any.pred %q, %p, -1;\nselp.b32 %d, 1, 0, %q;", kThree, lanes());
  EXPECT_EQ(any, std::vector<uint64_t>(32, 1));
  const auto all =
      apply(is_zero + "vote.sync.all.pred %q, %p, -1;\nselp.b32 %d, 1, 0, %q;", kThree, lanes());
  EXPECT_EQ(all, std::vector<uint64_t>(32, 0));
}

TEST(Vote, WaitsForLanesThatTookAnotherPath) {
  // Lanes 0 to 15 take a longer way to the same instruction.
  const auto out = apply(
      "setp.lt.u32 %p, %c, 16;\nmov.b32 %d, 5;\n@!%p bra J;\nadd.u32 %d, %d, 1;\nadd.u32 %d, %d, "
      "1;\nJ:\nsetp.eq.b32 %q, %d, 7;\nvote.sync.ballot.b32 %d, %q, -1;",
      {"b32", "b32", "b32", "b32"}, lanes());
  EXPECT_EQ(out, std::vector<uint64_t>(32, 0xFFFF));
}

TEST(Match, FindsEqualValues) {
  const auto any = apply("match.any.sync.b32 %d, %b, -1;", kThree, lanes());
  const auto all =
      apply("match.all.sync.b32 %d|%p, %b, -1;\nselp.b32 %d, 1, %d, %p;", kThree, lanes());
  for (uint64_t l = 0; l < 32; ++l) {
    uint64_t same = 0;
    for (uint64_t k = l % 3; k < 32; k += 3) same |= uint64_t{1} << k;
    EXPECT_EQ(any[l], same);
    EXPECT_EQ(all[l], 0u);
  }
}

TEST(Redux, CombinesLanes) {
  const auto one = [](const std::string& code) {
    const auto out = apply(code, kThree, lanes());
    EXPECT_EQ(out, std::vector<uint64_t>(32, out[0])) << code;
    return out[0];
  };
  EXPECT_EQ(one("redux.sync.add.u32 %d, %a, -1;"), 4960u);
  EXPECT_EQ(one("redux.sync.max.s32 %d, %a, -1;"), 310u);
  EXPECT_EQ(one("redux.sync.min.u32 %d, %b, -1;"), 0u);
  EXPECT_EQ(one("redux.sync.xor.b32 %d, %c, -1;"), 0u);
  EXPECT_EQ(one("redux.sync.or.b32 %d, %a, -1;"), 510u);
  EXPECT_EQ(one("{\n.reg .b32 %f;\ncvt.rn.f32.u32 %f, %a;\nneg.f32 %f, %f;\n"
                "redux.sync.max.abs.NaN.f32 %d, %f, -1;\n}\n"),
            std::bit_cast<uint32_t>(310.0f));
}

TEST(Elect, ChoosesOneLaneThatTheSeedDecides) {
  const std::string text = std::string(kHeader) +
                           ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p;\n.reg .b32 "
                           "%r<4>;\n.reg .b64 %to;\nld.param.u64 %to, [out];\n"
                           "elect.sync %r0|%p, -1;\n@!%p ret;\nmov.u32 %r1, %laneid;\n"
                           "st.global.u32 [%to], %r0;\natom.global.add.u32 %r2, [%to+4], 1;\n"
                           "setp.ne.u32 %p, %r0, %r1;\n@%p trap;\nret;\n}\n";
  std::set<uint32_t> leaders;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RunInput in = simple(text, "k", {buffer_of(std::vector<uint32_t>(2))}, 32);
    in.schedule.seed = seed;
    const Outcome o = run_input(in);
    ASSERT_TRUE(o.result.completed);
    const auto out = values_of<uint32_t>(o.result.buffers[0]);
    leaders.insert(out[0]);
    EXPECT_EQ(out[1], 1u);
  }
  EXPECT_GT(leaders.size(), 5u);
}

}  // namespace
}  // namespace cohort::emu::test
