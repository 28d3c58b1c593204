// What the tensor pipe works on: operations in the order of issue, boxes of what they touch.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "emu/machine.h"

namespace cohort::emu {

/// Who began an operation of the tensor pipe, and what the watcher calls it.
struct PipeIssue {
  Warp* warp = nullptr;
  const Insn* insn = nullptr;
  uint32_t lane = 0;
  uint8_t cta_group = 1;
  bool has_op = false;
  OpId op{0};

  /// Of the CTAs that take part, the one with that number: of a pair the even one comes first.
  [[nodiscard]] Cta& cta(uint32_t number) const;
  void access(const Box& box) const;
  /// Reports, and ends the run.
  void fail(FaultCode code, std::string note) const;
};

/// Begins an operation of a lane: the watcher knows it from here on.
[[nodiscard]] PipeIssue begin_pipe(Warp& warp, const Insn& insn, uint32_t lane, uint8_t cta_group,
                                   const PipeStep& step);
/// Ends it.
void end_pipe(const PipeIssue& issue);
/// Whether the lane has begun an operation with that cta_group before.
[[nodiscard]] bool has_begun(const Warp& warp, uint32_t lane);
/// Puts it behind those before it. It happens when the schedule says so.
void enqueue(const PipeIssue& issue, std::function<void(Machine&)> run);
/// Whether the CTA has a peer, and all instructions have one cta_group. False after a fault.
[[nodiscard]] bool take_cta_group(Warp& warp, const Insn& insn, uint32_t lanes, uint8_t cta_group);
/// Whether the columns belong to allocations of every CTA that takes part. False after a fault.
[[nodiscard]] bool check_columns(const Warp& warp, const Insn& insn, uint32_t lanes,
                                 uint8_t cta_group, uint32_t first, uint32_t count);

/// A box of columns of lanes [lane, lane + lanes).
[[nodiscard]] Box tensor_box(const Cta& cta, Kind kind, uint32_t lane, uint32_t lanes,
                             uint32_t column, uint32_t columns);
/// Boxes of `bytes` bytes at each of these offsets of shared memory; sorts them.
void access_shared(const PipeIssue& issue, const Cta& cta, std::vector<uint32_t>& offsets,
                   uint32_t bytes);

/// At the end of a CTA: leaks and open work.
void end_tensor_unit(Cta& cta, Machine& machine);

}  // namespace cohort::emu
