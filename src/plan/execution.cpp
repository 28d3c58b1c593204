// Running what is bound.
#include <cohort/execute.h>

#include "base/diagnostics.h"
#include "plan/bind.h"
#include "plan/plan_data.h"

namespace cohort {

Execution& Execution::operator=(Execution&& other) noexcept {
  plan::ExecutionData* mine = data_;
  data_ = other.data_;
  other.data_ = mine;
  return *this;
}
Execution::Execution(const Execution& other) noexcept : data_(nullptr) {
  try {
    if (other.data_ != nullptr) data_ = new plan::ExecutionData(*other.data_);
  } catch (...) {
    data_ = nullptr;  // run() reports it
  }
}
Execution::~Execution() { delete data_; }

int64_t Execution::workspace_bytes() const noexcept {
  return data_ == nullptr ? 0 : data_->workspace_bytes;
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
  if (data_ == nullptr) return base::out_of_memory(-1, "copying an execution");
  return base::guarded("running a plan", [&]() -> Status {
    const plan::ExecutionData& x = *data_;
    if (x.workspace_bytes > 0 && workspace == nullptr) {
      return misfit("E-WORKSPACE", "workspace", "data",
                    std::to_string(x.workspace_bytes) + " bytes", "null");
    }
    if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) {
      return misfit(
          "E-ALIGNMENT", "workspace", "data", "a multiple of 256 bytes",
          std::to_string(reinterpret_cast<uintptr_t>(workspace) % 256) + " bytes past one");
    }
    x.plan->executable->launch({x.views, x.sizes, workspace, stream, options});
    return {};
  });
}

Status Execution::rebind(int32_t index, void* data) noexcept {
  if (data_ == nullptr) return base::out_of_memory(-1, "copying an execution");
  return base::guarded("rebinding a tensor", [&]() -> Status {
    plan::ExecutionData& x = *data_;
    if (index < 0 || static_cast<size_t>(index) >= x.views.size()) {
      return misfit("E-TENSOR", "rebind", "index", "0 .. " + std::to_string(x.views.size() - 1),
                    std::to_string(index));
    }
    TensorView& view = x.views[static_cast<size_t>(index)];
    void* const before = view.data;
    view.data = data;
    base::Diagnostics d;
    plan::check_view(x, index, view, d);
    if (d.empty()) plan::check_overlaps(x, d);
    if (d.empty()) return {};
    view.data = before;
    return d.take(ErrorKind::mismatch);
  });
}

Status Execution::resize(Sizes sizes) noexcept {
  if (data_ == nullptr) return base::out_of_memory(-1, "copying an execution");
  return base::guarded("resizing an execution", [&]() -> Status {
    plan::ExecutionData& x = *data_;
    const ir::Graph& g = *x.graph;
    // Without memory of its own as long as all is well: the common call is a new T in a loop.
    for (const ir::Symbol& s : g.symbols) {
      int found = 0;
      for (const Size& size : sizes) {
        if (size.name == s.name && size.value >= 0 && size.value <= s.bound) ++found;
      }
      if (found != 1) (void)plan::symbol_sizes(g, sizes);
    }
    if (static_cast<size_t>(sizes.size()) != g.symbols.size()) (void)plan::symbol_sizes(g, sizes);
    for (size_t i = 0; i < g.symbols.size(); ++i) {
      for (const Size& size : sizes) {
        if (size.name == g.symbols[i].name) x.sizes[i] = size.value;
      }
    }
    for (size_t i = 0; i < x.infos.size(); ++i) {
      x.infos[i] = ir::tensor_info(g, static_cast<int32_t>(i), x.sizes);
      for (int d = 0; d < x.infos[i].rank; ++d) {
        x.views[i].shape[d] = x.infos[i].shape[d];
        x.views[i].strides[d] = x.infos[i].strides[d];
      }
    }
    base::Diagnostics d;
    for (size_t i = 0; i < x.infos.size(); ++i) {
      plan::check_view(x, static_cast<int32_t>(i), x.views[i], d);
    }
    plan::check_overlaps(x, d);
    x.workspace_bytes = x.plan->executable->workspace_bytes(x.sizes);
    if (d.empty()) return {};
    return d.take(ErrorKind::mismatch);
  });
}

}  // namespace cohort
