// The list of ops.
#include <vector>

#include "ir/op_record.h"

namespace cohort::ops {
#define COHORT_OP(Aggregate, function) ir::OpRecord function();
#include "ops/op_list.def"
#undef COHORT_OP
}  // namespace cohort::ops

namespace cohort::ir {

std::span<const OpRecord* const> all_ops() {
  static const std::vector<OpRecord> records = {
#define COHORT_OP(Aggregate, function) ops::function(),
#include "ops/op_list.def"
#undef COHORT_OP
  };
  static const std::vector<const OpRecord*> pointers = [] {
    std::vector<const OpRecord*> list;
    list.reserve(records.size());
    for (const OpRecord& r : records) list.push_back(&r);
    return list;
  }();
  return pointers;
}

const OpRecord* find_op(std::string_view name) {
  for (const OpRecord* r : all_ops()) {
    if (name == r->name) return r;
  }
  return nullptr;
}

}  // namespace cohort::ir
