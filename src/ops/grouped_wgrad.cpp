#include <string>

#include "ops/product.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

// Blocks of a quantised operand run along the tokens, over which the product sums. Gathered rows
// come from anywhere, so their scales belong to the source row.
void check_blocks(ir::Infer& c, std::string_view field, std::string_view gather) {
  const ir::Value& v = *c.operand(field);
  if (!v.scaled || info(v.scaled->format).scale == DType::f32) return;
  const bool is_gathered = c.operand(gather) != nullptr;
  const bool columns = v.scaled->axis == Axes::col;
  if (columns != is_gathered) return;
  c.fail("E-LAYOUT", field, -1, is_gathered ? "row blocks (axis row)" : "column blocks (axis col)",
         is_gathered ? "column blocks (axis col)" : "row blocks (axis row)",
         is_gathered
             ? "column blocks of " + c.describe(v) + " are shared by rows that gather takes apart"
             : "the product sums along tokens: scales of " + c.describe(v) + " run along features");
}

void check_rows(ir::Infer& c) {
  const auto rows = [&](std::string_view field, std::string_view gather) {
    const ir::Value* index = c.operand(gather);
    return index != nullptr ? index->shape[0] : c.operand(field)->shape[0];
  };
  const ir::Extent a = rows("a", "gather_a");
  const ir::Extent b = rows("b", "gather_b");
  if (a == b) return;
  const std::string_view field = c.operand("gather_b") != nullptr ? "gather_b" : "b";
  const std::string wanted = c.text(a);
  const std::string got = c.text(b);
  c.fail("E-SHAPE", field, 0, wanted, got,
         "rows differ: " +
             c.describe(*c.operand(c.operand("gather_a") != nullptr ? "gather_a" : "a")) + " has " +
             wanted + ", " + c.describe(*c.operand(field)) + " has " + got,
         a.bound == b.bound ? "a named extent equals only itself: use the same Dim in both places"
                            : "");
}

void check_same_groups(ir::Infer& c, std::string_view field, std::string_view gather) {
  const ir::Value& v = *c.operand(field);
  const int32_t groups = c.field("groups").value;
  if (v.groups == ir::kNone || v.groups == groups || c.operand(gather) != nullptr) return;
  c.fail("E-GROUPS", "groups", -1, c.describe(c.graph().values[static_cast<size_t>(v.groups)]),
         c.describe(*c.operand("groups")),
         "the rows of " + c.describe(v) + " belong to other groups");
}

void infer(ir::Infer& c) {
  const bool a_is_matrix = c.want_rank("a", 2, "(T, I)");
  const bool b_is_matrix = c.want_rank("b", 2, "(T, J)");
  const bool a_index = c.want_rank("gather_a", 1, "(T)");
  const bool b_index = c.want_rank("gather_b", 1, "(T)");
  if (!a_is_matrix || !b_is_matrix || !a_index || !b_index) return;
  const ir::Value& a = *c.operand("a");
  const ir::Value& b = *c.operand("b");
  const ir::Value& groups = *c.operand("groups");
  check_operand_kinds(c, "a", "b");  // first: it says nothing where there are findings already
  check_rows(c);
  for (const auto& [field, gather] : {std::pair{"a", "gather_a"}, std::pair{"b", "gather_b"}}) {
    check_blocks(c, field, gather);
    if (c.operand(gather) != nullptr) check_shifted(c, field, "an operand without gather");
    check_same_groups(c, field, gather);
  }
  want_counted(c, "groups");
  for (const char* field : {"alpha", "global_scale_a", "global_scale_b"}) {
    c.want_extent(field, 0, groups.shape[0], "number of groups", c.describe(groups));
  }
  const ir::Extents shape{groups.shape[0], a.shape[1], b.shape[1]};
  if (const ir::Value* old = c.operand("accumulate"); old != nullptr) {
    const char* const of[] = {"the groups", "a", "b"};
    const char* const what[] = {"number of groups", "I", "J"};
    for (int d = 0; d < 3; ++d) c.want_extent("accumulate", d, shape[d], what[d], of[d]);
    if (old->scaled) {
      c.fail("E-DTYPE", "accumulate", -1, "f32, f16 or bf16",
             std::string(name(old->scaled->format)), "gradients are added to plain numbers");
    }
  }
  if (c.failed()) return;
  ir::Value y;
  y.shape = shape;
  y.experts = groups.shape[0].bound;
  c.result(0, y);
}

}  // namespace

ir::OpRecord grouped_wgrad() {
  ir::OpRecord r = ir::describe(
      GroupedWgrad{.a = ir::any<Tensor>(), .b = ir::any<Tensor>(), .groups = ir::any<Groups>()});
  r.infer = infer;
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
