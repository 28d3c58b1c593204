#include "plan/overlap.h"

#include <algorithm>
#include <utility>

#include "ir/op_record.h"

namespace cohort::plan {

namespace {

// A tensor as rows of `width` bytes, `pitch` bytes apart; pitch 0: one range of bytes.
struct Rows {
  uint64_t pitch = 0;
  uint64_t width = 0;
};

Rows rows_of(const TensorInfo& t) {
  const Rows all{0, static_cast<uint64_t>(t.bytes)};
  int64_t width = 1;
  int64_t pitch = 0;
  int64_t after = 0;  // where one more row would begin
  for (int d = t.rank - 1; d >= 0; --d) {
    if (t.shape[d] == 1) continue;
    if (pitch == 0 && t.strides[d] == width) {
      width *= t.shape[d];
    } else if (pitch == 0 && t.strides[d] > width) {
      pitch = t.strides[d];
      after = pitch * t.shape[d];
    } else if (pitch != 0 && t.strides[d] == after) {
      after *= t.shape[d];
    } else {
      return all;
    }
  }
  const int64_t pitch_bits = pitch * bits(t.dtype);
  if (pitch == 0 || pitch_bits % 8 != 0) return all;
  return {static_cast<uint64_t>(pitch_bits) / 8,
          (static_cast<uint64_t>(width) * static_cast<uint64_t>(bits(t.dtype)) + 7) / 8};
}

uintptr_t address(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// An output may stand where the input stands that its op adds it to: nobody else may read that, and
// each element must go where it was read.
bool may_share(const ir::Graph& g, size_t output, size_t input) {
  const ir::TensorPart& to = g.tensors[output];
  const ir::TensorPart& from = g.tensors[input];
  if (from.is_output || to.kind != ir::TensorPart::Kind::data || from.kind != to.kind) return false;
  if (g.outputs[static_cast<size_t>(to.index)].scatter != ir::kNone) return false;
  const ir::Value& v = ir::part_value(g, to);
  if (v.node == ir::kNone || ir::part_value(g, from).uses != 1) return false;
  const ir::Node& n = g.nodes[static_cast<size_t>(v.node)];
  const std::string_view field = n.op->results[static_cast<size_t>(v.port)].added_to;
  return !field.empty() && g.operand(n, field) == g.inputs[static_cast<size_t>(from.index)].value;
}

class Checker {
 public:
  Checker(const ir::Graph& graph, const Binding& binding) : g_(graph), b_(binding) {}

  [[nodiscard]] bool empty(size_t i) const { return b_.infos[i].bytes == 0; }
  [[nodiscard]] bool is_output(size_t i) const { return b_.infos[i].is_output; }
  [[nodiscard]] uintptr_t begin(size_t i) const { return address(b_.views[i].data); }
  [[nodiscard]] uintptr_t end(size_t i) const {
    return begin(i) + static_cast<uintptr_t>(b_.infos[i].bytes);
  }

  // Looks at two tensors, one of which is an output.
  void pair(size_t i, size_t k) {
    if (begin(i) >= end(k) || begin(k) >= end(i)) return;
    // The output first; of two, the one that was declared first.
    if (!is_output(i) || (is_output(k) && k < i)) std::swap(i, k);
    if (!share_bytes(b_.infos[i], b_.views[i].data, b_.infos[k], b_.views[k].data)) return;
    if (same_place(i, k) && may_share(g_, i, k)) return;
    wrong_.emplace_back(i, k);
  }
  // Enough for a report: from here on one a tensor is looked for, so that many tensors in one place
  // cost no time of their number squared.
  [[nodiscard]] bool enough() const { return wrong_.size() > base::kMaxFindings; }

  // In the order of declarations, wherever the memory is.
  void report(base::Diagnostics& d) {
    std::sort(wrong_.begin(), wrong_.end());
    for (const auto& [i, k] : wrong_) {
      const std::string got = "memory shared with '" + g_.tensors[k].name + "'";
      d.add({.code = "E-OVERLAP",
             .op = g_.tensors[i].name,
             .field = "data",
             .wanted = "memory of its own",
             .got = got,
             .message = "data: wanted memory of its own, got " + got});
    }
  }

 private:
  [[nodiscard]] bool same_place(size_t i, size_t k) const {
    const TensorInfo& a = b_.infos[i];
    const TensorInfo& b = b_.infos[k];
    return begin(i) == begin(k) && a.dtype == b.dtype && a.rank == b.rank &&
           std::equal(a.shape, a.shape + a.rank, b.shape) &&
           std::equal(a.strides, a.strides + a.rank, b.strides);
  }

  const ir::Graph& g_;
  const Binding& b_;
  std::vector<std::pair<size_t, size_t>> wrong_;
};

// Tensors that began before the one at hand and may reach into it.
class Open {
 public:
  explicit Open(std::vector<int32_t>& memory) : tensors_(memory) {}
  void add(int32_t i) { tensors_[count_++] = i; }
  void meet(Checker& checker, size_t i) {
    for (size_t k = 0; k < count_;) {
      const auto other = static_cast<size_t>(tensors_[k]);
      if (checker.end(other) <= checker.begin(i)) {
        tensors_[k] = tensors_[--count_];
        continue;
      }
      checker.pair(other, i);
      if (checker.enough()) return;
      ++k;
    }
  }

 private:
  std::vector<int32_t>& tensors_;
  size_t count_ = 0;
};

}  // namespace

bool share_bytes(const TensorInfo& a, const void* a_data, const TensorInfo& b, const void* b_data) {
  const uintptr_t a_begin = address(a_data);
  const uintptr_t b_begin = address(b_data);
  if (a_begin >= b_begin + static_cast<uintptr_t>(b.bytes)) return false;
  if (b_begin >= a_begin + static_cast<uintptr_t>(a.bytes)) return false;
  const Rows ra = rows_of(a);
  const Rows rb = rows_of(b);
  const uint64_t pitch = std::max(ra.pitch, rb.pitch);
  if (pitch == 0) return true;
  if (ra.pitch != 0 && rb.pitch != 0 && ra.pitch != rb.pitch) return true;
  // Where a row of b begins, seen from the row of a before it.
  const uint64_t from =
      b_begin >= a_begin ? (b_begin - a_begin) % pitch : (pitch - (a_begin - b_begin) % pitch);
  return from % pitch < ra.width || from % pitch + rb.width > pitch;
}

void check_overlaps(const ir::Graph& graph, const Binding& binding, OverlapScratch& scratch,
                    base::Diagnostics& d) {
  const size_t count = binding.views.size();
  scratch.fit(count);
  Checker checker(graph, binding);
  size_t used = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!checker.empty(i)) scratch.order[used++] = static_cast<int32_t>(i);
  }
  const auto end = scratch.order.begin() + static_cast<std::ptrdiff_t>(used);
  std::sort(scratch.order.begin(), end, [&](int32_t a, int32_t b) {
    const auto place = [&](int32_t i) {
      return std::pair{checker.begin(static_cast<size_t>(i)), i};
    };
    return place(a) < place(b);
  });
  Open inputs(scratch.inputs);
  Open outputs(scratch.outputs);
  for (auto at = scratch.order.begin(); at != end; ++at) {
    const auto i = static_cast<size_t>(*at);
    outputs.meet(checker, i);
    if (checker.is_output(i)) inputs.meet(checker, i);
    (checker.is_output(i) ? outputs : inputs).add(*at);
  }
  checker.report(d);
}

void check_overlaps_of(const ir::Graph& graph, const Binding& binding, int32_t index,
                       base::Diagnostics& d) {
  Checker checker(graph, binding);
  const auto i = static_cast<size_t>(index);
  if (checker.empty(i)) return;
  for (size_t k = 0; k < binding.views.size(); ++k) {
    if (k == i || checker.empty(k)) continue;
    if (checker.is_output(i) || checker.is_output(k)) checker.pair(i, k);
  }
  checker.report(d);
}

}  // namespace cohort::plan
