// Operands.
#include "ptx/reader.h"
#include "ptx/special.h"

namespace cohort::ptx {

bool Reader::push(const Operand& operand) {
  if (++operands_ > options_.limits.operands) {
    limit(t_.place, "operands of one instruction", options_.limits.operands);
    return false;
  }
  scratch_.push_back(operand);
  return true;
}

bool Reader::enter(std::string_view what) {
  if (++nesting_ <= options_.limits.depth) return true;
  limit(t_.place, what, options_.limits.depth);
  return false;
}

uint32_t Reader::settle(size_t begin) {
  const auto first = static_cast<uint32_t>(f_->operands.size());
  for (size_t i = begin; i < scratch_.size(); ++i) {
    Operand& o = scratch_[i];
    if (o.kind == OperandKind::unresolved) {
      // A name that is no variable: where it stands was kept in `value` until now.
      const auto at = static_cast<uint64_t>(o.value);
      symbols_.refer(o.index, static_cast<uint32_t>(f_->operands.size()),
                     {static_cast<uint32_t>(at >> 32), static_cast<uint32_t>(at)});
      o.value = 0;
    }
    f_->operands.push_back(o);
  }
  scratch_.resize(begin);
  return first;
}

void Reader::fold(Operand parent, size_t begin) {
  parent.count = static_cast<uint32_t>(scratch_.size() - begin);
  parent.first = parent.count == 0 ? 0 : settle(begin);
  scratch_.push_back(parent);
}

Text Reader::take_selector() {
  if (t_.kind != Token::Kind::dotted) return 0;
  const Text selector = intern(t_.text.substr(1), t_.place);
  advance();
  return selector;
}

bool Reader::push_name(std::string_view word, Place place) {
  const Found found = look_up(word);
  Operand o;
  if (found.symbol == nullptr) {
    if (word[0] == '%') {
      if (is_special_register(word)) {
        o.kind = OperandKind::special;
        o.index = intern(word, place);
        o.selector = take_selector();
        return push(o);
      }
      name_finding(place, word, "a declared register", "none of that name");
      const Text name = intern(word, place);
      symbols_.declare({.kind = Symbol::Kind::unknown, .name = name, .place = place});
      o.selector = take_selector();
      return push(o);
    }
    o.kind = OperandKind::unresolved;
    o.index = intern(word, place);
    o.value = static_cast<int64_t>(uint64_t{place.line} << 32 | place.column);
    return push(o);
  }
  o.index = found.symbol->index;
  switch (found.symbol->kind) {
    case Symbol::Kind::registers:
    case Symbol::Kind::range:
      o.kind = OperandKind::reg;
      o.index = use_register(found);
      o.selector = take_selector();
      break;
    case Symbol::Kind::module_variable:
      o.kind = OperandKind::module_variable;
      break;
    case Symbol::Kind::function_variable:
      o.kind = OperandKind::function_variable;
      break;
    case Symbol::Kind::function:
      o.kind = OperandKind::function;
      break;
    case Symbol::Kind::unknown:
      o.index = kNone;
      break;
    default:
      // A label of this or an outer scope; one that is declared further inside would be meant
      // first.
      o.kind = OperandKind::unresolved;
      o.index = found.symbol->name;
      o.value = static_cast<int64_t>(uint64_t{place.line} << 32 | place.column);
  }
  return push(o);
}

// A name, and what may follow it: + offset, [index], | and a second register.
bool Reader::read_word_operand() {
  if (t_.text == "WARP_SZ") return read_constant_operand();
  const std::string_view word = t_.text;
  const Place place = t_.place;
  advance();
  if (word == "_") {
    if (!push({})) return false;
  } else if (!push_name(word, place)) {
    return false;
  }
  Operand& o = scratch_.back();
  const bool is_variable =
      o.kind == OperandKind::module_variable || o.kind == OperandKind::function_variable;
  if (is_variable && t_.is('[')) {
    const Operand base = o;
    scratch_.pop_back();
    return read_element(base);
  }
  if ((is_variable || o.kind == OperandKind::reg) && (t_.is('+') || t_.is('-'))) {
    int64_t offset = 0;
    if (!read_offset(offset)) return false;
    scratch_.back().value = offset;
  }
  return true;
}

// base[3], base[%r1], base[%r1 + 3]
bool Reader::read_element(Operand o) {
  advance();
  o.base = o.kind;
  o.kind = OperandKind::element;
  const size_t begin = scratch_.size();
  if (t_.kind == Token::Kind::word && t_.text != "WARP_SZ") {
    const std::string_view word = t_.text;
    const Place place = t_.place;
    advance();
    if (!push_name(word, place) || !read_offset(o.value)) return false;
  } else if (!read_integer(o.value, "an index")) {
    return false;
  }
  if (!expect(']', "after the index")) return false;
  fold(o, begin);
  return true;
}

// [a], [%r1 + 4], [tensor, {%r1, %r2}]
bool Reader::read_bracket() {
  if (!enter("nested operands")) return false;
  advance();
  Operand o{.kind = OperandKind::address};
  const size_t begin = scratch_.size();
  if (t_.kind == Token::Kind::word && t_.text != "WARP_SZ") {
    const std::string_view word = t_.text;
    const Place place = t_.place;
    advance();
    if (word == "_") {
      o.base = OperandKind::sink;
    } else {
      if (!push_name(word, place)) return false;
      const Operand base = scratch_.back();
      scratch_.pop_back();
      if (base.kind == OperandKind::unresolved) {
        name_finding(place, word, "a declared name in an address", "none of that name");
        symbols_.declare({.kind = Symbol::Kind::unknown, .name = base.index, .place = place});
      } else if (base.kind == OperandKind::function) {
        name_finding(place, word, "a register or a variable in an address", "a function");
      }
      o.base = base.kind;
      o.index = base.index;
      o.selector = base.selector;
    }
    if (!read_offset(o.value)) return false;
  } else if (!read_integer(o.value, "an address")) {
    return false;
  }
  while (take(',')) {
    if (!read_operand()) return false;
  }
  if (!expect(']', "after an address")) return false;
  fold(o, begin);
  leave();
  return true;
}

// {a, b, _}
bool Reader::read_group() {
  if (!enter("nested operands")) return false;
  advance();
  const size_t begin = scratch_.size();
  if (!t_.is('}')) {
    do {
      if (!read_operand()) return false;
    } while (take(','));
  }
  if (!expect('}', "after a vector")) return false;
  fold({.kind = OperandKind::vector}, begin);
  leave();
  return true;
}

// (a, b) of a call, or a constant expression that begins with a parenthesis.
bool Reader::read_list_or_constant() {
  if (!enter("nested operands")) return false;
  advance();
  const size_t begin = scratch_.size();
  Constant c;
  if (t_.kind == Token::Kind::dotted) {
    if (!read_cast(c) || !read_binary(c, 1)) return false;
    leave();
    return push_constant(c);
  }
  if (!t_.is(')')) {
    do {
      if (!read_operand()) return false;
    } while (take(','));
  }
  if (!expect(')', "after a list")) return false;
  leave();
  const bool is_constant = scratch_.size() == begin + 1 && binary_operator() != 0 &&
                           scratch_.back().kind == OperandKind::integer;
  if (!is_constant) {
    fold({.kind = OperandKind::list}, begin);
    return true;
  }
  c = {Constant::Kind::integer, scratch_.back().is_unsigned,
       static_cast<uint64_t>(scratch_.back().value)};
  scratch_.pop_back();
  return read_binary(c, 1) && push_constant(c);
}

// !%p and -%r, or a constant with a sign.
bool Reader::read_signed() {
  const char sign = t_.text[0];
  const Place place = t_.place;
  advance();
  if (t_.kind != Token::Kind::word || t_.text == "WARP_SZ") {
    Constant c;
    if (!enter("nested expressions") || !read_unary(c) || !apply_sign(sign, c, place)) return false;
    leave();
    return read_binary(c, 1) && push_constant(c);
  }
  const std::string_view word = t_.text;
  const Place at = t_.place;
  advance();
  if (!push_name(word, at)) return false;
  Operand& o = scratch_.back();
  if (o.kind == OperandKind::unresolved) {
    name_finding(at, word, "a declared register", "none of that name");
    symbols_.declare({.kind = Symbol::Kind::unknown, .name = o.index, .place = at});
    o = {};
  } else if (o.kind != OperandKind::reg && o.kind != OperandKind::sink) {
    syntax(at, "a register after the sign", "something else");
    return false;
  }
  (sign == '!' ? o.is_negated : o.is_minus) = true;
  return true;
}

bool Reader::push_constant(const Constant& c) {
  Operand o{.kind = OperandKind::integer,
            .is_unsigned = c.is_unsigned,
            .value = static_cast<int64_t>(c.bits)};
  if (c.kind == Constant::Kind::f32) o.kind = OperandKind::f32;
  if (c.kind == Constant::Kind::f64) o.kind = OperandKind::f64;
  return push(o);
}

bool Reader::read_constant_operand() {
  Constant c;
  return read_constant(c) && push_constant(c);
}

bool Reader::read_operand() {
  const size_t begin = scratch_.size();
  bool good = false;
  if (t_.kind == Token::Kind::word) {
    good = read_word_operand();
  } else if (t_.is('[')) {
    good = read_bracket();
  } else if (t_.is('{')) {
    good = read_group();
  } else if (t_.is('(')) {
    good = read_list_or_constant();
  } else if (t_.is('!') || t_.is('-')) {
    good = read_signed();
  } else {
    good = read_constant_operand();
  }
  if (!good || !t_.is('|')) return good;
  advance();
  if (t_.kind != Token::Kind::word && !t_.is('!')) {
    wanted("a register after '|'");
    return false;
  }
  if (!enter("nested operands") || !read_operand()) return false;
  leave();
  fold({.kind = OperandKind::pair}, begin);
  return true;
}

}  // namespace cohort::ptx
