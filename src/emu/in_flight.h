// Registers that an asynchronous operation still writes or reads: tcgen05.ld, wgmma.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emu/machine.h"

namespace cohort::emu {

/// An operation of a warp whose registers are not to be touched before it has been waited for.
struct InFlight {
  const Insn* insn = nullptr;
  uint32_t pc = 0;
  uint32_t lanes = 0;
  std::vector<uint32_t> registers;  ///< Words of them.
  bool has_op = false;
  OpId op{0};
  bool done = false;  ///< It has happened; nobody need have waited for it.
  bool told = false;  ///< A use of its registers was reported.
  bool is_store = false;
  bool group_of_products = false;  ///< wgmma, whose groups are numbered; 0: not committed yet.
  uint32_t group = 0;
  virtual ~InFlight() = default;
  /// Does all of it.
  virtual void perform(Machine& machine) = 0;
};

/// A task that performs an operation.
class InFlightTask final : public Task {
 public:
  explicit InFlightTask(std::shared_ptr<InFlight> flight) : flight_(std::move(flight)) {}
  bool step(Machine& machine) override;

 private:
  std::shared_ptr<InFlight> flight_;
};

/// Adds it to the warp and, as a task, to the machine.
void take_off(Warp& warp, std::shared_ptr<InFlight> flight);
/// Takes it from the warp: it has been waited for.
void land(Warp& warp, const InFlight& flight);
/// What a warp does before an instruction that names registers in flight: the dependency holds, so
/// the operation happens first; whether that is allowed is for the profile to say.
void touch_registers(Warp& warp, uint32_t pc, uint32_t lanes);

}  // namespace cohort::emu
