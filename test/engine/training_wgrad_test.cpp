// The gradients of the weights of FC1 and FC2 in an MXFP8 training step: B2.
#include "engine/call_case.h"

namespace cohort::test::conformance {
namespace {

constexpr int64_t kOut = 96, kIn = 64;

enum class Former : uint8_t { none, dense, discrete };

struct B2 {
  DType main_grad = DType::f32;
  bool discrete = false;         ///< One pointer an expert to each gradient.
  Former former = Former::none;  ///< Where the gradients stand that are added to.
  Format gradient = Format::mxfp8_e4m3;
  GroupsSpec groups{.form = GroupForm::ends};
  Strides strides{};
};

// sum over the rows of expert e of a[r, i] b[r, j], and what was there.
template <class A, class B>
auto wanted(Case& c, A a, B b, std::function<Near(int64_t, int64_t, int64_t)> old) {
  return [=, t = c.tokens()](int64_t e, int64_t i, int64_t j) -> Near {
    Sum sum;
    const Range& range = t->ranges[static_cast<size_t>(e)];
    for (int64_t r = range.begin; r < range.begin + range.rows; ++r) sum.add(a(r, i) * b(r, j));
    if (!old) return sum.result();
    return range.rows == 0 ? old(e, i, j) : sum.result() + old(e, i, j);
  };
}

void describe(Case& c, const B2& s, std::vector<Pointed>& pointed) {
  // (out, T) with strides (1, out) is (T, out) as it was written; so are the scales.
  const auto a = c.scaled("a", kOut, s.gradient, {.axis = Axes::col});
  const auto b = c.scaled("b", kIn, Format::mxfp8_e4m3, {.axis = Axes::col});
  GroupedWgrad op{.a = a.h, .b = b.h, .groups = c.groups(s.groups)};
  std::function<Near(int64_t, int64_t, int64_t)> old;
  if (s.former == Former::dense) {
    const auto w = c.weights("old", c.experts(), kOut, kIn, s.main_grad);
    op.accumulate = w.h;
    old = w;
  } else if (s.former == Former::discrete) {
    const auto w = c.weight_pointers("old", c.experts(), kOut, kIn, s.main_grad);
    op.accumulate = w.h;
    old = w;
  }
  const auto dw = wanted(c, a, b, old);
  if (!s.discrete) {
    c.output("dw", c.add(op), {.dtype = s.main_grad, .strides = s.strides}, dw);
    return;
  }
  c.builder().output("dw", c.add(op), {.dtype = s.main_grad, .discrete = true});
  pointed.push_back(
      {.name = "dw", .dtype = s.main_grad, .size = kOut * kIn, .wanted = [=](int64_t e, int64_t i) {
         return dw(e, i / kIn, i % kIn);
       }});
}

void check_b2(const char* name, const B2& s) {
  std::vector<Pointed> pointed;
  check_call(
      name, [&](Case& c) { describe(c, s, pointed); }, &pointed);
}

TEST(TrainingB2, DenseGradients) {
  for (const DType type : {DType::f32, DType::bf16}) {
    SCOPED_TRACE(std::string(name(type)));
    check_b2("written", {.main_grad = type});
    check_b2("added to", {.main_grad = type, .former = Former::dense});
    check_b2("added to pointers", {.main_grad = type, .former = Former::discrete});
  }
  check_b2("wider buffer", {.strides = {kOut * 80, 80, 1}});
  check_b2("gradients in e5m2", {.gradient = Format::mxfp8_e5m2});
}

TEST(TrainingB2, DiscreteGradients) {
  for (const DType type : {DType::f32, DType::bf16}) {
    SCOPED_TRACE(std::string(name(type)));
    check_b2("written", {.main_grad = type, .discrete = true});
    check_b2("added to", {.main_grad = type, .discrete = true, .former = Former::dense});
    check_b2("pointers", {.main_grad = type, .discrete = true, .former = Former::discrete});
  }
}

TEST(TrainingB2, GroupsOfManyRows) {
  check_b2("any number", {.groups = {.form = GroupForm::ends, .unit = 8}});
  check_b2("padded",
           {.former = Former::dense, .groups = {.form = GroupForm::ends, .multiple = 128}});
}

}  // namespace
}  // namespace cohort::test::conformance
