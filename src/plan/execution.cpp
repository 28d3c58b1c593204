// Running what is bound.
#include <algorithm>
#include <utility>
#include <vector>

#include <cohort/execute.h>

#include "base/diagnostics.h"
#include "plan/bind.h"
#include "plan/overlap.h"
#include "plan/plan_data.h"

namespace cohort {

Execution& Execution::operator=(Execution&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(copy_failed_, other.copy_failed_);
  return *this;
}
Execution::Execution(const Execution& other) noexcept
    : data_(nullptr), copy_failed_(other.copy_failed_) {
  try {
    if (other.data_ != nullptr) data_ = new plan::ExecutionData(*other.data_);
  } catch (...) {
    copy_failed_ = true;  // run() reports it
  }
}
Execution::~Execution() { delete data_; }

int64_t Execution::workspace_bytes() const noexcept {
  return data_ == nullptr ? 0 : data_->bound.workspace_bytes;
}

Findings Execution::nothing_bound() const noexcept {
  if (copy_failed_) return base::out_of_memory(-1, "copying an execution");
  try {
    return base::make_findings(ErrorKind::mismatch,
                               {.code = "E-HANDLE",
                                .op = "execution",
                                .message = "this execution was moved from: it binds nothing"});
  } catch (...) {
    return base::findings_of_current_exception("reporting an execution that was moved from");
  }
}

namespace {

Findings misfit(std::string_view code, std::string op, std::string field, std::string wanted,
                std::string got) {
  std::string message = field + ": wanted " + wanted + ", got " + got;
  return base::make_findings(ErrorKind::mismatch, {.code = code,
                                                   .op = std::move(op),
                                                   .field = std::move(field),
                                                   .wanted = std::move(wanted),
                                                   .got = std::move(got),
                                                   .message = std::move(message)});
}

}  // namespace

Status Execution::run(void* workspace, Stream stream, const RunOptions& options) const noexcept {
  if (data_ == nullptr) return nothing_bound();
  return base::guarded("running a plan", [&]() -> Status {
    const plan::Binding& x = data_->bound;
    if (x.workspace_bytes > 0 && workspace == nullptr) {
      return misfit("E-WORKSPACE", "workspace", "data",
                    std::to_string(x.workspace_bytes) + " bytes", "null");
    }
    if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) {
      return misfit(
          "E-ALIGNMENT", "workspace", "data", "a multiple of 256 bytes",
          std::to_string(reinterpret_cast<uintptr_t>(workspace) % 256) + " bytes past one");
    }
    data_->plan->executable->launch(
        {*data_->graph, x.views, x.sizes, workspace, stream, options, data_->prepared.get()});
    return {};
  });
}

namespace {

// Another pointer for a while: it is kept, or whatever happens the old one comes back.
class Swapped {
 public:
  Swapped(void*& at, void* data) : at_(at), before_(at) { at_ = data; }
  Swapped(const Swapped&) = delete;
  Swapped& operator=(const Swapped&) = delete;
  ~Swapped() { at_ = before_; }
  void keep() { before_ = at_; }

 private:
  void*& at_;
  void* before_;
};

bool is_tensor(const plan::Binding& x, int32_t index) {
  return index >= 0 && static_cast<size_t>(index) < x.views.size();
}

Findings no_tensor(const plan::Binding& x, int32_t index) {
  return misfit("E-TENSOR", "rebind", "index", "0 .. " + std::to_string(x.views.size() - 1),
                std::to_string(index));
}

}  // namespace

Status Execution::rebind(int32_t index, void* data) noexcept {
  if (data_ == nullptr) return nothing_bound();
  return base::guarded("rebinding a tensor", [&]() -> Status {
    plan::Binding& x = data_->bound;
    if (!is_tensor(x, index)) return no_tensor(x, index);
    TensorView& view = x.views[static_cast<size_t>(index)];
    Swapped swapped(view.data, data);
    base::Diagnostics d;
    plan::check_view(*data_, x, index, d);
    if (d.empty()) plan::check_overlaps_of(*data_->graph, x, index, d);
    if (!d.empty()) return d.take(ErrorKind::mismatch);
    data_->prepare_next(x);
    std::swap(data_->prepared, data_->prepared_next);
    swapped.keep();
    return {};
  });
}

