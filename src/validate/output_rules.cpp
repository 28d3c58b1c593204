#include "validate/output_rules.h"

#include <string>

#include "ir/recording.h"

namespace cohort::validate {

using ir::kNone;

namespace {

using Faults = std::vector<ir::StoredFault>;

// An index with one entry for every row of the value; `rows` is null when they are not known.
void check_index(const ir::Graph& g, std::string_view key, int32_t number, const ir::Extent* rows,
                 Faults& faults) {
  if (number == kNone) return;
  const ir::Value& v = g.values[static_cast<size_t>(number)];
  if (v.faulty) return;
  if (v.role != Role::index) {
    faults.push_back({"E-ROLE", key, -1, "index", ir::value_text(g, v), {}});
  } else if (v.shape.rank != 1 || (rows != nullptr && !(v.shape[0] == *rows))) {
    const std::string wanted = rows != nullptr ? ir::extent_text(g, *rows) : "rows";
    faults.push_back({"E-SHAPE", key, 0, "[" + wanted + "]", ir::extents_text(g, v.shape),
                      "one entry a row of the value"});
  }
}

bool is_rows_good(const ir::Output& o) {
  return o.rows && !o.broken.rows && o.rows->bound >= 0 && o.rows->bound <= ir::kMaxExtent;
}

void check_scatter(const ir::Graph& g, const ir::Output& o, const ir::Value* v, Faults& faults) {
  const bool has_rows = v == nullptr || v->role == Role::value || v->role == Role::row_vec;
  const bool is_plain = has_rows && (v == nullptr || !v->scaled);
  if (!is_plain) {
    faults.push_back({"E-OUTPUT", "scatter", -1, "a plain value, or one number a row",
                      ir::value_text(g, *v), "only rows of plain numbers can be scattered"});
  }
  const ir::Extent* rows = v != nullptr && is_plain ? &v->shape[0] : nullptr;
  check_index(g, "scatter", o.scatter, rows, faults);
  check_index(g, "slot", o.slot, rows, faults);
  if (o.top_k < 1 || o.top_k > ir::kMaxExtent) {
    faults.push_back({"E-ATTRIBUTE", "top_k", -1, "1 .. 2^48", std::to_string(o.top_k), {}});
  }
  if (o.broken.rows) return;
  if (!o.rows) {
    faults.push_back({"E-MISSING", "rows", -1, "the rows of the scattered output", "nothing", {}});
  } else if (!is_rows_good(o)) {
    faults.push_back({"E-SHAPE", "rows", -1, "0 .. 2^48", std::to_string(o.rows->bound), {}});
  }
}

void refuse_without_scatter(const ir::Output& o, Faults& faults) {
  const auto refuse = [&](std::string_view key, std::string_view wanted, std::string got) {
    faults.push_back({"E-ATTRIBUTE", key, -1, std::string(wanted), std::move(got),
                      "it belongs to scatter, and there is none"});
  };
  if (o.slot != kNone) refuse("slot", "nothing", "an index");
  if (o.top_k != 1) refuse("top_k", "1", std::to_string(o.top_k));
  if (o.rows) refuse("rows", "nothing", std::to_string(o.rows->bound));
}

}  // namespace

Faults output_faults(const ir::Graph& g, const ir::Output& o, const ir::Value* v) {
  Faults faults;
  if (o.scatter != kNone || o.broken.scatter) {
    check_scatter(g, o, v, faults);
  } else {
    refuse_without_scatter(o, faults);
  }
  if (v == nullptr) return faults;
  if (v->role == Role::weight_grad && o.tail == Tail::zero) {
    faults.push_back({"E-ATTRIBUTE", "tail", -1, "leave", std::string(cohort::name(o.tail)),
                      "gradients of weights have no rows that belong to no group"});
  }
  if (!o.discrete) return faults;
  if (v->role != Role::weight_grad) {
    faults.push_back({"E-ATTRIBUTE", "discrete", -1, "false", "true",
                      "only gradients of weights stand behind pointers"});
  } else if (o.strides.rank() > 0) {
    faults.push_back({"E-STRIDE", "strides", -1, "packed matrices behind pointers", "strides", {}});
  }
  return faults;
}

void output_layout_faults(const ir::Output& o, const ir::Value* v, bool is_type_good,
                          Faults& faults) {
  const bool knows_type = v != nullptr ? is_type_good : o.has_dtype;
  ir::alignment_faults(o.alignment, knows_type ? bits(o.dtype) : 8, faults);
  if (v == nullptr || (o.discrete && v->role == Role::weight_grad)) return;
  ir::Value stored = *v;
  stored.dtype = is_type_good ? o.dtype : v->dtype;
  if (o.rows || o.broken.rows || o.scatter != kNone || o.broken.scatter) {
    // Any stride is good for one row: what is left are rules whatever the rows are.
    stored.shape[0] = is_rows_good(o) && o.scatter != kNone ? *o.rows : ir::Extent{1};
  }
  const size_t before = faults.size();
  ir::stride_faults(ir::stored_shape(stored), o.strides, stored.dtype, true, faults);
  const int last = o.strides.rank() - 1;
  if (v->scaled && faults.size() == before && last >= 0 && o.strides[last] != 1) {
    faults.push_back({"E-STRIDE",
                      "strides",
                      last,
                      "1: codes are written in rows",
                      std::to_string(o.strides[last]),
                      {}});
  }
}

}  // namespace cohort::validate
