// Where variables of a module stand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/kernel.h"
#include "ptx/module.h"

namespace cohort::emu {

/// Where a variable stands.
struct Storage {
  enum class Kind : uint8_t {
    none,
    parameter,  ///< of the kernel; offset: in its argument block
    shared,     ///< offset: from the begin of the CTA's window
    local,      ///< offset: in a thread's own memory
    buffer,     ///< offset: Kernel::buffers
  };
  Kind kind = Kind::none;
  uint64_t offset = 0;
};

/// A variable in shared memory, for reports.
struct SharedVariable {
  std::string name;
  uint64_t offset = 0;  ///< from the begin of the CTA's window
  uint64_t bytes = 0;   ///< 0: dynamic shared memory, which is as large as the launch says
};
/// Those of a kernel, by offset.
[[nodiscard]] std::vector<SharedVariable> shared_variables(const ptx::Module& module,
                                                           const ptx::Function& entry);

/// Gives places to the variables of a kernel.
class Layout {
 public:
  Layout(const ptx::Module& module, Kernel& kernel) : module_(module), kernel_(kernel) {}

  /// Module variables that the entry or what it calls uses, and shared ones of functions. False
  /// when they take more than `shared_limit` bytes.
  bool place_module(const ptx::Function& entry, int64_t shared_limit);
  /// Parameters of the kernel. The variables of `places` are those of the function.
  void place_parameters(const ptx::Function& entry, std::vector<Storage>& places);
  /// Local variables and call parameters of a function, anew for each expansion.
  bool place_locals(const ptx::Function& function, std::vector<Storage>& places,
                    int64_t local_limit);
  /// After place_module: every shared variable that has a place.
  [[nodiscard]] std::vector<SharedVariable> shared() const;
  [[nodiscard]] Storage module_variable(uint32_t index) const {
    return index < module_places_.size() ? module_places_[index] : Storage{};
  }

 private:
  bool place_shared(const ptx::Variable& v, Storage& place, int64_t limit);
  void collect(const ptx::Function& entry);
  void add_buffer(uint32_t index);

  const ptx::Module& module_;
  Kernel& kernel_;
  std::vector<Storage> module_places_;
  std::vector<bool> used_;                                 ///< Module::variables
  std::vector<const ptx::Function*> called_;               ///< the entry first
  std::vector<std::vector<Storage>> shared_of_functions_;  ///< Function::variables, by called_
};

/// The alignment of a variable: what was asked for, else that of its type.
[[nodiscard]] uint64_t alignment_of(const ptx::Variable& v);

}  // namespace cohort::emu
