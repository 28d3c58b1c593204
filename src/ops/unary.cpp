#include <array>
#include <cfloat>
#include <limits>
#include <string>

#include "ops/broadcast.h"
#include "ops/rules.h"
#include "ops/unary_bound.h"
#include "ops/unary_math.h"

namespace cohort {

std::string_view name(UnaryMode value) noexcept {
  constexpr std::array<std::string_view, 25> kWords{
      "identity", "relu",        "silu",      "gelu",        "gelu_tanh", "tanh",  "sigmoid",
      "elu",      "softplus",    "exp",       "log",         "sqrt",      "rsqrt", "reciprocal",
      "neg",      "abs",         "erf",       "ceil",        "floor",     "sin",   "cos",
      "tan",      "logical_not", "row_index", "column_index"};
  const auto i = static_cast<size_t>(value);
  return i < kWords.size() ? kWords[i] : std::string_view{};
}

std::string_view name(Direction value) noexcept {
  switch (value) {
    case Direction::fwd:
      return "fwd";
    case Direction::bwd:
      return "bwd";
  }
  return {};
}

namespace ops {

namespace {

// Which mode reads an attribute, and what leaves it out.
struct Parameter {
  const char* field;
  UnaryMode mode;
  UnaryMode other_mode;
  float usual;
};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::array<Parameter, 5> kParameters{{
    {"lower_clip", UnaryMode::relu, UnaryMode::relu, 0},
    {"upper_clip", UnaryMode::relu, UnaryMode::relu, kInfinity},
    {"slope", UnaryMode::relu, UnaryMode::relu, 0},
    {"alpha", UnaryMode::elu, UnaryMode::elu, 1},
    {"beta", UnaryMode::silu, UnaryMode::softplus, 1},
}};

void check_parameters(ir::Infer& c, UnaryMode mode) {
  const std::string word(name(mode));
  for (const Parameter& p : kParameters) {
    if (!c.knows(p.field)) continue;
    const float value = c.field(p.field).real;
    if (value == p.usual || mode == p.mode || mode == p.other_mode) continue;
    c.fail("E-ATTRIBUTE", p.field, -1, number_text(p.usual), number_text(value),
           word + " has no " + p.field);
  }
  const float low = c.field("lower_clip").real;
  const float high = c.field("upper_clip").real;
  const bool clips = c.knows({"lower_clip", "upper_clip"});
  if (mode == UnaryMode::relu && clips && (low > high || low == kInfinity)) {
    c.fail("E-ATTRIBUTE", "lower_clip", -1, "a number up to upper_clip, " + number_text(high),
           number_text(low), "no number lies between the clips");
  }
  if (mode == UnaryMode::softplus && c.knows("beta") && c.field("beta").real == 0) {
    c.fail("E-ATTRIBUTE", "beta", -1, "a number but 0", "0", "softplus divides by beta");
  }
}

void check_direction(ir::Infer& c) {
  if (!c.knows("direction")) return;
  const bool backward = c.choice<Direction>("direction") == Direction::bwd;
  const auto mode = c.knows("mode") ? c.choice<UnaryMode>("mode") : UnaryMode::relu;
  if (backward && !is_differentiated(mode)) {
    c.fail("E-ATTRIBUTE", "direction", -1, "fwd", "bwd",
           std::string(name(mode)) + " has no backward", "relu to softplus have one");
  }
  const bool given = c.has("x");
  if (c.knows("x") && given != backward) {
    c.fail("E-ATTRIBUTE", "x", -1, backward ? "the saved forward input" : "nothing",
           given ? "a value" : "nothing",
           backward ? "the derivative is taken at x" : "only direction bwd takes x");
  }
}

void infer(ir::Infer& c) {
  check_direction(c);
  if (c.knows("mode")) check_parameters(c, c.choice<UnaryMode>("mode"));
  infer_elementwise(c, {"x"});
}

void backward(const ir::Panel& p, UnaryMode mode) {
  const UnaryParameters q = unary_parameters(p);
  const Broadcast x = broadcast(p, kUnaryX);
  if (mode == UnaryMode::relu) {
    each_with(p, x, [&q](float dy, float v) { return relu_gradient(q, dy, v); });
    return;
  }
  with_derivative(mode, q, [&](auto derivative) {
    each_with(p, x, [&](float dy, float v) {
      return static_cast<float>(static_cast<double>(dy) * derivative(static_cast<double>(v)));
    });
  });
}

void map(const ir::Panel& p) {
  const auto mode = static_cast<UnaryMode>(p.graph->field(*p.node, "mode").integer);
  if (static_cast<Direction>(p.graph->field(*p.node, "direction").integer) == Direction::bwd) {
    return backward(p, mode);
  }
  const UnaryParameters q = unary_parameters(p);
  switch (mode) {
    case UnaryMode::identity:
      return each(p, [](float x, int64_t, int64_t) { return x; });
    case UnaryMode::relu:
      return each(p, [&q](float x, int64_t, int64_t) { return relu(q, x); });
    case UnaryMode::sqrt:
      return each(p, [](float x, int64_t, int64_t) { return std::sqrt(x); });
    case UnaryMode::reciprocal:
      return each(p, [](float x, int64_t, int64_t) { return 1.0f / x; });
    case UnaryMode::neg:
      return each(p, [](float x, int64_t, int64_t) { return -x; });
    case UnaryMode::abs:
      return each(p, [](float x, int64_t, int64_t) { return std::fabs(x); });
    case UnaryMode::ceil:
      return each(p, [](float x, int64_t, int64_t) { return std::ceil(x); });
    case UnaryMode::floor:
      return each(p, [](float x, int64_t, int64_t) { return std::floor(x); });
    case UnaryMode::logical_not:
      return each(p, [](float x, int64_t, int64_t) { return x == 0 ? 1.0f : 0.0f; });
    case UnaryMode::row_index:
      return each(p,
                  [&p](float, int64_t r, int64_t) { return static_cast<float>(p.first_row + r); });
    case UnaryMode::column_index:
      return each(p, [](float, int64_t, int64_t n) { return static_cast<float>(n); });
    default:
      with_function(mode, q, [&](auto f) {
        each(p, [&](float x, int64_t, int64_t) {
          return static_cast<float>(f(static_cast<double>(x)));
        });
      });
  }
}

}  // namespace

UnaryParameters unary_parameters(const ir::Panel& p) {
  const auto real = [&](std::string_view field) { return p.graph->field(*p.node, field).real; };
  return {real("lower_clip"), real("upper_clip"), real("slope"), static_cast<double>(real("alpha")),
          static_cast<double>(real("beta"))};
}

ir::OpRecord unary() {
  ir::OpRecord r = ir::describe(Unary{.mode = UnaryMode::identity});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .bound = unary_bound};
  r.device_functor = "Unary";
  r.formula = "y = f(x), or y = in * f'(x)";
  for (const char* field : {"slope", "alpha", "beta"}) range(r, field, -FLT_MAX, FLT_MAX);
  document(r, {{"mode", "f"},
               {"direction", "bwd: in is the gradient of f(x); relu to softplus only"},
               {"x", "(T, N): the saved forward input, bwd only"},
               {"lower_clip", "of relu"},
               {"upper_clip", "of relu, lower_clip or more"},
               {"slope", "of relu, below lower_clip"},
               {"alpha", "of elu"},
               {"beta", "of silu and softplus"}});
  return r;
}

}  // namespace ops
}  // namespace cohort
