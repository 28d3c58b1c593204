// Collecting findings, and the guard that no exception passes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <cohort/status.h>

namespace cohort::base {

/// Findings kept of a list; the others are counted.
inline constexpr int kMaxFindings = 100;

/// One finding on its way into a Findings. `message` may be left empty: it is then made of the
/// other parts.
struct FindingText {
  std::string_view code;
  std::string op{};
  std::string field{};
  int32_t dimension = -1;
  std::string wanted{};
  std::string got{};
  std::string message{};
  std::string where{};
  std::string hint{};
};

/// A growing list of findings.
class Diagnostics {
 public:
  void add(FindingText finding);
  [[nodiscard]] bool empty() const { return total_ == 0; }
  [[nodiscard]] int64_t total() const { return total_; }
  [[nodiscard]] const std::vector<FindingText>& kept() const { return kept_; }
  /// Moves the list into a Findings. `graph_json`: see Findings::graph_json.
  [[nodiscard]] Findings take(ErrorKind kind, std::string graph_json = {});

 private:
  std::vector<FindingText> kept_;
  int64_t total_ = 0;
};

/// A list of one finding.
[[nodiscard]] Findings make_findings(ErrorKind kind, FindingText finding);

/// Thrown inside the library where the number of bytes is known.
class OutOfMemory : public std::bad_alloc {
 public:
  OutOfMemory(int64_t bytes, const char* what) : bytes_(bytes), what_(what) {}
  [[nodiscard]] int64_t bytes() const { return bytes_; }
  [[nodiscard]] const char* what() const noexcept override { return what_; }

 private:
  int64_t bytes_;
  const char* what_;
};

/// Findings thrown through the inside of the library, to be caught by `guarded`.
struct FindingsError {
  Findings findings;
};

/// E-MEMORY. `bytes` is -1 when it is not known. Needs no memory itself when none is left.
[[nodiscard]] Findings out_of_memory(int64_t bytes, const char* what) noexcept;
/// The findings for the exception that is being handled; call inside a catch block.
[[nodiscard]] Findings findings_of_current_exception(const char* doing) noexcept;

/// Runs f, which returns something that a Findings converts to, and turns every exception into
/// findings. `doing` completes "memory ran out while ...".
template <class F>
auto guarded(const char* doing, F&& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    return findings_of_current_exception(doing);
  }
}

/// Hands a line to the receiver installed by set_log, if there is one.
void log(int level, std::string_view line) noexcept;

}  // namespace cohort::base
