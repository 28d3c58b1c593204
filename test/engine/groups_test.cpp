// Which rows belong to which expert: every form, empty groups, tails, bad offsets.
#include "engine/gemm_case.h"

namespace cohort::test {
namespace {

constexpr GroupForm kForms[] = {GroupForm::starts, GroupForm::ends, GroupForm::boundaries,
                                GroupForm::counts, GroupForm::slots};

TEST(Groups, EveryFormAndIndexType) {
  for (const GroupForm form : kForms) {
    for (const DType type : {DType::i32, DType::i64}) {
      const GemmCase c{.form = form, .offsets = type};
      SCOPED_TRACE(std::string(name(form)) + " " + std::string(name(type)));
      expect_same_bits(c.run(), c.expected());
    }
  }
}

TEST(Groups, EmptyGroupsAnywhere) {
  const std::vector<std::vector<int64_t>> sizes{{0, 20, 20}, {20, 20, 0}, {20, 0, 20}, {0, 0, 40},
                                                {40, 0, 0},  {0, 0, 0},   {0, 40, 0},  {1, 0, 39}};
  for (const GroupForm form : kForms) {
    for (const auto& s : sizes) {
      // The last group of `starts` always ends at T.
      if (form == GroupForm::starts && s[0] + s[1] + s[2] != 40) continue;
      const GemmCase c{.form = form, .ranges = consecutive(s)};
      expect_same_bits(c.run(), c.expected());
    }
  }
}

TEST(Groups, MoreGroupsThanExperts) {
  const GemmCase c{.experts = 2, .ranges = consecutive({5, 9, 0, 11, 8, 7})};
  expect_same_bits(c.run(), c.expected());
}

TEST(Groups, RowsBeforeAndBehindBelongToNobody) {
  for (const GroupForm form : {GroupForm::starts, GroupForm::boundaries, GroupForm::slots}) {
    for (const Tail tail : {Tail::leave, Tail::zero}) {
      const bool to_the_end = form == GroupForm::starts;
      GemmCase c{
          .form = form, .ranges = consecutive({7, 0, to_the_end ? 28 : 20}, 5), .tail = tail};
      c.poison_unowned();
      expect_same_bits(c.run(), c.expected());
    }
  }
}

TEST(Groups, SlotsWithPoisonBetweenThem) {
  for (const Tail tail : {Tail::leave, Tail::zero}) {
    for (const DType type : {DType::i32, DType::i64}) {
      GemmCase c{.form = GroupForm::slots,
                 .offsets = type,
                 .ranges = {{0, 3}, {10, 0}, {20, 11}},
                 .tail = tail};
      c.poison_unowned();
      expect_same_bits(c.run(), c.expected());
    }
  }
}

TEST(Groups, LargerThanAPanel) {
  GemmCase c{.rows = 1000, .features = 33, .sum = 300, .ranges = consecutive({193, 601, 200})};
  c.poison_unowned();
  expect_same_bits(c.run(), c.expected());
}

TEST(Groups, NoRowsAndNoSum) {
  const GemmCase none{.rows = 0, .ranges = consecutive({0, 0, 0})};
  EXPECT_TRUE(none.run().empty());
  const GemmCase zero{.sum = 0};
  const std::vector<float> y = zero.run();
  ASSERT_EQ(400U, y.size());
  expect_same_bits(y, std::vector<float>(400, 0.0f));
}

// Offsets are data: a run reports them and touches nothing.
void expect_refused(GroupForm form, DType type, const std::vector<std::vector<int64_t>>& parts) {
  GemmCase c{.form = form, .offsets = type};
  Bench bench(c.graph(), {{"T", c.rows}});
  bench.tensors.set("x", c.x);
  bench.tensors.set("w", c.w);
  const auto put = [&](const std::string& name, const std::vector<int64_t>& v) {
    if (type == DType::i64) return bench.tensors.set(name, v);
    bench.tensors.set(name, std::vector<int32_t>(v.begin(), v.end()));
  };
  put(form == GroupForm::slots ? "g.begin" : "g", parts[0]);
  if (form == GroupForm::slots) put("g.used", parts[1]);
  const Status s = bench.run();
  ASSERT_FALSE(s);
  EXPECT_EQ(ErrorKind::mismatch, s.findings().kind());
  EXPECT_EQ("E-GROUPS", s.findings()[0].code);
  EXPECT_EQ("g", s.findings()[0].op);
  for (uint8_t b : bench.tensors.raw("y")) ASSERT_EQ(kPoison, b);
}

TEST(Groups, BadOffsetsAreFindings) {
  for (const DType t : {DType::i32, DType::i64}) {
    expect_refused(GroupForm::ends, t, {{10, 5, 40}});    // decreases
    expect_refused(GroupForm::ends, t, {{10, 20, 41}});   // passes T
    expect_refused(GroupForm::ends, t, {{-1, 20, 40}});   // negative
    expect_refused(GroupForm::starts, t, {{0, 30, 20}});  // decreases
    expect_refused(GroupForm::starts, t, {{0, 20, 41}});  // passes T
    expect_refused(GroupForm::boundaries, t, {{0, 9, 8, 40}});
    expect_refused(GroupForm::boundaries, t, {{0, 9, 18, 41}});
    expect_refused(GroupForm::counts, t, {{20, 20, 1}});  // passes T
    expect_refused(GroupForm::counts, t, {{20, -1, 1}});
    expect_refused(GroupForm::slots, t, {{0, 10, 20}, {11, 5, 5}});  // overlap
    expect_refused(GroupForm::slots, t, {{0, 10, 20}, {1, 5, 21}});  // passes T
    expect_refused(GroupForm::slots, t, {{0, 10, 20}, {1, -5, 1}});
  }
}

TEST(Groups, HugeOffsetsDoNotOverflow) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const DType t = DType::i64;
  expect_refused(GroupForm::ends, t, {{kMax, kMin, 40}});
  expect_refused(GroupForm::starts, t, {{kMin, kMax, 40}});
  expect_refused(GroupForm::boundaries, t, {{kMin, kMax, kMin, kMax}});
  expect_refused(GroupForm::counts, t, {{kMax, kMax, kMax}});
  expect_refused(GroupForm::slots, t, {{kMax, 0, 0}, {kMax, 0, 0}});
  expect_refused(GroupForm::slots, t, {{1, 0, 0}, {kMax, 0, 0}});
}

TEST(Groups, BrokenAlignmentPromiseIsAFinding) {
  Builder g("aligned");
  const auto x = g.input("x", {32, 4}, DType::f32);
  const auto w = g.weights("w", {2, 4, 4}, DType::f32);
  const auto ends = g.groups("g", 2, GroupForm::ends, {.row_alignment = 16});
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}));
  Bench bench(finish(g));
  bench.tensors.fill("x", 0);
  bench.tensors.fill("w", 0);
  bench.tensors.set<int32_t>("g", {8, 32});
  const Status s = bench.run();
  ASSERT_FALSE(s);
  EXPECT_EQ("E-GROUPS", s.findings()[0].code);
  EXPECT_EQ("a multiple of 16 rows", s.findings()[0].wanted);
}

}  // namespace
}  // namespace cohort::test
