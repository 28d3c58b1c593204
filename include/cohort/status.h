// Results and findings: how every function of the library reports what went wrong.
#pragma once

#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#define COHORT_API __attribute__((visibility("default")))

namespace cohort {

namespace detail {
struct FindingsRep;
struct FindingsAccess;
}  // namespace detail

/// Where a statement of the user's program stands. Filled in by default arguments.
struct Where {
  const char* file;  ///< As the compiler spells it.
  int line;          ///< 1-based.

  /// The place of the call that this is a default argument of.
  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// What kind of failure a set of findings describes.
enum class ErrorKind : uint8_t {
  invalid_graph,  ///< The graph (or its text) says something that cannot be right.
  unsupported,    ///< A valid graph that no engine serves; one finding per engine and reason.
  mismatch,       ///< Tensors, sizes or a device given to a plan do not fit it.
  file,           ///< A file cannot be opened, read, written, or is not of its format.
  environment,    ///< A library, device or system resource is missing; says where it was searched.
  limit,          ///< A documented limit was passed, or memory ran out.
  internal,       ///< A defect of this library.
};

/// One thing that is wrong. All views live as long as the Findings they came from.
struct Finding {
  std::string_view code;     ///< Stable code, "E-SHAPE"; docs/errors.md lists every one.
  std::string_view op;       ///< Op, engine or tensor that it is about; may be empty.
  std::string_view field;    ///< Field of the op ("by"), constraint of the engine; may be empty.
  int32_t dimension;         ///< Dimension of the tensor it is about (0-based), or -1.
  std::string_view wanted;   ///< What would be right; may be empty.
  std::string_view got;      ///< What was given; may be empty.
  std::string_view message;  ///< One sentence with the above.
  std::string_view where;    ///< "file.cpp:12" (C++) or "/nodes/3/by" (JSON path); may be empty.
  std::string_view hint;     ///< What to do about it, where that is known; may be empty.
};

/// An immutable, shared list of findings. Copying costs a counter.
class COHORT_API Findings {
 public:
  Findings() noexcept : rep_(nullptr) {}
  Findings(const Findings& other) noexcept;  ///< Shares the list.
  /// Takes the list.
  Findings(Findings&& other) noexcept : rep_(other.rep_) { other.rep_ = nullptr; }
  Findings& operator=(const Findings& other) noexcept;  ///< Shares the list.
  Findings& operator=(Findings&& other) noexcept;       ///< Takes the list.
  ~Findings();

  /// What kind of failure this is; `internal` for an empty list.
  [[nodiscard]] ErrorKind kind() const noexcept;
  /// Number of findings kept: at most 100.
  [[nodiscard]] int size() const noexcept;
  /// Number of findings that there were.
  [[nodiscard]] int64_t total() const noexcept;
  /// The i-th finding, in the order of the program; `i` must lie in [0, size()).
  [[nodiscard]] const Finding& operator[](int i) const noexcept;
  [[nodiscard]] const Finding* begin() const noexcept;  ///< First finding.
  [[nodiscard]] const Finding* end() const noexcept;    ///< One past the last finding.
  /// All findings as text, one a line; a last line counts those that were not kept.
  [[nodiscard]] std::string_view text() const noexcept;
  /// The graph as JSON when planning failed, so that a report can carry it; otherwise empty.
  [[nodiscard]] std::string_view graph_json() const noexcept;

 private:
  friend struct detail::FindingsAccess;
  detail::FindingsRep* rep_;
};

namespace detail {
/// Writes the first findings to stderr and ends the program: a failed Result was dereferenced.
[[noreturn]] COHORT_API void no_value(const Findings& findings) noexcept;
}  // namespace detail

/// A value, or every finding that says why there is none. Works without exceptions.
template <class T>
class [[nodiscard]] Result {
 public:
  /// Success.
  Result(T value) noexcept : ok_(true), value_(std::move(value)) {}  // NOLINT: implicit
  /// Failure.
  Result(Findings findings) noexcept : ok_(false), findings_(std::move(findings)) {}  // NOLINT
  /// Copies the value or shares the findings.
  Result(const Result& other) : ok_(other.ok_) {
    if (ok_) {
      new (&value_) T(other.value_);
    } else {
      new (&findings_) Findings(other.findings_);
    }
  }
  /// Takes the value or the findings.
  Result(Result&& other) noexcept : ok_(other.ok_) {
    if (ok_) {
      new (&value_) T(std::move(other.value_));
    } else {
      new (&findings_) Findings(std::move(other.findings_));
    }
  }
  /// As copying and taking.
  Result& operator=(Result other) noexcept {
    this->~Result();
    return *new (this) Result(std::move(other));
  }
  ~Result() {
    if (ok_) {
      value_.~T();
    } else {
      findings_.~Findings();
    }
  }

  /// True when there is a value.
  explicit operator bool() const noexcept { return ok_; }
  /// The value. Ends the program with the findings on stderr when there is none.
  T& operator*() & { return *checked(); }
  const T& operator*() const& { return *checked(); }    ///< The value; see above.
  T&& operator*() && { return std::move(*checked()); }  ///< The value; see above.
  T* operator->() { return checked(); }                 ///< The value; see above.
  const T* operator->() const { return checked(); }     ///< The value; see above.
  /// Why there is no value; empty when there is one.
  [[nodiscard]] Findings findings() const noexcept { return ok_ ? Findings() : findings_; }

 private:
  T* checked() {
    if (!ok_) detail::no_value(findings_);
    return &value_;
  }
  const T* checked() const {
    if (!ok_) detail::no_value(findings_);
    return &value_;
  }
  bool ok_;
  union {
    T value_;
    Findings findings_;
  };
};

/// Success, or every finding: the result of a function that returns nothing else.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() noexcept : ok_(true) {}
  /// Failure.
  Result(Findings findings) noexcept : ok_(false), findings_(std::move(findings)) {}  // NOLINT
  explicit operator bool() const noexcept { return ok_; }                 ///< True on success.
  [[nodiscard]] Findings findings() const noexcept { return findings_; }  ///< Why it failed.

 private:
  bool ok_;
  Findings findings_;
};

/// Success, or every finding.
using Status = Result<void>;

/// Receives the library's log: how each plan was found or made, and why one was refused. `level`: 1
/// warning, 2 information. A text may have several lines.
using LogFunction = void (*)(int level, std::string_view line, void* user);

/// Installs the receiver of log lines for this process; nullptr (the default) logs nothing.
COHORT_API void set_log(LogFunction function, void* user) noexcept;

/// Version of the library, "major.minor.patch".
[[nodiscard]] COHORT_API std::string_view version() noexcept;

}  // namespace cohort
