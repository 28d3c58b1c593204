// Which name means what, where: nested scopes, registers by range, labels that come later.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/module.h"

namespace cohort::ptx {

struct Symbol {
  enum class Kind : uint8_t {
    registers,  ///< `index`: Function::register_declarations
    range,      ///< the same, of %r<10>; known by the name before its digits
    module_variable,
    function_variable,
    function,
    label,
    branch_targets,
    call_targets,
    prototype,
    unknown,  ///< was reported as undeclared, which is enough
  };
  Kind kind = Kind::unknown;
  Text name = 0;
  uint32_t index = kNone;
  uint32_t scope = 0;         ///< depth of the scope that it is declared in; 0 is the module's
  uint32_t count = 1;         ///< of a range
  uint32_t shadowed = kNone;  ///< the symbol of that name in an outer scope
  Place place;
};

/// A name that was used before anything of that name was declared: perhaps a label.
struct Reference {
  Text name = 0;
  uint32_t operand = 0;      ///< Function::operands
  uint32_t earlier = kNone;  ///< the open reference to the same name before this one
  bool is_resolved = false;
  Place place;
};

class Symbols {
 public:
  Symbols() : scopes_(1) {}

  [[nodiscard]] uint32_t depth() const { return static_cast<uint32_t>(scopes_.size() - 1); }
  void open();
  /// Ends the innermost scope. References to labels of it are resolved: `resolve(reference,
  /// symbol)` is called for each.
  template <class F>
  void close(F&& resolve);

  /// The innermost symbol of that name, or null. A range is looked for by the text before digits.
  [[nodiscard]] const Symbol* find(Text name) const { return at(top_, name); }
  [[nodiscard]] const Symbol* find_range(Text name) const { return at(range_top_, name); }
  /// The range that was visible before this one in an outer scope, or null.
  [[nodiscard]] const Symbol* outer(const Symbol& s) const {
    return s.shadowed == kNone ? nullptr : &symbols_[s.shadowed];
  }
  /// Declares in the innermost scope. Returns the symbol that has this name there already, and
  /// declares nothing then; null on success.
  const Symbol* declare(Symbol symbol);

  /// Remembers an operand whose name may be a label that comes later.
  void refer(Text name, uint32_t operand, Place place);
  /// Those that nothing resolved, in the order of the text. Ends them.
  [[nodiscard]] std::vector<Reference> take_open_references();
  /// Calls `f` for each symbol of the innermost scope, in the order of declaration.
  template <class F>
  void each_of_scope(F&& f) const {
    for (size_t i = scopes_.back().first_symbol; i < symbols_.size(); ++i) f(symbols_[i]);
  }

 private:
  struct Scope {
    size_t first_symbol = 0;
    size_t first_reference = 0;
  };
  [[nodiscard]] const Symbol* at(const std::vector<uint32_t>& tops, Text name) const {
    if (name >= tops.size() || tops[name] == kNone) return nullptr;
    return &symbols_[tops[name]];
  }
  static uint32_t& top_of(std::vector<uint32_t>& tops, Text name) {
    if (name >= tops.size()) tops.resize(name + 1, kNone);
    return tops[name];
  }
  [[nodiscard]] static bool may_come_later(Symbol::Kind kind) {
    return kind == Symbol::Kind::label || kind == Symbol::Kind::branch_targets ||
           kind == Symbol::Kind::call_targets || kind == Symbol::Kind::prototype;
  }

  std::vector<Scope> scopes_;
  std::vector<Symbol> symbols_;
  std::vector<uint32_t> top_;        // by name
  std::vector<uint32_t> range_top_;  // by name before the digits
  std::vector<uint32_t> open_top_;   // last open reference by name
  std::vector<Reference> references_;
};

// Each reference is resolved once and each symbol asked once: linear in both.
template <class F>
void Symbols::close(F&& resolve) {
  const Scope scope = scopes_.back();
  for (size_t i = scope.first_symbol; i < symbols_.size(); ++i) {
    const Symbol& s = symbols_[i];
    if (!may_come_later(s.kind) || s.name >= open_top_.size()) continue;
    uint32_t& open = open_top_[s.name];
    while (open != kNone && open >= scope.first_reference) {
      Reference& r = references_[open];
      r.is_resolved = true;
      open = r.earlier;
      resolve(r, s);
    }
  }
  for (size_t i = symbols_.size(); i > scope.first_symbol; --i) {
    const Symbol& s = symbols_[i - 1];
    (s.kind == Symbol::Kind::range ? range_top_ : top_)[s.name] = s.shadowed;
  }
  symbols_.resize(scope.first_symbol);
  scopes_.pop_back();
}

}  // namespace cohort::ptx
