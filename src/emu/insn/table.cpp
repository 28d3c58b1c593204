#include "emu/insn/table.h"

#include "base/isa_level.h"

namespace cohort::emu {

const Families& families() {
  switch (base::isa_level()) {
    case base::IsaLevel::v4:
      return v4::kFamilies;
    case base::IsaLevel::v3:
      return v3::kFamilies;
    case base::IsaLevel::v1:
      break;
  }
  return v1::kFamilies;
}

Table::Table(const Families& families) {
  for (int f = 0; f < families.count; ++f) {
    const Family& family = *families.list[f];
    for (int i = 0; i < family.count; ++i) {
      const Record& record = family.records[i];
      entries_.push_back({Pattern(record.pattern), &record, &family});
      for (const std::string_view word : entries_.back().pattern.parts()[0].choices) {
        by_word_[word].push_back(static_cast<uint32_t>(entries_.size() - 1));
      }
    }
  }
}

const Record* Table::find(const std::vector<std::string_view>& modifiers) const {
  if (modifiers.empty()) return nullptr;
  const auto found = by_word_.find(modifiers[0]);
  if (found == by_word_.end()) return nullptr;
  for (const uint32_t i : found->second) {
    if (entries_[i].pattern.matches(modifiers)) return entries_[i].record;
  }
  return nullptr;
}

const Table& table() {
  static const Table kTable(families());
  return kTable;
}

std::string table_page(const Table& table) {
  std::string page =
      "# Instructions that are modelled\n\nMade from the instruction table (`src/emu/insn`) by "
      "`test_emu` with `COHORT_UPDATE=1` in the environment. `{a,b}`: one of them; `[.x]`: may be "
      "left out. What stands in no row is refused before anything runs.\n";
  const Family* family = nullptr;
  for (const Entry& e : table.entries()) {
    if (e.family != family) {
      family = e.family;
      page.append("\n## ").append(family->name);
      page.append("\n\n| Opcode | Operands |\n|---|---|\n");
    }
    page.append("| `").append(e.record->pattern).append("` | `").append(e.record->operands);
    page.append("` |\n");
  }
  return page;
}

}  // namespace cohort::emu
