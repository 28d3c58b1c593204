#include <array>
#include <string>

#include "ops/product.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

// Blocks of a quantised operand run along the tokens, over which the product sums. Gathered rows
// come from anywhere, so their scales belong to the source row.
void check_blocks(ir::Infer& c, std::string_view field, std::string_view gather) {
  if (!c.knows({field, gather})) return;
  const ir::Value& v = *c.operand(field);
  if (!v.scaled || info(v.scaled->format).scale == DType::f32) return;
  const bool is_gathered = c.has(gather);
  const bool columns = v.scaled->axis == Axes::col;
  if (columns != is_gathered) return;
  c.fail("E-LAYOUT", field, -1, is_gathered ? "row blocks (axis row)" : "column blocks (axis col)",
         is_gathered ? "column blocks (axis col)" : "row blocks (axis row)",
         is_gathered
             ? "column blocks of " + c.describe(v) + " are shared by rows that gather takes apart"
             : "the product sums along tokens: scales of " + c.describe(v) + " run along features");
}

// `field_a` and `field_b` say how many rows there are: an operand, or what gathers it.
void check_rows(ir::Infer& c, std::string_view field_a, std::string_view field_b) {
  const ir::Extent a = c.operand(field_a)->shape[0];
  const ir::Extent b = c.operand(field_b)->shape[0];
  if (a == b) return;
  const std::string wanted = c.text(a);
  const std::string got = c.text(b);
  c.fail("E-SHAPE", field_b, 0, wanted, got,
         "rows differ: " + c.describe(*c.operand(field_a)) + " has " + wanted + ", " +
             c.describe(*c.operand(field_b)) + " has " + got,
         a.bound == b.bound ? "a named extent equals only itself: use the same Dim in both places"
                            : "");
}

void check_same_groups(ir::Infer& c, std::string_view field, std::string_view gather) {
  if (!c.knows({field, "groups"}) || c.has(gather)) return;
  const ir::Value& v = *c.operand(field);
  if (v.groups == ir::kNone || v.groups == c.field("groups").value) return;
  c.fail("E-GROUPS", "groups", -1, c.describe(c.graph().values[static_cast<size_t>(v.groups)]),
         c.describe(*c.operand("groups")),
         "the rows of " + c.describe(v) + " belong to other groups");
}

// The extents of the result, each as far as the operand that has it is sound.
using Shape = std::array<const ir::Extent*, 3>;

void check_accumulate(ir::Infer& c, const Shape& shape) {
  const ir::Value* old = c.operand("accumulate");
  if (old == nullptr) return;
  const char* const of[] = {"the groups", "a", "b"};
  const char* const what[] = {"number of groups", "I", "J"};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != nullptr) {
      c.want_extent("accumulate", static_cast<int>(d), *shape[d], what[d], of[d]);
    }
  }
  if (old->scaled) {
    c.fail("E-DTYPE", "accumulate", -1, "f32, f16 or bf16", std::string(name(old->scaled->format)),
           "gradients are added to plain numbers");
  }
}

void infer(ir::Infer& c) {
  const bool a_is_matrix = c.want_rank("a", 2, "(T, I)");
  const bool b_is_matrix = c.want_rank("b", 2, "(T, J)");
  const bool a_index = c.want_rank("gather_a", 1, "(T)");
  const bool b_index = c.want_rank("gather_b", 1, "(T)");
  const ir::Value* groups = c.operand("groups");
  check_operand_kinds(c, "a", "b");
  const bool a_gathers = c.has("gather_a");
  const bool b_gathers = c.has("gather_b");
  if ((a_gathers ? a_index : a_is_matrix) && (b_gathers ? b_index : b_is_matrix)) {
    check_rows(c, a_gathers ? "gather_a" : "a", b_gathers ? "gather_b" : "b");
  }
  for (const auto& [field, gather] : {std::pair{"a", "gather_a"}, std::pair{"b", "gather_b"}}) {
    check_blocks(c, field, gather);
    if (c.operand(gather) != nullptr) check_shifted(c, field, "an operand without gather");
    check_same_groups(c, field, gather);
    if (!c.has(gather)) want_blocks_by_group(c, field);
  }
  want_counted(c, "groups");
  for (const char* field : {"alpha", "global_scale_a", "global_scale_b"}) {
    if (groups == nullptr) continue;
    c.want_extent(field, 0, groups->shape[0], "number of groups", *groups);
  }
  const Shape shape{groups != nullptr ? &groups->shape[0] : nullptr,
                    a_is_matrix ? &c.operand("a")->shape[1] : nullptr,
                    b_is_matrix ? &c.operand("b")->shape[1] : nullptr};
  check_accumulate(c, shape);
  if (c.failed()) return;
  ir::Value y;
  y.shape = {*shape[0], *shape[1], *shape[2]};
  y.experts = groups->shape[0].bound;
  c.result(0, y);
}

}  // namespace

ir::OpRecord grouped_wgrad() {
  ir::OpRecord r = ir::describe(
      GroupedWgrad{.a = ir::any<Tensor>(), .b = ir::any<Tensor>(), .groups = ir::any<Groups>()});
  r.infer = infer;
  r.results[0].added_to = "accumulate";
  r.reference.kind = ir::Reference::Kind::wgrad;
  r.formula = "dw[g][i,j] = alpha[g] * sum over rows m of g of a[m,i] * b[m,j]";
  document(r, {{"a", "(T, I), or (S, I) with gather_a; blocks of scales run along tokens"},
               {"b", "(T, J), or (S, J) with gather_b; blocks of scales run along tokens"},
               {"groups", "which of the T rows belong to which group"},
               {"gather_a", "(T): row r reads a[gather_a[r]]; -1: the row counts for nothing"},
               {"gather_b", "(T): row r reads b[gather_b[r]]; -1: the row counts for nothing"},
               {"alpha", "one factor a group"},
               {"global_scale_a", "one more factor a group: the outer scale of an nvfp4 a"},
               {"global_scale_b", "one more factor a group: the outer scale of an nvfp4 b"},
               {"accumulate", "(groups, I, J): added in f32 before the one rounding"}});
  return r;
}

}  // namespace cohort::ops
