// No attribute of quantize is ignored: whatever the format, the axes and the roundings, another
// value of it changes a byte of a result, or is refused by name.
#include <functional>
#include <map>
#include <set>

#include "engine/gemm_case.h"
#include "fixtures/findings.h"
#include "ir/op_record.h"
#include "numerics/codec.h"

namespace cohort::test {
namespace {

constexpr int64_t kRows = 160;
constexpr int64_t kFeatures = 160;
constexpr float kNorm = 0.7f;

// What every graph of this test has in common.
struct Base {
  Format to;
  Axes axes;
  ScaleRounding scale_rounding;
  Rounding rounding;
};

std::string label(const Base& b) {
  return std::string(name(b.to)) + ", " + std::string(name(b.axes)) + ", " +
         std::string(name(b.scale_rounding)) + ", " + std::string(name(b.rounding));
}

// The op, and which of its scalars it gets.
struct Asked {
  Quantize op;
  bool seed = false;
  bool offset = false;
};

// One attribute with another value; `is_default` when that is what its default means, or nothing
// could be told from the few elements of this test.
struct Change {
  const char* field;
  std::string to;
  std::function<void(Asked&)> apply;
  std::function<bool(const Base&)> is_default = [](const Base&) { return false; };
};

bool is_e2m1(const Base& b) { return info(b.to).element == DType::e2m1; }
bool has_f32_scales(const Base& b) { return info(b.to).scale == DType::f32; }
bool is_chance(const Base& b) { return b.rounding == Rounding::stochastic; }

// Every other word of a field.
template <class E, class F>
void words(std::vector<Change>& all, const char* field, F member,
           const std::function<bool(const Base&, E)>& is_default) {
  for (int i = 0; !name(static_cast<E>(i)).empty(); ++i) {
    const auto e = static_cast<E>(i);
    all.push_back({field, std::string(name(e)), [member, e](Asked& a) { a.op.*member = e; },
                   [is_default, e](const Base& b) { return is_default(b, e); }});
  }
}

std::vector<Change> changes() {
  std::vector<Change> all;
  words<DType>(all, "element", &Quantize::element,
               [](const Base& b, DType e) { return e == info(b.to).element; });
  words<ScaleRounding>(all, "scale_rounding", &Quantize::scale_rounding,
                       [](const Base& b, ScaleRounding e) { return e == b.scale_rounding; });
  words<Reciprocal>(all, "reciprocal", &Quantize::reciprocal, [](const Base& b, Reciprocal e) {
    // The factor moves by a unit, which a random threshold sees once in 10^7
    // elements; nearest_even shows that it is read.
    const bool is_unseen = is_chance(b) && b.to == Format::nvfp4;
    return e == Reciprocal::exact || is_unseen;
  });
  words<ScaleLayout>(all, "row_layout", &Quantize::row_layout, [](const Base& b, ScaleLayout e) {
    const auto own = has_f32_scales(b) ? ScaleLayout::linear : ScaleLayout::tiled_128x4;
    return b.axes != Axes::col && e == own;
  });
  words<ScaleLayout>(all, "col_layout", &Quantize::col_layout,
                     [](const Base&, ScaleLayout e) { return e == ScaleLayout::per_group; });
  words<ColStorage>(all, "col_storage", &Quantize::col_storage, [](const Base& b, ColStorage e) {
    const bool is_own = b.axes != Axes::row && is_e2m1(b) && e == ColStorage::transposed;
    return e == ColStorage::as_rows || is_own;
  });
  const auto is_nearest = [](const Base& b) { return !is_chance(b); };
  all.push_back({"norm", "1", [](Asked& a) { a.op.norm = 1.0; }});
  all.push_back({"qmax", "2.5", [](Asked& a) { a.op.qmax = 2.5f; }});
  all.push_back({"rounding", "nearest_even",
                 [](Asked& a) {
                   a = {a.op};
                   a.op.rounding = Rounding::nearest_even;
                 },
                 is_nearest});
  all.push_back({"rounding", "stochastic",
                 [](Asked& a) {
                   a = {a.op, true, true};
                   a.op.rounding = Rounding::stochastic;
                 },
                 is_chance});
  all.push_back({"seed", "given", [](Asked& a) { a.seed = true; }, is_chance});
  all.push_back({"seed", "absent", [](Asked& a) { a.seed = false; }, is_nearest});
  all.push_back({"offset", "given", [](Asked& a) { a.offset = true; }, is_chance});
  all.push_back({"offset", "absent", [](Asked& a) { a.offset = false; }, is_nearest});
  return all;
}

Result<Graph> describe(const Base& b, const Change* change) {
  Builder g("attributes");
  const auto x = g.input("x", {kRows, kFeatures}, DType::f32);
  const auto groups = g.groups("g", 2, GroupForm::ends, {.row_alignment = 32});
  Asked asked{{.to = b.to,
               .axes = b.axes,
               .norm = static_cast<double>(kNorm),
               .scale_rounding = b.scale_rounding,
               .rounding = b.rounding},
              is_chance(b),
              is_chance(b)};
  if (change != nullptr) change->apply(asked);
  if (asked.seed) asked.op.seed = g.scalar("seed", DType::i64);
  if (asked.offset) asked.op.offset = g.scalar("offset", DType::i64);
  const auto q = g.add(Load{.x = x, .groups = groups}).then(asked.op);
  if (b.axes != Axes::col) g.output("row", q.row, {.tail = Tail::zero});
  if (b.axes != Axes::row) g.output("col", q.col, {.tail = Tail::zero});
  return std::move(g).finish();
}

// The scale of an nvfp4 block, and a number that norm / scale and norm * (1 / scale) put on two
// sides of a tie of e2m1, where the two differ.
float near_a_tie(float largest, float tie) {
  const float q = largest * (1.0f / 6.0f) * kNorm;
  const float scale = numerics::decode(numerics::kE4m3, numerics::encode(numerics::kE4m3, q));
  const float exact = kNorm / scale;
  const float approximate = kNorm * (1.0f / scale);
  float v = tie / exact;
  for (int i = 0; i < 4; ++i) v = std::nextafter(v, 0.0f);
  for (int i = 0; i < 8 && (v * exact > tie) == (v * approximate > tie); ++i) {
    v = std::nextafter(v, 100.0f);
  }
  return v;
}

// Numbers of a few powers of two; in blocks along one axis they stand near ties.
std::vector<float> numbers(Axes axes) {
  const float ties[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f};
  std::vector<float> x(kRows * kFeatures);
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < kFeatures; ++c) {
      const int64_t along = axes == Axes::col ? r : c;
      const int64_t across = axes == Axes::col ? c : r;
      const float largest = 1 + static_cast<float>((across * 7 + along / 16 * 3) % 50) / 50;
      const float v = along % 16 == 0 ? largest : near_a_tie(largest, ties[along % 6]);
      x[static_cast<size_t>(r * kFeatures + c)] = c % 3 == 0 ? -v : v;
    }
  }
  return x;
}

