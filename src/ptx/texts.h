// Interned text: each distinct name or opcode is stored once and known by a number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::ptx {

/// A number that stands for a text; 0 is the empty text.
using Text = uint32_t;

/// "No such thing", for every index of this room.
inline constexpr uint32_t kNone = UINT32_MAX;

/// Mixes two words. `seed` makes collisions unforeseeable, so that no text can be written which
/// makes a table slow.
[[nodiscard]] uint64_t mixed(uint64_t a, uint64_t b, uint64_t seed);
/// A number that differs between runs of the program. Results never depend on it.
[[nodiscard]] uint64_t table_seed();

/// The table of texts. Numbers are given in the order in which texts first came.
class Texts {
 public:
  Texts();

  [[nodiscard]] Text intern(std::string_view text);
  /// The text's number, or kNone when it was never interned.
  [[nodiscard]] Text find(std::string_view text) const;
  /// Lives until the next `intern`.
  [[nodiscard]] std::string_view operator[](Text text) const {
    const Entry& e = entries_[text];
    return std::string_view(bytes_).substr(e.begin, e.size);
  }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(entries_.size()); }

 private:
  struct Entry {
    size_t begin = 0;
    uint32_t size = 0;
    uint32_t hash = 0;
  };

  [[nodiscard]] uint32_t hash(std::string_view text) const;
  /// Slot that holds the text, or the free slot where it belongs.
  [[nodiscard]] size_t slot_of(std::string_view text, uint32_t hash) const;
  void grow();

  uint64_t seed_;
  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;
};

/// Numbers pairs of words in the order in which they first came.
class PairTable {
 public:
  PairTable();
  /// The value stored for the pair; `value` is stored when there is none yet.
  [[nodiscard]] uint32_t find_or_add(uint64_t key, uint32_t value);

 private:
  struct Entry {
    uint64_t key = 0;
    uint32_t value = kNone;
  };
  void grow();

  uint64_t seed_;
  size_t used_ = 0;
  std::vector<Entry> slots_;
};

}  // namespace cohort::ptx
