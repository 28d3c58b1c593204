#include "base/diagnostics.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/utf8.h"

namespace cohort {

namespace detail {

struct FindingsRep {
  std::atomic<int64_t> references{1};
  bool is_static = false;
  ErrorKind kind = ErrorKind::internal;
  int64_t total = 0;
  std::vector<base::FindingText> texts;
  std::vector<Finding> views;
  std::string all;
  std::string graph_json;
};

struct FindingsAccess {
  static Findings make(FindingsRep* rep) {
    Findings f;
    f.rep_ = rep;
    return f;
  }
};

void no_value(const Findings& findings) noexcept {
  const std::string_view text = findings.text();
  std::fprintf(stderr, "cohort: a failed Result was dereferenced:\n%.*s\n",
               static_cast<int>(text.size()), text.data());
  std::abort();
}

}  // namespace detail

namespace {

std::string sentence(const base::FindingText& f) {
  std::string m;
  if (f.dimension >= 0) m += "dimension " + std::to_string(f.dimension) + ": ";
  if (!f.wanted.empty()) m += "wanted " + f.wanted;
  if (!f.got.empty()) m += (f.wanted.empty() ? "got " : ", got ") + f.got;
  return m;
}

std::string line(const base::FindingText& f) {
  std::string s(f.code);
  if (!f.op.empty()) s += " " + f.op;
  if (!f.field.empty()) s += "." + f.field;
  s += ": " + f.message;
  if (!f.where.empty()) s += " [" + f.where + "]";
  if (!f.hint.empty()) s += "; " + f.hint;
  return s;
}

void finish(detail::FindingsRep& rep) {
  rep.views.reserve(rep.texts.size());
  for (base::FindingText& t : rep.texts) {
    if (t.message.empty()) t.message = sentence(t);
    rep.views.push_back(
        {t.code, t.op, t.field, t.dimension, t.wanted, t.got, t.message, t.where, t.hint});
    if (!rep.all.empty()) rep.all += '\n';
    rep.all += line(t);
  }
  const auto kept = static_cast<int64_t>(rep.texts.size());
  if (rep.total > kept) rep.all += "\n(" + std::to_string(rep.total - kept) + " more findings)";
}

// Made while memory is plentiful, so that running out can be reported without any.
detail::FindingsRep& emergency() {
  static detail::FindingsRep* rep = [] {
    auto* r = new detail::FindingsRep;
    r->is_static = true;
    r->kind = ErrorKind::limit;
    r->total = 1;
    r->texts.push_back({.code = "E-MEMORY", .message = "memory ran out"});
    finish(*r);
    return r;
  }();
  return *rep;
}
[[maybe_unused]] const detail::FindingsRep& emergency_made_early = emergency();

struct LogReceiver {
  LogFunction function = nullptr;
  void* user = nullptr;
};
// Two words that belong together; an atomic of 16 bytes would need libatomic at link time.
std::mutex log_mutex;
LogReceiver log_receiver;

}  // namespace

Findings::Findings(const Findings& other) noexcept : rep_(other.rep_) {
  if (rep_ != nullptr) rep_->references.fetch_add(1, std::memory_order_relaxed);
}
Findings& Findings::operator=(const Findings& other) noexcept {
  Findings copy(other);
  std::swap(rep_, copy.rep_);
  return *this;
}
Findings& Findings::operator=(Findings&& other) noexcept {
  std::swap(rep_, other.rep_);
  return *this;
}
Findings::~Findings() {
  if (rep_ == nullptr || rep_->is_static) return;
  if (rep_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete rep_;
}
ErrorKind Findings::kind() const noexcept {
  return rep_ == nullptr ? ErrorKind::internal : rep_->kind;
}
int Findings::size() const noexcept {
  return rep_ == nullptr ? 0 : static_cast<int>(rep_->views.size());
}
int64_t Findings::total() const noexcept { return rep_ == nullptr ? 0 : rep_->total; }
const Finding& Findings::operator[](int i) const noexcept {
  return rep_->views[static_cast<size_t>(i)];
}
const Finding* Findings::begin() const noexcept {
  return rep_ == nullptr ? nullptr : rep_->views.data();
}
const Finding* Findings::end() const noexcept { return begin() + size(); }
std::string_view Findings::text() const noexcept {
  return rep_ == nullptr ? std::string_view{} : rep_->all;
}
std::string_view Findings::graph_json() const noexcept {
  return rep_ == nullptr ? std::string_view{} : rep_->graph_json;
}

void set_log(LogFunction function, void* user) noexcept {
  const std::lock_guard lock(log_mutex);
  log_receiver = {function, user};
}

namespace base {

void log(int level, std::string_view text) noexcept {
  LogReceiver r;
  {
    const std::lock_guard lock(log_mutex);
    r = log_receiver;
  }
  if (r.function != nullptr) r.function(level, text, r.user);
}

// Names reach findings as they were given. A finding is text, for terminals too.
void Diagnostics::add(FindingText finding) {
  ++total_;
  if (kept_.size() >= kMaxFindings) return;
  for (std::string* s : {&finding.op, &finding.field, &finding.wanted, &finding.got,
                         &finding.message, &finding.where, &finding.hint}) {
    make_printable(*s);
  }
  kept_.push_back(std::move(finding));
}

Findings Diagnostics::take(ErrorKind kind, std::string graph_json) {
  auto rep = std::make_unique<detail::FindingsRep>();
  rep->kind = kind;
  rep->total = total_;
  rep->texts = std::move(kept_);
  rep->graph_json = std::move(graph_json);
  kept_.clear();
  total_ = 0;
  finish(*rep);
  return detail::FindingsAccess::make(rep.release());
}

Findings make_findings(ErrorKind kind, FindingText finding) {
  Diagnostics d;
  d.add(std::move(finding));
  return d.take(kind);
}

Findings out_of_memory(int64_t bytes, const char* what) noexcept {
  try {
    std::string message = "memory ran out while " + std::string(what);
    if (bytes >= 0) message += ": " + std::to_string(bytes) + " bytes";
    return make_findings(ErrorKind::limit,
                         {.code = "E-MEMORY",
                          .got = bytes >= 0 ? std::to_string(bytes) : std::string(),
                          .message = std::move(message)});
  } catch (...) {
    return detail::FindingsAccess::make(&emergency());
  }
}

Findings findings_of_current_exception(const char* doing) noexcept {
  try {
    throw;
  } catch (const FindingsError& e) {
    return e.findings;
  } catch (const OutOfMemory& e) {
    return out_of_memory(e.bytes(), e.what());
  } catch (const std::bad_alloc&) {
    return out_of_memory(-1, doing);
  } catch (const std::length_error&) {
    // A container that would be larger than any memory says it this way.
    return out_of_memory(-1, doing);
  } catch (const std::exception& e) {
    try {
      const bool system = dynamic_cast<const std::system_error*>(&e) != nullptr;
      return make_findings(system ? ErrorKind::environment : ErrorKind::internal,
                           {.code = system ? "E-ENVIRONMENT" : "E-INTERNAL",
                            .message = std::string(e.what()) + " while " + doing});
    } catch (...) {
      return out_of_memory(-1, doing);
    }
  } catch (...) {
    return out_of_memory(-1, doing);
  }
}

}  // namespace base
}  // namespace cohort
