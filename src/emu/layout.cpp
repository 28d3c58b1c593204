#include "emu/layout.h"

#include <algorithm>

#include "base/checked.h"
#include "emu/machine.h"
#include "ptx/type.h"

namespace cohort::emu {

namespace {

uint64_t aligned(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

bool is_dynamic(const ptx::Variable& v) {
  return v.space == ptx::Space::shared && v.linkage == ptx::Linkage::external;
}

}  // namespace

uint64_t alignment_of(const ptx::Variable& v) {
  if (v.alignment != 0) return v.alignment;
  return uint64_t{ptx::bytes_of(v.type)} * v.vector;
}

void Layout::collect(const ptx::Function& entry) {
  used_.assign(module_.variables.size(), false);
  std::vector<bool> seen(module_.functions.size(), false);
  called_ = {&entry};
  for (size_t at = 0; at < called_.size(); ++at) {
    for (const ptx::Operand& o : called_[at]->operands) {
      const bool is_variable = o.kind == ptx::OperandKind::module_variable ||
                               o.base == ptx::OperandKind::module_variable;
      if (is_variable && o.index < used_.size()) used_[o.index] = true;
      if (o.kind != ptx::OperandKind::function || seen[o.index]) continue;
      seen[o.index] = true;
      called_.push_back(&module_.functions[o.index]);
    }
  }
}

bool Layout::place_shared(const ptx::Variable& v, Storage& place, int64_t limit) {
  const uint64_t begin = aligned(kernel_.shared_bytes, alignment_of(v));
  if (v.bytes > limit || begin + static_cast<uint64_t>(v.bytes) > static_cast<uint64_t>(limit)) {
    return false;
  }
  place = {Storage::Kind::shared, begin};
  kernel_.shared_bytes = begin + static_cast<uint64_t>(v.bytes);
  return true;
}

void Layout::add_buffer(uint32_t index) {
  const ptx::Variable& v = module_.variables[index];
  ModuleBuffer b;
  b.name = module_.texts[v.name];
  b.bytes = static_cast<uint64_t>(v.bytes);
  b.image = v.image;
  b.relocations = v.relocations;
  b.variable = index;
  b.read_only = v.space == ptx::Space::constant;
  module_places_[index] = {Storage::Kind::buffer, kernel_.buffers.size()};
  kernel_.buffers.push_back(std::move(b));
}

bool Layout::place_module(const ptx::Function& entry, int64_t shared_limit) {
  collect(entry);
  module_places_.assign(module_.variables.size(), {});
  kernel_.shared_bytes = kSharedReserved;
  uint64_t dynamic_alignment = 16;
  for (uint32_t i = 0; i < module_.variables.size(); ++i) {
    const ptx::Variable& v = module_.variables[i];
    const bool is_memory = v.space == ptx::Space::global || v.space == ptx::Space::constant;
    if (is_memory && v.linkage != ptx::Linkage::external) add_buffer(i);
    if (v.space != ptx::Space::shared || !used_[i]) continue;
    if (is_dynamic(v)) {
      dynamic_alignment = std::max(dynamic_alignment, alignment_of(v));
    } else if (!place_shared(v, module_places_[i], shared_limit)) {
      return false;
    }
  }
  shared_of_functions_.resize(called_.size());
  for (size_t f = 0; f < called_.size(); ++f) {
    shared_of_functions_[f].resize(called_[f]->variables.size());
    for (size_t i = 0; i < called_[f]->variables.size(); ++i) {
      const ptx::Variable& v = called_[f]->variables[i];
      if (v.space != ptx::Space::shared) continue;
      if (is_dynamic(v)) {
        dynamic_alignment = std::max(dynamic_alignment, alignment_of(v));
      } else if (!place_shared(v, shared_of_functions_[f][i], shared_limit)) {
        return false;
      }
    }
  }
  // Dynamic shared memory begins where the static one ends; all names of it mean that place.
  kernel_.dynamic_alignment = static_cast<uint32_t>(dynamic_alignment);
  kernel_.shared_bytes = aligned(kernel_.shared_bytes, dynamic_alignment);
  const Storage dynamic{Storage::Kind::shared, kernel_.shared_bytes};
  for (uint32_t i = 0; i < module_.variables.size(); ++i) {
    if (is_dynamic(module_.variables[i])) module_places_[i] = dynamic;
  }
  for (size_t f = 0; f < called_.size(); ++f) {
    for (size_t i = 0; i < called_[f]->variables.size(); ++i) {
      if (is_dynamic(called_[f]->variables[i])) shared_of_functions_[f][i] = dynamic;
    }
  }
  return true;
}

std::vector<SharedVariable> Layout::shared() const {
  std::vector<SharedVariable> all;
  const auto add = [&](const ptx::Variable& v, const Storage& place) {
    if (place.kind != Storage::Kind::shared) return;
    all.push_back({std::string(module_.texts[v.name]), place.offset,
                   is_dynamic(v) ? 0 : static_cast<uint64_t>(v.bytes)});
  };
  for (size_t i = 0; i < module_places_.size(); ++i) {
    if (used_[i]) add(module_.variables[i], module_places_[i]);
  }
  for (size_t f = 0; f < called_.size(); ++f) {
    for (size_t i = 0; i < called_[f]->variables.size(); ++i) {
      add(called_[f]->variables[i], shared_of_functions_[f][i]);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return all;
}

std::vector<SharedVariable> shared_variables(const ptx::Module& module,
                                             const ptx::Function& entry) {
  Kernel kernel;
  Layout layout(module, kernel);
  return layout.place_module(entry, INT64_MAX) ? layout.shared() : std::vector<SharedVariable>();
}

void Layout::place_parameters(const ptx::Function& entry, std::vector<Storage>& places) {
  uint64_t at = 0;
  for (const ptx::Parameter& p : entry.parameters) {
    if (p.is_register) continue;
    const ptx::Variable& v = entry.variables[p.index];
    at = aligned(at, alignment_of(v));
    places[p.index] = {Storage::Kind::parameter, at};
    const bool is_pointer = v.is_pointer;
    kernel_.parameters.push_back({std::string(module_.texts[v.name]), static_cast<uint32_t>(at),
                                  static_cast<uint32_t>(v.bytes), is_pointer});
    at += static_cast<uint64_t>(v.bytes);
  }
  kernel_.parameter_bytes = static_cast<uint32_t>(at);
}

bool Layout::place_locals(const ptx::Function& function, std::vector<Storage>& places,
                          int64_t local_limit) {
  places.resize(function.variables.size());
  const auto at = std::find(called_.begin(), called_.end(), &function);
  for (size_t i = 0; i < places.size(); ++i) {
    const ptx::Variable& v = function.variables[i];
    if (v.space == ptx::Space::shared && at != called_.end()) {
      places[i] = shared_of_functions_[static_cast<size_t>(at - called_.begin())][i];
    }
    const bool is_own = v.space == ptx::Space::local || v.space == ptx::Space::param;
    if (!is_own || places[i].kind != Storage::Kind::none) continue;
    const uint64_t begin = aligned(kernel_.local_bytes, alignment_of(v));
    if (v.bytes > local_limit ||
        begin + static_cast<uint64_t>(v.bytes) > static_cast<uint64_t>(local_limit)) {
      return false;
    }
    places[i] = {Storage::Kind::local, begin};
    kernel_.local_bytes = aligned(begin + static_cast<uint64_t>(v.bytes), 16);
  }
  return true;
}

}  // namespace cohort::emu
