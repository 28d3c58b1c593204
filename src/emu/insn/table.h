// Which record means an opcode.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emu/insn/pattern.h"
#include "emu/insn/record.h"

namespace cohort::emu {

/// A record whose pattern was taken apart.
struct Entry {
  Pattern pattern;
  const Record* record;
  const Family* family;
};

/// The records of one level by the first word of their opcode.
class Table {
 public:
  explicit Table(const Families& families);

  /// The record that means the opcode, or null.
  [[nodiscard]] const Record* find(const std::vector<std::string_view>& modifiers) const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, std::vector<uint32_t>> by_word_;
};

/// The table of this processor.
[[nodiscard]] const Table& table();
/// docs/emulator/instructions.md as it should be: one row per record.
[[nodiscard]] std::string table_page(const Table& table);

}  // namespace cohort::emu
