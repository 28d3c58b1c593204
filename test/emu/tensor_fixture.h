// Kernels of one CTA that use tensor memory: what tests of tcgen05 share.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "emu/fixture.h"
#include "race/checker.h"

namespace cohort::emu::test {

/// "{%r4, %r5}".
inline std::string registers(uint32_t first, uint32_t count, const char* name = "%r") {
  std::string text = "{";
  for (uint32_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + std::string(name) + std::to_string(first + i);
  }
  return text + "}";
}
inline std::string store_words(uint32_t first, uint32_t count) {
  std::string text;
  for (uint32_t i = 0; i < count; ++i) {
    text +=
        "st.global.u32 [%to+" + std::to_string(4 * i) + "], %r" + std::to_string(first + i) + ";\n";
  }
  return text;
}

/// Four warps: %i is the thread, %w the warp, %l the lane, %t the address of `columns` columns, %q
/// that of the warp's quarter; %in and %out are two buffers, %to 512 bytes of the second for each
/// thread; %s the address of 64 KB of shared memory, aligned to 1024, %bar that of four mbarriers.
inline std::string tensor_kernel(const std::string& code, uint32_t columns = 128) {
  const std::string count = std::to_string(columns);
  return std::string(kHeader) +
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         ".shared .align 1024 .b8 s[65536];\n.shared .align 8 .b8 bars[64];\n"
         ".shared .align 4 .b8 slot[4];\n"
         ".reg .b32 %i, %w, %l, %t, %q, %s, %bar, %r<160>;\n.reg .b64 %in, %out, %to, %d<24>;\n"
         ".reg .pred %p, %lead, %u<8>;\n"
         "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %i, %tid.x;\n"
         "shr.u32 %w, %i, 5;\nand.b32 %l, %i, 31;\nmad.wide.u32 %to, %i, 512, %out;\n"
         "mov.u32 %s, s;\nmov.u32 %bar, bars;\nsetp.ne.u32 %p, %w, 0;\n@%p bra SETUP;\n"
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], " +
         count +
         ";\n"
         "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\nSETUP:\n"
         "tcgen05.fence::before_thread_sync;\nbar.sync 0;\ntcgen05.fence::after_thread_sync;\n"
         "ld.shared.u32 %t, [slot];\nshl.b32 %q, %w, 21;\nadd.u32 %q, %q, %t;\n"
         "setp.eq.u32 %lead, %i, 0;\n" +
         code +
         "tcgen05.fence::before_thread_sync;\nbar.sync 0;\ntcgen05.fence::after_thread_sync;\n"
         "setp.ne.u32 %p, %w, 0;\n@%p ret;\n"
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, " +
         count + ";\nret;\n}\n";
}

inline constexpr size_t kOutWords = size_t{128} * 128;

struct TensorRun {
  std::vector<uint32_t> out;
  std::vector<Fault> faults;
  bool completed = false;

  [[nodiscard]] bool has(FaultCode code) const {
    return std::any_of(faults.begin(), faults.end(),
                       [&](const Fault& f) { return f.code == code; });
  }
  /// For messages.
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const Fault& f : faults) {
      all += std::string(code_of(f.code)) + " at " + std::to_string(f.now.pc) + " " + f.note + "\n";
    }
    return all;
  }
};

struct TensorOptions {
  ScheduleSpec schedule;
  Rules rules;
  uint32_t threads = 128;
  uint32_t ctas = 1;  ///< One cluster.
};

/// Runs a whole kernel with the checker.
inline TensorRun run_tensor(const std::string& text, std::vector<uint32_t> in = {},
                            const TensorOptions& options = {}) {
  if (in.empty()) in.resize(1);
  FaultList list;
  const auto checker = race::make_checker(options.rules, list);
  RunInput input =
      simple(text, "k", {buffer_of(in), buffer_of(std::vector<uint32_t>(kOutWords * options.ctas))},
             options.threads, options.ctas);
  input.launches[0].cluster = {options.ctas, 1, 1};
  input.schedule = options.schedule;
  input.rules = options.rules;
  input.events = checker.get();
  input.faults = &list;
  TensorRun r;
  Outcome o = run_input(std::move(input));
  r.completed = o.result.completed;
  if (o.result.buffers.size() > 1) r.out = values_of<uint32_t>(o.result.buffers[1]);
  r.faults = list.faults();
  return r;
}

/// One of each kind of schedule.
inline std::vector<ScheduleSpec> some_schedules() {
  std::vector<ScheduleSpec> all;
  for (const ScheduleKind kind : {ScheduleKind::random, ScheduleKind::in_order, ScheduleKind::late,
                                  ScheduleKind::early, ScheduleKind::starve}) {
    ScheduleSpec s;
    s.kind = kind;
    s.seed = 11 + static_cast<uint64_t>(kind);
    all.push_back(s);
  }
  return all;
}

}  // namespace cohort::emu::test