using Memory = std::map<std::string, std::vector<uint8_t>>;

Memory results(const Graph& graph, Axes axes) {
  Bench bench(graph);
  bench.tensors.set("x", numbers(axes));
  bench.tensors.set<int32_t>("g", {64, 160});
  for (const char* scalar : {"seed", "offset"}) {
    if (graph.tensor_index(scalar) >= 0) bench.tensors.set<int64_t>(scalar, {5});
  }
  bench.run_well();
  Memory all;
  for (int32_t i = 0; i < graph.tensor_count(); ++i) {
    const std::string tensor(graph.tensor_name(i));
    if (bench.tensors.infos()[static_cast<size_t>(i)].is_output) {
      all[tensor] = bench.tensors.raw(tensor);
    }
  }
  return all;
}

const Format kFormats[] = {Format::mxfp8_e4m3,  Format::mxfp8_e5m2, Format::mxfp4,
                           Format::nvfp4,       Format::fp8_tensor, Format::fp8_row,
                           Format::fp8_block128};

// Every valid graph of a format without other attributes than these.
std::vector<Base> bases(Format to) {
  std::vector<Base> all;
  for (const Axes axes : {Axes::row, Axes::col, Axes::both}) {
    for (const auto scales : {ScaleRounding::up, ScaleRounding::floor, ScaleRounding::even}) {
      for (const auto rounding : {Rounding::nearest_even, Rounding::stochastic}) {
        const Base b{to, axes, scales, rounding};
        if (describe(b, nullptr)) all.push_back(b);
      }
    }
  }
  return all;
}

