// Constant expressions: integers of 64 bits with C's operators, doubles with four.
#include <bit>

#include "ptx/reader.h"

namespace cohort::ptx {

namespace {

// Operators of two characters, and one for each of one character.
enum Op : int {
  kNoOp,
  kTimes,
  kDivide,
  kRemainder,
  kPlus,
  kMinus,
  kLeft,
  kRight,
  kLess,
  kGreater,
  kLessEqual,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kXor,
  kOr,
  kBothTrue,
  kOneTrue,
  kChoice,
};

// As in C: the larger binds first.
int strength(int op) {
  switch (op) {
    case kTimes:
    case kDivide:
    case kRemainder:
      return 11;
    case kPlus:
    case kMinus:
      return 10;
    case kLeft:
    case kRight:
      return 9;
    case kLess:
    case kGreater:
    case kLessEqual:
    case kGreaterEqual:
      return 8;
    case kEqual:
    case kNotEqual:
      return 7;
    case kAnd:
      return 6;
    case kXor:
      return 5;
    case kOr:
      return 4;
    case kBothTrue:
      return 3;
    case kOneTrue:
      return 2;
    case kChoice:
      return 1;
    default:
      return 0;
  }
}

bool has_two_characters(int op) {
  return op == kLeft || op == kRight || op == kLessEqual || op == kGreaterEqual || op == kEqual ||
         op == kNotEqual || op == kBothTrue || op == kOneTrue;
}

uint64_t shifted(uint64_t value, uint64_t by, bool left, bool is_unsigned) {
  if (by > 63) return left || is_unsigned || static_cast<int64_t>(value) >= 0 ? 0 : UINT64_MAX;
  if (left) return value << by;
  return is_unsigned ? value >> by : static_cast<uint64_t>(static_cast<int64_t>(value) >> by);
}

bool is_less(uint64_t a, uint64_t b, bool is_unsigned) {
  return is_unsigned ? a < b : static_cast<int64_t>(a) < static_cast<int64_t>(b);
}

// b is not 0. The one signed quotient that does not fit wraps around.
uint64_t divided(uint64_t a, uint64_t b, bool remainder, bool is_unsigned) {
  if (is_unsigned) return remainder ? a % b : a / b;
  if (b == UINT64_MAX) return remainder ? 0 : 0 - a;
  const auto x = static_cast<int64_t>(a);
  const auto y = static_cast<int64_t>(b);
  return static_cast<uint64_t>(remainder ? x % y : x / y);
}

uint64_t integer_result(int op, uint64_t a, uint64_t b, bool is_unsigned) {
  switch (op) {
    case kTimes:
      return a * b;
    case kDivide:
    case kRemainder:
      return divided(a, b, op == kRemainder, is_unsigned);
    case kPlus:
      return a + b;
    case kMinus:
      return a - b;
    case kLeft:
    case kRight:
      return shifted(a, b, op == kLeft, is_unsigned);
    case kLess:
      return is_less(a, b, is_unsigned);
    case kGreater:
      return is_less(b, a, is_unsigned);
    case kLessEqual:
      return !is_less(b, a, is_unsigned);
    case kGreaterEqual:
      return !is_less(a, b, is_unsigned);
    case kEqual:
      return a == b;
    case kNotEqual:
      return a != b;
    case kAnd:
      return a & b;
    case kXor:
      return a ^ b;
    case kOr:
      return a | b;
    case kBothTrue:
      return a != 0 && b != 0;
    default:
      return a != 0 || b != 0;
  }
}

double float_result(int op, double a, double b) {
  switch (op) {
    case kTimes:
      return a * b;
    case kDivide:
      return a / b;
    case kPlus:
      return a + b;
    default:
      return a - b;
  }
}

bool is_comparison(int op) {
  return strength(op) == 8 || strength(op) == 7 || op == kBothTrue || op == kOneTrue;
}

}  // namespace

int Reader::binary_operator() const {
  if (t_.kind != Token::Kind::mark) return kNoOp;
  const char next = lexer_.following();
  switch (t_.text[0]) {
    case '*':
      return kTimes;
    case '/':
      return kDivide;
    case '%':
      return kRemainder;
    case '+':
      return kPlus;
    case '-':
      return kMinus;
    case '<':
      return next == '<' ? kLeft : next == '=' ? kLessEqual : kLess;
    case '>':
      return next == '>' ? kRight : next == '=' ? kGreaterEqual : kGreater;
    case '=':
      return next == '=' ? kEqual : kNoOp;
    case '!':
      return next == '=' ? kNotEqual : kNoOp;
    case '&':
      return next == '&' ? kBothTrue : kAnd;
    case '^':
      return kXor;
    case '|':
      return next == '|' ? kOneTrue : kOr;
    case '?':
      return kChoice;
    default:
      return kNoOp;
  }
}

bool Reader::apply(int op, Constant& left, const Constant& right, Place place) {
  if (left.kind == Constant::Kind::f64 && right.kind == Constant::Kind::f64 && op >= kTimes &&
      op <= kMinus && op != kRemainder) {
    left.bits = std::bit_cast<uint64_t>(
        float_result(op, std::bit_cast<double>(left.bits), std::bit_cast<double>(right.bits)));
    return true;
  }
  if (left.kind != Constant::Kind::integer || right.kind != Constant::Kind::integer) {
    syntax(place, "integers on both sides of an operator", "a float");
    return false;
  }
  if ((op == kDivide || op == kRemainder) && right.bits == 0) {
    syntax(place, "a divisor", "0");
    return false;
  }
  const bool is_shift = op == kLeft || op == kRight;
  const bool is_unsigned = left.is_unsigned || (right.is_unsigned && !is_shift);
  left.bits = integer_result(op, left.bits, right.bits, is_unsigned);
  left.is_unsigned = is_unsigned && !is_comparison(op);
  return true;
}

bool Reader::read_binary(Constant& left, int lowest) {
  for (;;) {
    const int op = binary_operator();
    const int s = strength(op);
    if (s == 0 || s < lowest) return true;
    const Place place = t_.place;
    advance();
    if (has_two_characters(op)) advance();
    if (!enter("nested expressions")) return false;
    Constant right;
    if (op == kChoice) {
      Constant otherwise;
      if (!read_constant(right) || !expect(':', "between the values of '?'")) return false;
      if (!read_unary(otherwise) || !read_binary(otherwise, s)) return false;
      if (left.kind != Constant::Kind::integer) {
        syntax(place, "an integer before '?'", "a float");
        return false;
      }
      left = left.bits != 0 ? right : otherwise;
    } else if (!read_unary(right) || !read_binary(right, s + 1) || !apply(op, left, right, place)) {
      return false;
    }
    leave();
  }
}

bool Reader::read_constant(Constant& c) { return read_unary(c) && read_binary(c, 1); }

bool Reader::read_unary(Constant& c) {
  const char sign = t_.kind == Token::Kind::mark ? t_.text[0] : '\0';
  if (sign != '-' && sign != '+' && sign != '!' && sign != '~') return read_primary(c);
  const Place place = t_.place;
  advance();
  if (!enter("nested expressions") || !read_unary(c)) return false;
  leave();
  return apply_sign(sign, c, place);
}

bool Reader::apply_sign(char sign, Constant& c, Place place) {
  if (c.kind == Constant::Kind::integer) {
    if (sign == '-') c.bits = 0 - c.bits;
    // -9223372036854775808 is the smallest integer, though its digits alone are unsigned.
    if (sign == '-' && c.bits == uint64_t{1} << 63) c.is_unsigned = false;
    if (sign == '~') c.bits = ~c.bits;
    if (sign == '!') c = {.bits = c.bits == 0};
    return true;
  }
  if (sign == '-') c.bits ^= c.kind == Constant::Kind::f32 ? uint64_t{1} << 31 : uint64_t{1} << 63;
  if (sign != '!' && sign != '~') return true;
  syntax(place, "an integer after the operator", "a float");
  return false;
}

// (.s64) and (.u64) before a value.
bool Reader::read_cast(Constant& c) {
  const bool is_unsigned = t_.is_dotted(".u64");
  if (!is_unsigned && !t_.is_dotted(".s64")) {
    wanted(".s64 or .u64");
    return false;
  }
  advance();
  const Place place = t_.place;
  if (!expect(')', "after a cast") || !enter("nested expressions") || !read_unary(c)) return false;
  leave();
  if (c.kind != Constant::Kind::integer) {
    syntax(place, "an integer after a cast", "a float");
    return false;
  }
  c.is_unsigned = is_unsigned;
  return true;
}

bool Reader::read_primary(Constant& c) {
  switch (t_.kind) {
    case Token::Kind::integer:
      c = {Constant::Kind::integer, t_.is_unsigned, t_.value};
      break;
    case Token::Kind::f32:
      c = {Constant::Kind::f32, false, t_.value};
      break;
    case Token::Kind::f64:
      c = {Constant::Kind::f64, false, t_.value};
      break;
    default:
      if (t_.is_word("WARP_SZ")) {
        c = {Constant::Kind::integer, false, 32};
        break;
      }
      if (!t_.is('(')) {
        wanted("an operand");
        return false;
      }
      advance();
      if (t_.kind == Token::Kind::dotted) return read_cast(c);
      if (!enter("nested expressions") || !read_constant(c)) return false;
      leave();
      return expect(')', "after an expression");
  }
  advance();
  return true;
}

bool Reader::read_integer(int64_t& value, std::string_view what) {
  const Place place = t_.place;
  Constant c;
  if (!read_constant(c)) return false;
  if (c.kind != Constant::Kind::integer) {
    syntax(place, what, "a float");
    return false;
  }
  value = static_cast<int64_t>(c.bits);
  return true;
}

bool Reader::read_offset(int64_t& value) {
  if (!t_.is('+') && !t_.is('-')) return true;
  const Place place = t_.place;
  Constant c;
  if (!read_binary(c, 1)) return false;
  if (c.kind != Constant::Kind::integer) {
    syntax(place, "an integer as offset", "a float");
    return false;
  }
  value = static_cast<int64_t>(c.bits);
  return true;
}

}  // namespace cohort::ptx
