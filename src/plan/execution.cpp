// Running what is bound.
#include <algorithm>
#include <utility>
#include <vector>

#include <cohort/execute.h>

#include "base/diagnostics.h"
#include "plan/bind.h"
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

}  // namespace

Status Execution::rebind(int32_t index, void* data) noexcept {
  if (data_ == nullptr) return nothing_bound();
  return base::guarded("rebinding a tensor", [&]() -> Status {
    plan::Binding& x = data_->bound;
    if (index < 0 || static_cast<size_t>(index) >= x.views.size()) {
      return misfit("E-TENSOR", "rebind", "index", "0 .. " + std::to_string(x.views.size() - 1),
                    std::to_string(index));
    }
    TensorView& view = x.views[static_cast<size_t>(index)];
    Swapped swapped(view.data, data);
    base::Diagnostics d;
    plan::check_view(*data_, x, index, d);
    if (d.empty()) plan::check_together(*data_, x, d);
    if (!d.empty()) return d.take(ErrorKind::mismatch);
    data_->prepare_next(x);
    std::swap(data_->prepared, data_->prepared_next);
    swapped.keep();
    return {};
  });
}

namespace {

// Finds each size without memory of its own: the common call is a new T in a loop. What does not
// fit is reported by symbol_sizes.
void read_sizes(const ir::Graph& g, Sizes sizes, std::vector<int64_t>& values) {
  bool good = static_cast<size_t>(sizes.size()) == g.symbols.size();
  for (size_t i = 0; good && i < g.symbols.size(); ++i) {
    const ir::Symbol& s = g.symbols[i];
    int found = 0;
    for (const Size& size : sizes) {
      if (size.name != s.name || size.value < 0 || size.value > s.bound) continue;
      values[i] = size.value;
      ++found;
    }
    good = found == 1;
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
    if (d.empty()) plan::check_together(*data_, x, d);
    if (!d.empty()) return d.take(ErrorKind::mismatch);
    x.workspace_bytes = data_->plan->executable->workspace_bytes(x.sizes);
    data_->prepare_next(x);
    std::swap(data_->prepared, data_->prepared_next);
    std::swap(data_->bound, x);
    return {};
  });
}

}  // namespace cohort
