#include "ops/product.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

// As many groups as experts, or a multiple of that.
void want_whole_rounds(ir::Infer& c, const ir::Value& groups, const ir::Value& b) {
  const int64_t experts = b.shape[0].bound;
  const int64_t count = groups.shape[0].bound;
  if (count % experts == 0) return;
  std::string hint;
  if (count == experts + 1) {
    hint = "count the groups, not the entries: form boundaries has one entry more by itself";
  }
  c.fail("E-GROUPS", "groups", 0, "a multiple of " + std::to_string(experts), std::to_string(count),
         c.describe(groups) + " has " + std::to_string(count) + " groups, " + c.describe(b) +
             " has " + std::to_string(experts) + " experts: group g uses expert g mod E",
         hint);
}

void infer(ir::Infer& c) {
  const bool a_is_matrix = c.want_rank("a", 2, "(T, K)");
  const bool gather_is_list = c.want_rank("gather", 1, "(T)");
  const ir::Value* a = c.operand("a");
  const ir::Value* b = c.operand("b");
  const ir::Value* groups = c.operand("groups");
  if (a_is_matrix) c.want_extent("b", 2, a->shape[1], "K", *a);
  check_operand_pair(c, "a", "b");
  if (want_counted(c, "groups") && b != nullptr) want_whole_rounds(c, *groups, *b);
  if (c.operand("gather") != nullptr) check_shifted(c, "a", "a product without gather");
  const bool own_rows = a != nullptr && groups != nullptr && !c.has("gather");
  if (own_rows && a->groups != ir::kNone && a->groups != c.field("groups").value) {
    c.fail("E-GROUPS", "groups", -1, c.describe(c.graph().values[static_cast<size_t>(a->groups)]),
           c.describe(*groups), "the rows of " + c.describe(*a) + " belong to other groups");
  }
  const ir::Value* gather = c.operand("gather");
  if (c.has("gather") ? gather_is_list : a_is_matrix) {
    const int32_t of = groups != nullptr ? c.field("groups").value : ir::kNone;
    c.known_rows(0, (c.has("gather") ? gather : a)->shape[0], of);
  }
  if (c.failed()) return;
  ir::Value y;
  y.shape = {gather != nullptr ? gather->shape[0] : a->shape[0], b->shape[1]};
  y.groups = c.field("groups").value;
  y.experts = b->shape[0].bound;
  y.accumulator = true;
  c.result(0, y);
}

}  // namespace

ir::OpRecord grouped_gemm() {
  ir::OpRecord r = ir::describe(
      GroupedGemm{.a = ir::any<Tensor>(), .b = ir::any<Weights>(), .groups = ir::any<Groups>()});
  r.infer = infer;
  r.reference.kind = ir::Reference::Kind::product;
  r.formula = "y[m,n] = sum_k a[m,k] * b[g(m)][n,k]";
  document(r, {{"a", "tokens (T, K), or (S, K) with gather"},
               {"b", "weights (E, N, K), dense or discrete; group g uses expert g mod E"},
               {"groups", "which of the T rows belong to which group"},
               {"gather", "(T): row r reads a[gather[r]]"}});
  return r;
}

}  // namespace cohort::ops
