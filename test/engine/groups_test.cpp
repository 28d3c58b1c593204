// Which rows belong to which expert: every form, empty groups, tails, bad offsets.
#include "engine/gemm_case.h"
#include "fixtures/findings.h"

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

// Ragged e2m1 are one matrix of pairs a group: an odd group would share a byte with its neighbour.
TEST(Groups, OddGroupsOfRaggedPairsAreRefused) {
  enum class Use : uint8_t { quantize, kept, load, wgrad_a, wgrad_b };
  const auto ran = [](Use use, Format format, const std::vector<Range>& ranges) {
    Builder g("pairs");
    const auto groups = g.groups("g", 2, GroupForm::slots);
    const ScaledOptions ragged{.axis = Axes::col, .storage = ColStorage::ragged};
    const ScaledOptions turned{.axis = Axes::col, .storage = ColStorage::transposed};
    const auto input = [&](const char* name, bool is_ragged) {
      return g.scaled_input(name, {12, 3}, format, is_ragged ? ragged : turned);
    };
    if (use == Use::quantize || use == Use::kept) {
      const auto x = g.add(Load{.x = g.input("x", {12, 3}, DType::f32), .groups = groups});
      const Quantized q =
          x.then(Quantize{.to = format, .axes = Axes::col, .col_storage = ColStorage::ragged});
      if (use == Use::quantize) {
        g.output("y", q.col);
      } else {
        g.output("y", g.add(GroupedWgrad{.a = q.col, .b = q.col, .groups = groups}));
      }
    } else if (use == Use::load) {
      g.output("y", g.add(Load{.x = input("x", true), .groups = groups}));
    } else {
      g.output("y", g.add(GroupedWgrad{.a = input("a", use == Use::wgrad_a),
                                       .b = input("b", use == Use::wgrad_b),
                                       .groups = groups}));
    }
    const Graph graph = finish(g);
    EXPECT_EQ(make_plan(graph, Device::cpu())->required_group_alignment(), 2);
    Bench bench(graph);
    put_groups(bench.tensors, "g", GroupForm::slots, DType::i32, ranges);
    const Status status = bench.run();
    if (!status) {
      for (const uint8_t b : bench.tensors.raw("y")) EXPECT_EQ(kPoison, b);
    }
    return status;
  };
  const std::vector<Range> odd[] = {{{0, 4}, {4, 3}}, {{0, 5}, {6, 4}}, {{0, 2}, {3, 4}}};
  const char* const got[] = {"group 1: begin 4, rows 3", "group 0: begin 0, rows 5",
                             "group 1: begin 3, rows 4"};
  for (const Use use : {Use::quantize, Use::kept, Use::load, Use::wgrad_a, Use::wgrad_b}) {
    for (const Format format : {Format::nvfp4, Format::mxfp4}) {
      EXPECT_TRUE(ran(use, format, {{0, 4}, {6, 2}}));
      EXPECT_TRUE(ran(use, format, {{0, 4}, {7, 0}})) << "an empty group has no bytes";
      for (size_t i = 0; i < std::size(odd); ++i) {
        const Status status = ran(use, format, odd[i]);
        const KeptFinding f = only(status.findings());
        EXPECT_EQ(f.code, "E-GROUPS");
        EXPECT_EQ(f.op, "g");
        EXPECT_TRUE(has(f.wanted, "an even begin and an even number of rows")) << f.wanted;
        EXPECT_EQ(f.message.substr(0, 9) + f.got, got[i]);
      }
    }
  }
}

// Transposed, every code has a nibble of its own, whatever the groups are.
TEST(Groups, OddGroupsOfTransposedPairs) {
  const std::vector<Range> ranges{{1, 5}, {6, 21}, {27, 2}};
  const auto groups_of = [](Builder& g) { return g.groups("g", 3, GroupForm::boundaries); };
  Builder made("made");
  const auto x =
      made.add(Load{.x = made.input("x", {30, 3}, DType::f32), .groups = groups_of(made)});
  const Quantize op{.to = Format::nvfp4, .axes = Axes::col, .col_storage = ColStorage::transposed};
  made.output("q", x.then(op).col, {.tail = Tail::zero});
  Builder read("read");
  const ScaledOptions turned{.axis = Axes::col, .storage = ColStorage::transposed};
  read.output("y", read.add(Load{.x = read.scaled_input("q", {30, 3}, Format::nvfp4, turned),
                                 .groups = groups_of(read)}));
  Bench to(finish(made));
  Bench from(finish(read));
  std::vector<float> values(90);
  for (size_t i = 0; i < values.size(); ++i) {
    // A row of 6 in each block of 16: its scale is 1 and every number below is a code.
    const size_t row = i / 3;
    const bool is_largest = row == 1 || row == 6 || row == 22 || row == 27;
    values[i] = is_largest ? 6.0f : static_cast<float>(i % 7) - 3.0f;
  }
  to.tensors.set("x", values);
  for (Bench* b : {&to, &from}) {
    put_groups(b->tensors, "g", GroupForm::boundaries, DType::i32, ranges);
  }
  to.run_well();
  from.tensors.set("q", to.tensors.raw("q"));
  from.tensors.set("q.scale", to.tensors.raw("q.scale"));
  from.run_well();
  const auto y = from.tensors.values<float>("y");
  for (size_t i = 3; i < 29 * 3; ++i) EXPECT_EQ(y[i], values[i]) << i;
}

}  // namespace
}  // namespace cohort::test
