#include "emu/insn/memory.h"

#include <algorithm>
#include <vector>

#include "emu/machine.h"

namespace cohort::emu {

void take_space(Build& b) {
  const bool shared = b.has("shared") || b.has("shared::cta") || b.has("shared::cluster");
  const bool param = b.has("param") || b.has("param::entry") || b.has("param::func");
  uint64_t window = 0;
  if (shared) window = kSharedWindow;
  if (b.has("local")) window = kLocalWindow;
  // Parameters of functions that were called live in local memory: the address says which.
  if (param && b.insn.a != kNoOperand) window = kParamWindow;
  b.insn.window = static_cast<uint8_t>(window >> 32);
}

void take_order(Build& b) {
  MemoryOrder order = MemoryOrder::weak;
  Scope scope = Scope::weak;
  if (b.has("cta")) scope = Scope::cta;
  if (b.has("cluster")) scope = Scope::cluster;
  if (b.has("gpu")) scope = Scope::gpu;
  if (b.has("sys")) scope = Scope::sys;
  if (b.has("relaxed")) order = MemoryOrder::relaxed;
  if (b.has("acquire")) order = MemoryOrder::acquire;
  if (b.has("release")) order = MemoryOrder::release;
  if (b.has("acq_rel")) order = MemoryOrder::both;
  if (b.has("volatile")) {
    // "The same memory synchronization semantics as .relaxed.sys" (PTX ISA, ld.volatile).
    order = MemoryOrder::relaxed;
    scope = Scope::sys;
  }
  b.insn.order = static_cast<uint8_t>(order);
  b.insn.scope = static_cast<uint8_t>(scope);
}

AccessForm access_form(Build& b, int address, int value) {
  b.address(address);
  take_space(b);
  take_order(b);
  const Ty type = b.type();
  AccessForm form{bytes_of(type), 0};
  const int count = b.has("v2") ? 2 : b.has("v4") ? 4 : b.has("v8") ? 8 : 1;
  if (b.parts(value) != count) b.refuse("a vector of another length");
  if (form.bytes * static_cast<uint32_t>(count) > 32) b.refuse("more than 256 bits");
  for (int j = 0; j < count; ++j) form.width = std::max(form.width, b.part_width(value, j));
  if (form.width == 0) form.width = std::max(form.bytes, 4u);
  std::vector<uint32_t> words;
  words.reserve(static_cast<size_t>(count));
  const bool is_load = value < address;
  // A register may be wider than the type; a constant has as many bytes as the registers.
  const Ty held = form.width == 8 ? (type == Ty::f64 ? Ty::f64 : Ty::b64) : type;
  for (int j = 0; j < count; ++j) {
    words.push_back(is_load ? b.part_dst(value, j, form.width)
                            : b.part_src(value, j, form.width == 16 ? Ty::b128 : held));
  }
  b.insn.list = b.extra(words.data(), count);
  b.insn.count = static_cast<uint16_t>(count);
  b.insn.bytes = static_cast<uint8_t>(form.bytes);
  return form;
}

}  // namespace cohort::emu
