#include <array>
#include <cmath>
#include <string>

#include "ops/binary_bound.h"
#include "ops/broadcast.h"
#include "ops/rules.h"

namespace cohort {

std::string_view name(BinaryMode value) noexcept {
  constexpr std::array<std::string_view, 11> kWords{"add",        "sub",         "mul",       "div",
                                                    "min",        "max",         "pow",       "mod",
                                                    "add_square", "logical_and", "logical_or"};
  const auto i = static_cast<size_t>(value);
  return i < kWords.size() ? kWords[i] : std::string_view{};
}

namespace ops {

namespace {

bool commutes(BinaryMode mode) {
  switch (mode) {
    case BinaryMode::add:
    case BinaryMode::mul:
    case BinaryMode::min:
    case BinaryMode::max:
    case BinaryMode::logical_and:
    case BinaryMode::logical_or:
      return true;
    default:
      return false;
  }
}

void infer(ir::Infer& c) {
  const bool swapped = c.knows({"mode", "swapped"}) && c.field("swapped").integer != 0;
  if (swapped && commutes(c.choice<BinaryMode>("mode"))) {
    c.fail("E-ATTRIBUTE", "swapped", -1, "false", "true",
           std::string(name(c.choice<BinaryMode>("mode"))) + " is the same both ways round",
           "leave swapped out");
  }
  infer_elementwise(c, {"by"});
}

// IEEE 754-2019 minimum and maximum, as min.NaN and max.NaN on the device.
float smaller(float a, float b) {
  if (a != a || b != b) return a + b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
float larger(float a, float b) {
  if (a != a || b != b) return a + b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

template <class F>
void apply(const ir::Panel& p, F&& f) {
  const Broadcast by = broadcast(p, 1);
  if (p.graph->field(*p.node, "swapped").integer != 0) {
    each_with(p, by, [&f](float x, float v) { return f(v, x); });
  } else {
    each_with(p, by, f);
  }
}

void map(const ir::Panel& p) {
  switch (static_cast<BinaryMode>(p.graph->field(*p.node, "mode").integer)) {
    case BinaryMode::add:
      return apply(p, [](float a, float b) { return a + b; });
    case BinaryMode::sub:
      return apply(p, [](float a, float b) { return a - b; });
    case BinaryMode::mul:
      return apply(p, [](float a, float b) { return a * b; });
    case BinaryMode::div:
      return apply(p, [](float a, float b) { return a / b; });
    case BinaryMode::min:
      return apply(p, smaller);
    case BinaryMode::max:
      return apply(p, larger);
    case BinaryMode::pow:
      return apply(p, [](float a, float b) {
        return static_cast<float>(std::pow(static_cast<double>(a), static_cast<double>(b)));
      });
    case BinaryMode::mod:
      return apply(p, [](float a, float b) { return std::fmod(a, b); });
    case BinaryMode::add_square:
      return apply(p, [](float a, float b) { return a + b * b; });
    case BinaryMode::logical_and:
      return apply(p, [](float a, float b) { return a != 0 && b != 0 ? 1.0f : 0.0f; });
    case BinaryMode::logical_or:
      return apply(p, [](float a, float b) { return a != 0 || b != 0 ? 1.0f : 0.0f; });
  }
}

ir::Bound evaluate(BinaryMode mode, ir::Bound a, ir::Bound b) {
  switch (mode) {
    case BinaryMode::add:
      return a + b;
    case BinaryMode::sub:
      return a - b;
    case BinaryMode::mul:
      return a * b;
    case BinaryMode::div:
      return a / b;
    case BinaryMode::min:
      return ir::min(a, b);
    case BinaryMode::max:
      return ir::max(a, b);
    case BinaryMode::pow:
      return power_bound(a, b);
    case BinaryMode::mod:
      return remainder_bound(a, b);
    case BinaryMode::add_square:
      return a + ir::square(b);
    case BinaryMode::logical_and:
      if (truth(a) == Truth::no || truth(b) == Truth::no) return 0.0;
      return truth_bound(truth(a) == truth(b) ? truth(a) : Truth::unknown);
    case BinaryMode::logical_or:
      if (truth(a) == Truth::yes || truth(b) == Truth::yes) return 1.0;
      return truth_bound(truth(a) == truth(b) ? truth(a) : Truth::unknown);
  }
  return unknown_bound();
}

void bound(const ir::BoundPanel& b) {
  const auto mode = static_cast<BinaryMode>(b.low.graph->field(*b.low.node, "mode").integer);
  const bool swapped = b.low.graph->field(*b.low.node, "swapped").integer != 0;
  const Broadcast at = broadcast(b.low, 1);
  each(b, [&](ir::Bound x, int64_t r, int64_t n) {
    const ir::Bound by = operand_bound(b, at, 1, r, n);
    return swapped ? evaluate(mode, by, x) : evaluate(mode, x, by);
  });
}

}  // namespace

ir::OpRecord binary() {
  ir::OpRecord r = ir::describe(Binary{.mode = BinaryMode::add, .by = 0.0});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .bound = bound};
  r.device_functor = "Binary";
  r.formula = "y = f(x, by), or f(by, x)";
  document(r, {{"mode", "f"},
               {"by", "a number, or what broadcasts to (T, N)"},
               {"swapped", "by comes first"}});
  return r;
}

}  // namespace ops
}  // namespace cohort
