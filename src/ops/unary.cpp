#include "ops/rules.h"

namespace cohort {

std::string_view name(UnaryMode value) noexcept {
  switch (value) {
    case UnaryMode::identity:
      return "identity";
    case UnaryMode::relu:
      return "relu";
  }
  return {};
}

namespace ops {

namespace {

void infer(ir::Infer& c) { same_as_input(c); }

void map(const ir::Panel& p) {
  const ir::FieldValue& mode = p.graph->field(*p.node, "mode");
  if (static_cast<UnaryMode>(mode.integer) == UnaryMode::relu) {
    each(p, [](float x, int64_t, int64_t) { return x < 0 ? 0.0f : x; });
  } else {
    each(p, [](float x, int64_t, int64_t) { return x; });
  }
}

}  // namespace

ir::OpRecord unary() {
  ir::OpRecord r = ir::describe(Unary{.mode = UnaryMode::identity});
  r.infer = infer;
  r.reference = {.kind = ir::Reference::Kind::map, .map = map, .monotone = true};
  r.device_functor = "Unary";
  r.formula = "y = f(x)";
  document(r, {{"mode", "f"}});
  return r;
}

}  // namespace ops
}  // namespace cohort
