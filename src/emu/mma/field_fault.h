// What is wrong with a field of a descriptor, or with a combination of fields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cohort::emu {

/// A field that breaks a rule.
struct FieldFault {
  const char* field = "";
  std::string wanted;
  uint64_t got = 0;
};

/// A descriptor taken apart, and every rule that it breaks. The value is what its bits say, also
/// where there are faults; what has no meaning is left at its default.
template <class T>
struct Decoded {
  T value;
  std::vector<FieldFault> faults;

  [[nodiscard]] bool is_legal() const { return faults.empty(); }
  void want(bool good, const char* field, std::string wanted, uint64_t got) {
    if (!good) faults.push_back({field, std::move(wanted), got});
  }
};

/// Bits `first` to `last` of a word.
[[nodiscard]] constexpr uint64_t bits_between(uint64_t word, int first, int last) {
  const int width = last - first + 1;
  return (word >> first) & (width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
}

}  // namespace cohort::emu