class QuantizeAttributes : public ::testing::TestWithParam<Format> {};

TEST_P(QuantizeAttributes, EachMattersOrIsRefused) {
  int refused = 0;
  int noticed = 0;
  for (const Base& b : bases(GetParam())) {
    const Memory wanted = results(*describe(b, nullptr), b.axes);
    for (const Change& c : changes()) {
      if (c.is_default(b)) continue;
      SCOPED_TRACE(label(b) + ": " + c.field + " " + c.to);
      const Result<Graph> graph = describe(b, &c);
      if (graph) {
        ++noticed;
        EXPECT_TRUE(results(*graph, b.axes) != wanted) << "changes nothing";
        continue;
      }
      ++refused;
      const KeptFinding f = only(graph.findings());
      EXPECT_EQ(f.code, "E-ATTRIBUTE");
      EXPECT_EQ(f.op, "quantize");
      EXPECT_EQ(f.field, c.field);
      EXPECT_NE(f.wanted, f.got);
      EXPECT_FALSE(f.wanted.empty());
      EXPECT_FALSE(f.got.empty());
      EXPECT_FALSE(f.message.empty());
    }
  }
  std::printf("%d changes noticed, %d refused\n", noticed, refused);
  EXPECT_GE(noticed, 8);
  EXPECT_GE(refused, 50);
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantizeAttributes, ::testing::ValuesIn(kFormats),
                         [](const auto& p) { return std::string(name(p.param)); });

// The lists above hold every format that there is, and every field but the two that make the list.
TEST(QuantizeAttributesList, IsComplete) {
  EXPECT_TRUE(name(static_cast<Format>(std::size(kFormats))).empty());
  std::set<std::string> fields{"to", "axes"};
  for (const Change& c : changes()) fields.insert(c.field);
  for (const ir::FieldRecord& f : ir::find_op("quantize")->fields) {
    EXPECT_EQ(fields.count(f.name), 1u) << f.name;
  }
  // 3 axes x 3 roundings of scales x 2 of elements; 3 x 2; 2.
  EXPECT_EQ(bases(Format::mxfp4).size(), 18u);
  EXPECT_EQ(bases(Format::nvfp4).size(), 6u);
  EXPECT_EQ(bases(Format::fp8_row).size(), 2u);
}

TEST(QuantizeAttributesList, ARefusalSaysWhatToDo) {
  Builder g("unused");
  const auto x = g.add(Load{.x = g.input("x", {32, 32}, DType::f32)});
  g.output("y", x.then(Quantize{.to = Format::nvfp4, .scale_rounding = ScaleRounding::even}).row);
  const KeptFinding f = only(std::move(g).finish().findings());
  EXPECT_EQ(f.field, "scale_rounding");
  EXPECT_EQ(f.wanted, "up");
  EXPECT_EQ(f.got, "even");
  EXPECT_EQ(f.message, "scale_rounding is of e8m0 scales, those of nvfp4 are e4m3");
  EXPECT_EQ(f.hint, "leave scale_rounding out");
}

}  // namespace
}  // namespace cohort::test
