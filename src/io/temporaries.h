// Files that are being written, for a program that a signal ends.
#pragma once

#include <string>

namespace cohort::io {

/// While it lives, remove_temporaries() removes the file of that path. Costs no memory; where the
/// table is full or the path too long, the file is not removed.
class Temporary {
 public:
  explicit Temporary(const std::string& path);
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary();

 private:
  int slot_ = -1;  ///< Negative: none.
};

/// Removes the file of every Temporary that lives. Async-signal-safe: for the handler of a program
/// that ends at once. The library installs no handler.
void remove_temporaries() noexcept;

}  // namespace cohort::io
