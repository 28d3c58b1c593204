#include "ptx/symbols.h"

namespace cohort::ptx {

void Symbols::open() { scopes_.push_back({symbols_.size(), references_.size()}); }

const Symbol* Symbols::declare(Symbol symbol) {
  const bool is_range = symbol.kind == Symbol::Kind::range;
  uint32_t& top = top_of(is_range ? range_top_ : top_, symbol.name);
  symbol.scope = depth();
  symbol.shadowed = top;
  if (top != kNone && symbols_[top].scope == symbol.scope) return &symbols_[top];
  top = static_cast<uint32_t>(symbols_.size());
  symbols_.push_back(symbol);
  return nullptr;
}

void Symbols::refer(Text name, uint32_t operand, Place place) {
  uint32_t& open = top_of(open_top_, name);
  references_.push_back({name, operand, open, false, place});
  open = static_cast<uint32_t>(references_.size() - 1);
}

std::vector<Reference> Symbols::take_open_references() {
  std::vector<Reference> open;
  for (const Reference& r : references_) {
    if (r.is_resolved) continue;
    open.push_back(r);
    open_top_[r.name] = kNone;
  }
  references_.clear();
  return open;
}

}  // namespace cohort::ptx
