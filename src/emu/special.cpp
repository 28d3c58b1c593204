#include "emu/special.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "emu/machine.h"

namespace cohort::emu {

namespace {

void put32(Warp& w, const Insn& i, uint32_t lanes, uint32_t value) {
  uint32_t* d = w.word(i.d);
  for (int l = 0; l < 32; ++l) {
    if ((lanes >> l & 1) != 0) d[l] = value;
  }
}

void put64(Warp& w, const Insn& i, uint32_t lanes, uint64_t value) {
  for (int l = 0; l < 32; ++l) {
    if ((lanes >> l & 1) != 0) std::memcpy(w.word(i.d) + ptrdiff_t{2} * l, &value, 8);
  }
}

// Time is the number of instructions that the machine has executed, so that a run is repeatable.
uint64_t now(const Warp& w) { return w.machine->time + w.instructions; }

Next clock_low(Warp& w, const Insn& i, uint32_t lanes) {
  put32(w, i, lanes, static_cast<uint32_t>(now(w)));
  return Next::go;
}
Next clock_high(Warp& w, const Insn& i, uint32_t lanes) {
  put32(w, i, lanes, static_cast<uint32_t>(now(w) >> 32));
  return Next::go;
}
Next clock_wide(Warp& w, const Insn& i, uint32_t lanes) {
  put64(w, i, lanes, now(w));
  return Next::go;
}

constexpr SpecialFacts kSpecials[] = {
    {"%clock", false, clock_low},
    {"%clock64", true, clock_wide},
    {"%clock_hi", false, clock_high},
    {"%cluster_ctaid.x", false, nullptr},
    {"%cluster_ctaid.y", false, nullptr},
    {"%cluster_ctaid.z", false, nullptr},
    {"%cluster_ctarank", false, nullptr},
    {"%cluster_nctaid.x", false, nullptr},
    {"%cluster_nctaid.y", false, nullptr},
    {"%cluster_nctaid.z", false, nullptr},
    {"%cluster_nctarank", false, nullptr},
    {"%clusterid.x", false, nullptr},
    {"%clusterid.y", false, nullptr},
    {"%clusterid.z", false, nullptr},
    {"%ctaid.x", false, nullptr},
    {"%ctaid.y", false, nullptr},
    {"%ctaid.z", false, nullptr},
    {"%dynamic_smem_size", false, nullptr},
    {"%globaltimer", true, clock_wide},
    {"%globaltimer_hi", false, clock_high},
    {"%globaltimer_lo", false, clock_low},
    {"%gridid", true, nullptr},
    {"%laneid", false, nullptr},
    {"%lanemask_eq", false, nullptr},
    {"%lanemask_ge", false, nullptr},
    {"%lanemask_gt", false, nullptr},
    {"%lanemask_le", false, nullptr},
    {"%lanemask_lt", false, nullptr},
    {"%nclusterid.x", false, nullptr},
    {"%nclusterid.y", false, nullptr},
    {"%nclusterid.z", false, nullptr},
    {"%nctaid.x", false, nullptr},
    {"%nctaid.y", false, nullptr},
    {"%nctaid.z", false, nullptr},
    {"%nsmid", false, nullptr},
    {"%ntid.x", false, nullptr},
    {"%ntid.y", false, nullptr},
    {"%ntid.z", false, nullptr},
    {"%nwarpid", false, nullptr},
    {"%smid", false, nullptr},
    {"%tid.x", false, nullptr},
    {"%tid.y", false, nullptr},
    {"%tid.z", false, nullptr},
    {"%total_smem_size", false, nullptr},
    {"%warpid", false, nullptr},
};

uint32_t part(const Grid3& g, char which) { return which == 'x' ? g.x : which == 'y' ? g.y : g.z; }

uint32_t thread_part(const Grid3& block, uint32_t thread, char which) {
  if (which == 'x') return thread % block.x;
  if (which == 'y') return thread / block.x % block.y;
  return thread / block.x / block.y;
}

// The value for a lane. A name of kSpecials; what is asked for most stands first.
uint64_t value_of(const Warp& w, std::string_view name, uint32_t lane) {
  const GridState& g = w.machine->grids[w.cta->grid];
  const Cta& c = *w.cta;
  const uint32_t thread = w.id * 32 + lane;
  const char which = name.back();
  const auto dimension = static_cast<size_t>(which - 'x');
  const uint32_t bit = 1u << lane;
  if (name.starts_with("%tid.")) return thread_part(g.block, thread, which);
  if (name.starts_with("%ntid.")) return part(g.block, which);
  if (name.starts_with("%ctaid.")) return c.id[dimension];
  if (name.starts_with("%nctaid.")) return part(g.grid, which);
  if (name.starts_with("%clusterid.")) return c.id[dimension] / part(g.cluster, which);
  if (name.starts_with("%nclusterid.")) return part(g.grid, which) / part(g.cluster, which);
  if (name.starts_with("%cluster_ctaid.")) return c.id[dimension] % part(g.cluster, which);
  if (name.starts_with("%cluster_nctaid.")) return part(g.cluster, which);
  if (name == "%cluster_ctarank") return c.rank;
  if (name == "%cluster_nctarank") return g.cluster.count();
  if (name == "%laneid") return lane;
  if (name == "%warpid") return w.id;
  if (name == "%nwarpid") return c.warps.size();
  if (name == "%lanemask_eq") return bit;
  if (name == "%lanemask_lt") return bit - 1;
  if (name == "%lanemask_le") return (bit - 1) | bit;
  if (name == "%lanemask_gt") return ~((bit - 1) | bit);
  if (name == "%lanemask_ge") return ~(bit - 1);
  if (name == "%gridid") return c.grid + 1;
  if (name == "%smid") return c.index;
  if (name == "%nsmid") return g.grid.count();
  if (name == "%dynamic_smem_size") return g.dynamic_shared;
  return c.shared.size();  // %total_smem_size
}

}  // namespace

const SpecialFacts* find_special(std::string_view name) {
  const auto* found = std::find_if(std::begin(kSpecials), std::end(kSpecials),
                                   [&](const SpecialFacts& s) { return s.name == name; });
  return found == std::end(kSpecials) ? nullptr : found;
}

void set_specials(Warp& warp) {
  for (const SpecialSlot& s : warp.kernel->specials) {
    for (uint32_t l = 0; l < 32; ++l) {
      const uint64_t value = value_of(warp, s.name, l);
      std::memcpy(warp.word(s.word) + (s.wide ? 2 * l : l), &value, s.wide ? 8 : 4);
    }
  }
}

}  // namespace cohort::emu
