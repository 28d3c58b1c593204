#include "ops/product.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

void infer(ir::Infer& c) {
  const bool n_major = c.knows("b_major") && c.choice<Major>("b_major") == Major::n;
  const bool a_is_matrix = c.want_rank("a", 2, "(M, K)");
  const bool b_is_matrix = c.want_rank("b", 2, n_major ? "(K, N)" : "(N, K)");
  const ir::Value* a = c.operand("a");
  const ir::Value* b = c.operand("b");
  if (a_is_matrix && b_is_matrix && c.knows("b_major")) {
    c.want_extent("b", n_major ? 0 : 1, a->shape[1], "K", *a);
  }
  check_operand_pair(c, "a", "b");
  if (n_major && b != nullptr && b->scaled) {
    c.fail("E-LAYOUT", "b_major", -1, "k", "n", "blocks of a quantised b run along K: b is (N, K)");
  }
  check_shifted(c, "a", "a product with groups");
  check_shifted(c, "b", "a product with groups");
  if (a_is_matrix) c.known_rows(0, a->shape[0], ir::kNone);
  if (c.failed()) return;
  ir::Value y;
  y.shape = {a->shape[0], b->shape[n_major ? 1 : 0]};
  y.accumulator = true;
  c.result(0, y);
}

}  // namespace

ir::OpRecord matmul() {
  ir::OpRecord r = ir::describe(Matmul{.a = ir::any<Tensor>(), .b = ir::any<Tensor>()});
  r.infer = infer;
  r.reference.kind = ir::Reference::Kind::product;
  r.formula = "y[m,n] = sum_k a[m,k] * b[n,k]";
  document(r, {{"a", "(M, K)"},
               {"b", "(N, K), or (K, N) when b_major is n"},
               {"b_major", "which dimension of b is contiguous"}});
  return r;
}

}  // namespace cohort::ops
