// The list of ops.
#include <unordered_map>
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
  static const std::unordered_map<std::string_view, const OpRecord*> by_name = [] {
    std::unordered_map<std::string_view, const OpRecord*> map;
    for (const OpRecord* r : all_ops()) map.emplace(r->name, r);
    return map;
  }();
  const auto it = by_name.find(name);
  return it == by_name.end() ? nullptr : it->second;
}

}  // namespace cohort::ir
