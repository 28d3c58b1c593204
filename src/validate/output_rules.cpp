#include "validate/output_rules.h"

#include <string>

#include "ir/recording.h"

namespace cohort::validate {

using ir::kNone;

namespace {

using Faults = std::vector<ir::StoredFault>;

// An index with one entry for every row of the value.
void check_index(const ir::Graph& g, std::string_view key, int32_t number, const ir::Extent& rows,
                 Faults& faults) {
  if (number == kNone) return;
  const ir::Value& v = g.values[static_cast<size_t>(number)];
  if (v.faulty) return;
  if (v.role != Role::index) {
    faults.push_back({"E-ROLE", key, -1, "index", ir::value_text(g, v), {}});
  } else if (v.shape.rank != 1 || !(v.shape[0] == rows)) {
    faults.push_back({"E-SHAPE", key, 0, "[" + ir::extent_text(g, rows) + "]",
                      ir::extents_text(g, v.shape), "one entry a row of the value"});
  }
}

void check_scatter(const ir::Graph& g, const ir::Output& o, const ir::Value& v, Faults& faults) {
  const bool has_rows = v.role == Role::value || v.role == Role::row_vec;
  if (!has_rows || v.scaled) {
    faults.push_back({"E-OUTPUT", "scatter", -1, "a plain value, or one number a row",
                      ir::value_text(g, v), "only rows of plain numbers can be scattered"});
    return;
  }
  check_index(g, "scatter", o.scatter, v.shape[0], faults);
  check_index(g, "slot", o.slot, v.shape[0], faults);
  if (o.top_k < 1 || o.top_k > ir::kMaxExtent) {
    faults.push_back({"E-ATTRIBUTE", "top_k", -1, "1 .. 2^48", std::to_string(o.top_k), {}});
  }
  if (!o.rows) {
    faults.push_back({"E-MISSING", "rows", -1, "the rows of the scattered output", "nothing", {}});
  } else if (o.rows->bound < 0 || o.rows->bound > ir::kMaxExtent) {
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

Faults output_faults(const ir::Graph& g, const ir::Output& o) {
  Faults faults;
  const ir::Value& v = g.values[static_cast<size_t>(o.value)];
  if (o.scatter != kNone) {
    check_scatter(g, o, v, faults);
  } else {
    refuse_without_scatter(o, faults);
  }
  if (v.role == Role::weight_grad && o.tail != Tail::leave) {
    faults.push_back({"E-ATTRIBUTE", "tail", -1, "leave", std::string(cohort::name(o.tail)),
                      "gradients of weights have no rows that belong to no group"});
  }
  if (!o.discrete) return faults;
  if (v.role != Role::weight_grad) {
    faults.push_back({"E-ATTRIBUTE", "discrete", -1, "false", "true",
                      "only gradients of weights stand behind pointers"});
  } else if (o.strides.rank() > 0) {
    faults.push_back({"E-STRIDE", "strides", -1, "packed matrices behind pointers", "strides", {}});
  }
  return faults;
}

}  // namespace cohort::validate
