#include <algorithm>

#include "engine/engine.h"
#include "ir/op_record.h"

namespace cohort::engine {

void Claim::consume_node(const ir::Node& node) {
  for (size_t f = 0; f < node.op->fields.size(); ++f) {
    consume_field(node, static_cast<int32_t>(f));
  }
}

bool Claim::has_option(std::string_view option) const {
  return std::find(options_.begin(), options_.end(), option) != options_.end();
}

}  // namespace cohort::engine
