#include "emu/in_flight.h"

#include <algorithm>

namespace cohort::emu {

bool InFlightTask::step(Machine& machine) {
  if (!flight_->done) flight_->perform(machine);
  flight_->done = true;
  return true;
}

void take_off(Warp& w, std::shared_ptr<InFlight> flight) {
  w.busy.resize(w.kernel->words / 32 + 1);
  for (const uint32_t r : flight->registers) ++w.busy[r / 32];
  w.in_flight.push_back(flight);
  w.machine->tasks.push_back(std::make_unique<InFlightTask>(std::move(flight)));
}

void land(Warp& w, const InFlight& flight) {
  for (const uint32_t r : flight.registers) --w.busy[r / 32];
  const auto at = std::find_if(w.in_flight.begin(), w.in_flight.end(),
                               [&](const auto& f) { return f.get() == &flight; });
  if (at != w.in_flight.end()) w.in_flight.erase(at);
}

namespace {

void report_use(Warp& w, uint32_t pc, uint32_t lanes, const InFlight& flight) {
  Fault f;
  f.code = flight.group_of_products ? FaultCode::product_register : FaultCode::load_register;
  f.now.by = {false, Agent::copy, w.cta->index, w.number.value, lanes};
  f.now.pc = w.pc_base + pc;
  f.has_earlier = true;
  f.earlier.by = f.now.by;
  f.earlier.by.lanes = flight.lanes;
  f.earlier.pc = flight.pc;
  f.missing = Missing::completion;
  w.machine->report(f);
}

}  // namespace

void touch_registers(Warp& w, uint32_t pc, uint32_t lanes) {
  const Kernel& k = *w.kernel;
  std::vector<std::shared_ptr<InFlight>> met;
  for (uint32_t u = k.use_begin[pc]; u < k.use_begin[pc + 1]; ++u) {
    const uint32_t word = k.uses[u];
    if (word / 32 >= w.busy.size() || w.busy[word / 32] == 0) continue;
    for (const auto& f : w.in_flight) {
      const bool names =
          std::find(f->registers.begin(), f->registers.end(), word) != f->registers.end();
      if (names && std::find(met.begin(), met.end(), f) == met.end()) met.push_back(f);
    }
  }
  const Insn& insn = k.code[pc];
  for (const auto& f : met) {
    // Products of one shape on the same accumulator run in order.
    if (f->group_of_products && insn.all == f->insn->all) continue;
    if (!f->done) f->perform(*w.machine);
    f->done = true;
    if (!f->group_of_products && w.machine->rules.register_use_completes_load) {
      if (w.machine->events != nullptr && f->has_op) {
        w.machine->events->drain({w.number, w.live, w.pc_base + pc}, f->op, Covers::all);
      }
      land(w, *f);
    } else if (!f->told) {
      f->told = true;
      report_use(w, pc, lanes, *f);
    }
  }
}

}  // namespace cohort::emu