Status Execution::rebind(Rebindings list) noexcept {
  if (data_ == nullptr) return nothing_bound();
  return base::guarded("rebinding tensors", [&]() -> Status {
    plan::Binding& x = data_->next;
    x = data_->bound;  // as large: copied in place
    std::vector<int32_t>& seen = data_->overlaps.order;
    std::fill(seen.begin(), seen.end(), ir::kNone);
    for (const Rebinding& r : list) {
      if (!is_tensor(x, r.index)) return no_tensor(x, r.index);
      int32_t& mark = seen[static_cast<size_t>(r.index)];
      if (mark != ir::kNone) {
        return misfit("E-TENSOR", data_->graph->tensors[static_cast<size_t>(r.index)].name, "data",
                      "one pointer", "two");
      }
      mark = r.index;
      x.views[static_cast<size_t>(r.index)].data = r.data;
    }
    base::Diagnostics d;
    for (const Rebinding& r : list) plan::check_view(*data_, x, r.index, d);
    if (d.empty()) plan::check_overlaps(*data_->graph, x, data_->overlaps, d);
    if (!d.empty()) return d.take(ErrorKind::mismatch);
    data_->prepare_next(x);
    std::swap(data_->prepared, data_->prepared_next);
    std::swap(data_->bound, x);
    return {};
  });
}

namespace {

// Of a search through names. A graph has a few; of one with more, sizes in another order are found
// by a map.
constexpr size_t kMaxSteps = 64;

// Finds each size without memory of its own: the common call is a new T in a loop. Each search
// begins behind the last find, so sizes in the order of the graph take one step each. What does not
// fit is reported by symbol_sizes.
void read_sizes(const ir::Graph& g, Sizes sizes, std::vector<int64_t>& values) {
  const size_t count = g.symbols.size();
  std::fill(values.begin(), values.end(), -1);
  bool good = static_cast<size_t>(sizes.size()) == count;
  size_t next = 0;
  for (const Size& size : sizes) {
    if (!good) break;
    size_t steps = 0;
    while (steps < std::min(count, kMaxSteps) &&
           g.symbols[(next + steps) % count].name != size.name)
      ++steps;
    const size_t i = (next + steps) % count;
    good = steps < std::min(count, kMaxSteps) && values[i] < 0 && size.value >= 0 &&
           size.value <= g.symbols[i].bound;
    if (good) values[i] = size.value;
    next = i + 1;
  }
  if (!good) values = plan::symbol_sizes(g, sizes);
}

}  // namespace

Status Execution::resize(Sizes sizes) noexcept {
  if (data_ == nullptr) return nothing_bound();
  return base::guarded("resizing an execution", [&]() -> Status {
    const ir::Graph& g = *data_->graph;
    plan::Binding& x = data_->next;
    read_sizes(g, sizes, x.sizes);
    base::Diagnostics d;
    plan::check_pairs(g, x.sizes, d);
    if (!d.empty()) return d.take(ErrorKind::mismatch);
    for (size_t i = 0; i < x.infos.size(); ++i) {
      x.infos[i] = ir::tensor_info(g, static_cast<int32_t>(i), x.sizes);
      x.views[i] = data_->bound.views[i];
      std::copy_n(x.infos[i].shape, x.infos[i].rank, x.views[i].shape);
      std::copy_n(x.infos[i].strides, x.infos[i].rank, x.views[i].strides);
    }
    for (size_t i = 0; i < x.infos.size(); ++i) {
      plan::check_view(*data_, x, static_cast<int32_t>(i), d);
    }
    if (d.empty()) plan::check_overlaps(g, x, data_->overlaps, d);
    if (!d.empty()) return d.take(ErrorKind::mismatch);
    x.workspace_bytes = data_->plan->executable->workspace_bytes(x.sizes);
    data_->prepare_next(x);
    std::swap(data_->prepared, data_->prepared_next);
    std::swap(data_->bound, x);
    return {};
  });
}

}  // namespace cohort
