#include <string>

#include "ops/product.h"
#include "ops/rules.h"

namespace cohort::ops {

namespace {

// A matrix of which single rows are read, wherever they lie. Whether it is a sound matrix.
bool want_rows(ir::Infer& c, std::string_view field, std::string_view form) {
  if (!c.want_rank(field, 2, form)) return false;
  const ir::Value& v = *c.operand(field);
  if (v.scaled && v.scaled->axis == Axes::col) {
    c.fail("E-LAYOUT", field, -1, "row blocks (axis row)", "column blocks (axis col)",
           "single rows are read: scales of " + c.describe(v) + " are shared by several");
  }
  check_shifted(c, field, "an op with groups");
  return true;
}

// The entries of an index: one a token and expert, or, with `koff`, one after the other.
bool want_entries(ir::Infer& c, std::string_view field) {
  const bool is_flat = c.has("koff");
  if (!c.knows(field)) return false;
  const ir::Value& v = *c.operand(field);
  const bool may_be_matrix = !is_flat || !c.knows("koff");
  if (v.shape.rank == 1 || (v.shape.rank == 2 && may_be_matrix)) return true;
  c.want_rank(field, 1, is_flat ? "(entries), as koff is given" : "(tokens, experts a token)");
  return false;
}

void want_weights_like(ir::Infer& c, std::string_view field) {
  const ir::Value* w = c.operand("weights");
  const ir::Value& entries = *c.operand(field);
  if (w == nullptr || !c.want_rank("weights", entries.shape.rank, "as many as the entries")) return;
  for (int d = 0; d < entries.shape.rank; ++d) {
    c.want_extent("weights", d, entries.shape[d], "number of entries", entries);
  }
}

void want_tokens(ir::Infer& c, const ir::Extent& tokens, const ir::Value& of) {
  c.want_extent("d_out", 0, tokens, "number of tokens", of);
}

void infer_combine(ir::Infer& c) {
  want_rows(c, "y", "(R, d)");
  if (want_entries(c, "rev")) want_weights_like(c, "rev");
  if (c.failed()) return;
  const ir::Value* koff = c.operand("koff");
  ir::Value o;
  o.shape = {koff != nullptr ? koff->shape[0] : c.operand("rev")->shape[0],
             c.operand("y")->shape[1]};
  c.result(0, o);
}

// Entries are numbered from 0; those of token t are t * top_k .. + top_k - 1, or as koff says.
void infer_d_combine(ir::Infer& c) {
  const bool is_matrix = want_rows(c, "d_out", "(T, d)");
  c.want_rank("scat", 1, "(R)");
  const ir::Value* koff = c.operand("koff");
  const ir::Value* w = c.operand("weights");
  const int64_t top_k = c.field("top_k").integer;
  want_counted(c, "groups");
  if (!c.knows("koff")) return;  // what weights and top_k may be follows from it
  if (koff != nullptr) {
    if (is_matrix) want_tokens(c, koff->shape[0], *koff);
    if (c.knows("top_k") && top_k != 1) {
      c.fail("E-ATTRIBUTE", "top_k", -1, "1", std::to_string(top_k),
             "koff says how many experts a token has");
    }
    c.want_rank("weights", 1, "(entries), as koff is given");
    if (!c.has("weights")) {
      c.fail("E-MISSING", "weights", -1, "the weights (entries)", "nothing",
             "with koff the number of entries is that of the weights");
    }
  } else if (w != nullptr && c.want_rank("weights", 2, "(T, top_k)")) {
    if (is_matrix) {
      const ir::Value& d_out = *c.operand("d_out");
      c.want_extent("weights", 0, d_out.shape[0], "number of tokens", d_out);
    }
    if (c.knows("top_k")) {
      c.want_extent("weights", 1, {top_k, ir::kNone}, "number of experts a token", "top_k");
    }
  }
  if (c.failed()) return;
  ir::Value y;
  y.shape = {c.operand("scat")->shape[0], c.operand("d_out")->shape[1]};
  y.groups = c.graph().operand(c.node(), "groups");
  c.result(0, y);
}

void infer_d_combine_weights(ir::Infer& c) {
  const bool d_out_is_matrix = want_rows(c, "d_out", "(T, d)");
  const bool y_is_matrix = want_rows(c, "y", "(R, d)");
  const bool has_entries = want_entries(c, "rev");
  if (d_out_is_matrix && y_is_matrix) {
    const ir::Value& d_out = *c.operand("d_out");
    c.want_extent("y", 1, d_out.shape[1], "number of features", d_out);
  }
  const ir::Value* tokens = c.operand(c.has("koff") ? "koff" : "rev");
  if (d_out_is_matrix && tokens != nullptr && (has_entries || c.has("koff"))) {
    want_tokens(c, tokens->shape[0], *tokens);
  }
  if (c.failed()) return;
  const ir::Value& rev = *c.operand("rev");
  ir::Value dw;
  dw.shape = {rev.shape[0], rev.shape.rank > 1 ? rev.shape[1] : ir::Extent{1, ir::kNone}};
  c.result(0, dw);
}

}  // namespace

ir::OpRecord combine() {
  ir::OpRecord r = ir::describe(Combine{.y = ir::any<Tensor>(), .rev = ir::any<Index>()});
  r.infer = infer_combine;
  r.reference.kind = ir::Reference::Kind::combine;
  r.formula = "o[t,n] = sum_j weights[t,j] * y[rev[t,j],n]";
  document(r, {{"y", "grouped rows (R, d)"},
               {"rev", "(T, K), or (entries) with koff: the row of y of each entry; -1: none"},
               {"weights", "one factor an entry, of the shape of rev; default 1"},
               {"koff", "which entries belong to which token"}});
  return r;
}

ir::OpRecord d_combine() {
  ir::OpRecord r = ir::describe(DCombine{.d_out = ir::any<Tensor>(), .scat = ir::any<Index>()});
  r.infer = infer_d_combine;
  r.reference.kind = ir::Reference::Kind::d_combine;
  r.formula = "dy[r,n] = weights[scat[r]] * d_out[token(scat[r]),n]";
  range(r, "top_k", 1, 1 << 20);
  document(r, {{"d_out", "gradient of what combine made (T, d)"},
               {"scat", "(R): the entry of each grouped row, t * top_k + j; -1: none"},
               {"top_k", "experts a token; 1 when koff is given"},
               {"weights", "one factor an entry: (T, top_k), or (entries) with koff; default 1"},
               {"koff", "which entries belong to which token"},
               {"groups", "which of the R rows belong to which group, for ops that need it"}});
  return r;
}

ir::OpRecord d_combine_weights() {
  ir::OpRecord r = ir::describe(
      DCombineWeights{.d_out = ir::any<Tensor>(), .y = ir::any<Tensor>(), .rev = ir::any<Index>()});
  r.infer = infer_d_combine_weights;
  r.reference.kind = ir::Reference::Kind::d_combine_weights;
  r.formula = "dw[t,j] = sum_n d_out[t,n] * y[rev[t,j],n]";
  document(r, {{"d_out", "gradient of what combine made (T, d)"},
               {"y", "grouped rows (R, d)"},
               {"rev", "(T, K), or (entries) with koff: the row of y of each entry; -1: none"},
               {"koff", "which entries belong to which token"}});
  return r;
}

}  // namespace cohort::ops
