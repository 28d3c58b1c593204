#include "emu/async/tensor_pipe.h"

#include <algorithm>
#include <bit>

namespace cohort::emu {

namespace {

class PipeTask final : public Task {
 public:
  explicit PipeTask(TensorUnit& unit) : unit_(unit) {}
  bool step(Machine& machine) override {
    const std::function<void(Machine&)> run = std::move(unit_.pipe.front());
    unit_.pipe.pop_front();
    run(machine);
    unit_.has_task = !unit_.pipe.empty();
    return !unit_.has_task;
  }

 private:
  TensorUnit& unit_;
};

Cta& peer_of(const Warp& w, uint32_t rank) {
  return *w.machine->ctas[w.cta->cluster->first_cta + rank];
}

}  // namespace

Cta& PipeIssue::cta(uint32_t number) const {
  if (cta_group == 1) return *warp->cta;
  return peer_of(*warp, (warp->cta->rank & ~1u) + number);
}

void PipeIssue::access(const Box& box) const {
  if (has_op) warp->machine->events->access(op, box);
}

void PipeIssue::fail(FaultCode code, std::string note) const {
  warp->machine->report(*warp, *insn, 1u << lane, code, std::move(note));
  warp->machine->stopped = true;
}

PipeIssue begin_pipe(Warp& w, const Insn& insn, uint32_t lane, uint8_t cta_group,
                     const PipeStep& step) {
  PipeIssue issue{&w, &insn, lane, cta_group, false, {0}};
  std::vector<uint32_t>& issuers = w.cta->tensor.issuers;
  issuers.resize(w.cta->warps.size());
  issuers[w.id] |= 1u << lane;
  ++w.cta->tensor.open;
  if (w.machine->events != nullptr) {
    issue.has_op = true;
    issue.op = w.machine->events->begin(w.who(insn, 1u << lane), Agent::tensor_pipe, step);
  }
  return issue;
}

void end_pipe(const PipeIssue& issue) {
  --issue.warp->cta->tensor.open;
  if (issue.has_op) issue.warp->machine->events->end(issue.op);
}

bool has_begun(const Warp& w, uint32_t lane) {
  const std::vector<uint32_t>& issuers = w.cta->tensor.issuers;
  return w.id < issuers.size() && (issuers[w.id] >> lane & 1) != 0;
}

void enqueue(const PipeIssue& issue, std::function<void(Machine&)> run) {
  TensorUnit& unit = issue.cta(0).tensor;
  unit.pipe.push_back(std::move(run));
  if (unit.has_task) return;
  unit.has_task = true;
  issue.warp->machine->tasks.push_back(std::make_unique<PipeTask>(unit));
}

bool take_cta_group(Warp& w, const Insn& insn, uint32_t lanes, uint8_t cta_group) {
  TensorUnit& unit = w.cta->tensor;
  if (unit.cta_group == 0) unit.cta_group = cta_group;
  if (unit.cta_group != cta_group) {
    w.machine->report(w, insn, lanes, FaultCode::misuse,
                      "all tcgen05 instructions of a kernel have one cta_group");
    return false;
  }
  const bool has_peer = cta_group == 1 || w.cta->cluster->size % 2 == 0;
  if (!has_peer) {
    w.machine->report(w, insn, lanes, FaultCode::misuse,
                      "cta_group::2 wants a cluster with an even number of CTAs");
  }
  return has_peer;
}

bool check_columns(const Warp& w, const Insn& insn, uint32_t lanes, uint8_t cta_group,
                   uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < cta_group; ++i) {
    const Cta& cta = cta_group == 1 ? *w.cta : peer_of(w, (w.cta->rank & ~1u) + i);
    if (cta.ended) {
      w.machine->report(w, insn, lanes, FaultCode::peer_gone);
      return false;
    }
    if (cta.tensor.holds(first, count)) continue;
    Fault f;
    f.code = FaultCode::tensor_bounds;
    f.now.by = {false, Agent::copy, w.cta->index, w.number.value, lanes};
    f.now.pc = w.who(insn, lanes).pc;
    f.has_place = true;
    f.space = Space::tensor;
    f.block = cta.index;
    f.offset = first * uint64_t{4};
    f.bytes = count * 4;
    f.wanted = count;
    f.got = first;
    w.machine->report(f);
    return false;
  }
  return true;
}

Box tensor_box(const Cta& cta, Kind kind, uint32_t lane, uint32_t lanes, uint32_t column,
               uint32_t columns) {
  return {Space::tensor,
          Proxy::async,
          kind,
          cta.index,
          uint64_t{lane} * kTensorRow + column * uint64_t{4},
          columns * uint64_t{4},
          lanes,
          kTensorRow};
}

void access_shared(const PipeIssue& issue, const Cta& cta, std::vector<uint32_t>& offsets,
                   uint32_t bytes) {
  if (!issue.has_op) return;
  std::sort(offsets.begin(), offsets.end());
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  Box box{Space::shared, Proxy::async, Kind::read, cta.index, 0, 0, 0, 0};
  for (size_t i = 0; i < offsets.size();) {
    size_t j = i + 1;
    while (j < offsets.size() && offsets[j] == offsets[j - 1] + bytes) ++j;
    const uint64_t length = (j - i) * uint64_t{bytes};
    const bool fits = box.runs != 0 && box.bytes == length &&
                      (box.runs == 1 || box.begin + box.pitch * box.runs == offsets[i]);
    if (fits) {
      if (box.runs == 1) box.pitch = offsets[i] - box.begin;
      ++box.runs;
    } else {
      if (box.runs != 0) issue.access(box);
      box.begin = offsets[i];
      box.bytes = length;
      box.runs = 1;
      box.pitch = 0;
    }
    i = j;
  }
  if (box.runs != 0) issue.access(box);
}

void end_tensor_unit(Cta& cta, Machine& m) {
  TensorUnit& unit = cta.tensor;
  const Warp& last = *cta.warps.back();
  const Insn& end = last.kernel->code.back();
  if (!unit.allocations.empty()) {
    m.report(last, end, last.first, FaultCode::tensor_leak,
             std::to_string(unit.allocations.size()) + " allocation(s), the first at column " +
                 std::to_string(unit.allocations.front().first));
  }
  if (unit.open != 0) {
    m.report(last, end, last.first, FaultCode::open_work,
             std::to_string(unit.open) + " operation(s) of the tensor pipe");
  }
}

}  // namespace cohort::emu
