#include "validate/part_names.h"

#include <charconv>
#include <string>
#include <system_error>

namespace cohort::validate {

namespace {

std::string_view without(std::string_view name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : std::string_view();
}

}  // namespace

PartNames::PartNames(const ir::Graph& graph) {
  for (const ir::Input& in : graph.inputs) {
    const ir::Value& v = graph.values[static_cast<size_t>(in.value)];
    if (v.role != Role::weight_pointers || in.name.empty()) continue;
    weights_.emplace(in.name, v.shape[0].bound);
    if (v.scaled) scales_.emplace(in.name, v.shape[0].bound);
  }
  for (const ir::TensorPart& part : graph.tensors) {
    if (!part.is_output || part.name.empty()) continue;  // there is a finding about no name
    const ir::Output& o = graph.outputs[static_cast<size_t>(part.index)];
    if (!o.discrete) {
      outputs_.insert(part.name);
    } else if (o.value != ir::kNone) {
      gradients_.emplace(o.name, graph.values[static_cast<size_t>(o.value)].shape[0].bound);
    }
  }
}

std::string_view PartNames::meaning(std::string_view name) const {
  if (outputs_.contains(without(name, ".init"))) return "the first content of an output";
  if (is_matrix_of(weights_, name)) return "an expert of discrete weights";
  if (is_matrix_of(scales_, without(name, ".scale"))) return "the scales of discrete weights";
  if (is_matrix_of(gradients_, name)) return "an expert of discrete gradients";
  if (is_matrix_of(gradients_, without(name, ".init"))) {
    return "the first content of discrete gradients";
  }
  return {};
}

// "w.7" when there is an array "w" of more than seven; "w.07" is nobody's name.
bool PartNames::is_matrix_of(const Matrices& arrays, std::string_view name) {
  if (arrays.empty()) return false;  // no name is hashed in vain
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return false;
  const auto array = arrays.find(name.substr(0, dot));
  if (array == arrays.end()) return false;
  const std::string_view digits = name.substr(dot + 1);
  int64_t number = -1;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return end.ec == std::errc() && number >= 0 && number < array->second &&
         digits == std::to_string(number);
}

}  // namespace cohort::validate
