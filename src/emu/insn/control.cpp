// Control flow, and what does nothing that a run could see.
#include <iterator>

#include "emu/insn/families.h"
#include "emu/machine.h"

namespace cohort::emu {

namespace control_family {
namespace {

Next nothing(Warp&, const Insn&, uint32_t) { return Next::go; }
Next sleep(Warp&, const Insn&, uint32_t) { return Next::yield; }
Next trap(Warp& w, const Insn& i, uint32_t lanes) {
  w.machine->report(w, i, lanes, FaultCode::trap);
  return Next::stop;
}

void make_branch(Build& b) { b.branch(0); }
void make_table(Build& b) {
  b.insn.a = b.src(0, Ty::u32);
  b.branch_table(1);
}
void make_call(Build& b) { b.call(); }
void make_return(Build& b) { b.leave(); }
void make_exit(Build& b) { b.insn.flow = Flow::exit; }
void make_nothing(Build& b) { b.set(nothing); }
void make_sleep(Build& b) { b.set(sleep); }
void make_trap(Build& b) { b.set(trap); }

constexpr Record kRecords[] = {
    {"bra[.uni]", "label", make_branch},
    {"brx.idx[.uni]", "index, targets", make_table},
    {"call[.uni]", "[(results),] function[, (arguments)]", make_call},
    {"ret[.uni]", "", make_return},
    {"exit", "", make_exit},
    {"trap", "", make_trap},
    {"brkpt", "", make_trap},
    {"nanosleep.u32", "t", make_sleep},
    {"prefetch[.{global,local}][.{L1,L2,L2::evict_last,L2::evict_normal}]", "[a]", make_nothing},
    {"prefetchu.L1", "[a]", make_nothing},
};

}  // namespace
}  // namespace control_family

const Family kControl = {"Control flow", control_family::kRecords,
                         static_cast<int>(std::size(control_family::kRecords))};

}  // namespace cohort::emu
