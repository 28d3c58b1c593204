#include <array>

#include "ops/broadcast.h"
#include "ops/rules.h"

namespace cohort {

std::string_view name(CompareMode value) noexcept {
  constexpr std::array<std::string_view, 6> kWords{"eq", "ne", "lt", "le", "gt", "ge"};
  const auto i = static_cast<size_t>(value);
  return i < kWords.size() ? kWords[i] : std::string_view{};
}

namespace ops {

namespace {

void infer(ir::Infer& c) { infer_elementwise(c, {"by"}); }

template <class F>
void apply(const ir::Panel& p, F&& f) {
  each_with(p, broadcast(p, 1), [&f](float x, float v) { return f(x, v) ? 1.0f : 0.0f; });
}

void map(const ir::Panel& p) {
  switch (static_cast<CompareMode>(p.graph->field(*p.node, "mode").integer)) {
    case CompareMode::eq:
      return apply(p, [](float a, float b) { return a == b; });
    case CompareMode::ne:
      return apply(p, [](float a, float b) { return a != b; });
    case CompareMode::lt:
      return apply(p, [](float a, float b) { return a < b; });
    case CompareMode::le:
      return apply(p, [](float a, float b) { return a <= b; });
    case CompareMode::gt:
      return apply(p, [](float a, float b) { return a > b; });
    case CompareMode::ge:
      return apply(p, [](float a, float b) { return a >= b; });
  }
}

// Surely a < b, surely not, or neither is known.
Truth less(ir::Bound a, ir::Bound b) {
  if (a.high < b.low) return Truth::yes;
  return a.low >= b.high ? Truth::no : Truth::unknown;
}
Truth equal(ir::Bound a, ir::Bound b) {
  if (a.high < b.low || b.high < a.low) return Truth::no;
  const bool fixed = a.low == a.high && b.low == b.high;
  return fixed ? Truth::yes : Truth::unknown;
}
Truth inverse(Truth t) {
  return t == Truth::unknown ? t : t == Truth::yes ? Truth::no : Truth::yes;
}

Truth evaluate(CompareMode mode, ir::Bound a, ir::Bound b) {
  if (a.is_nan() || b.is_nan()) return mode == CompareMode::ne ? Truth::yes : Truth::no;
  switch (mode) {
    case CompareMode::eq:
      return equal(a, b);
    case CompareMode::ne:
      return inverse(equal(a, b));
    case CompareMode::lt:
      return less(a, b);
    case CompareMode::le:
      return inverse(less(b, a));
    case CompareMode::gt:
      return less(b, a);
    case CompareMode::ge:
      return inverse(less(a, b));
  }
  return Truth::unknown;
}

void bound(const ir::BoundPanel& b) {
  const auto mode = static_cast<CompareMode>(b.low.graph->field(*b.low.node, "mode").integer);
  const Broadcast at = broadcast(b.low, 1);
  each(b, [&](ir::Bound x, int64_t r, int64_t n) {
    return truth_bound(evaluate(mode, x, operand_bound(b, at, 1, r, n)));
  });
}

}  // namespace

ir::OpRecord compare() {
  ir::OpRecord r = ir::describe(Compare{.mode = CompareMode::eq, .by = 0.0});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .bound = bound};
  r.device_functor = "Compare";
  r.formula = "y = 1 where x and by stand in a relation, otherwise 0";
  document(r, {{"mode", "the relation"}, {"by", "a number, or what broadcasts to (T, N)"}});
  return r;
}

}  // namespace ops
}  // namespace cohort
