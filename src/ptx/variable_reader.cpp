// Declarations of variables and parameters.
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "ptx/reader.h"
#include "ptx/type.h"

namespace cohort::ptx {

namespace {

constexpr size_t kMostExtents = 16;

bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

}  // namespace

bool Reader::take_alignment(uint32_t& alignment) {
  advance();
  const Place place = t_.place;
  int64_t n = 0;
  if (!read_integer(n, "an alignment")) return false;
  if (!is_power_of_two(n) || n > UINT32_MAX) {
    syntax(place, "an alignment that is a power of two", std::to_string(n));
    return false;
  }
  alignment = static_cast<uint32_t>(n);
  return true;
}

// .ptr .global .align 16: what a parameter points to.
bool Reader::read_pointer(Variable& v) {
  advance();
  v.is_pointer = true;
  Space space = Space::param;
  if (t_.kind == Token::Kind::dotted && find_space(t_.text, space) && space != Space::reg) {
    v.pointer_space = space;
    advance();
  } else if (t_.is_dotted(".texref") || t_.is_dotted(".samplerref") || t_.is_dotted(".surfref")) {
    advance();
  }
  return !t_.is_dotted(".align") || take_alignment(v.pointer_alignment);
}

bool Reader::read_variable_modifier(Variable& v) {
  if (t_.is_dotted(".align")) return take_alignment(v.alignment);
  if (t_.is_dotted(".attribute")) {
    v.attribute = take_attribute();
    return v.attribute != 0;
  }
  if (t_.is_dotted(".ptr")) return read_pointer(v);
  if (t_.is_dotted(".v2") || t_.is_dotted(".v4") || t_.is_dotted(".v8")) {
    v.vector = static_cast<uint8_t>(t_.text[2] - '0');
    advance();
    return true;
  }
  return false;
}

// .align 4 .v2 .b32, in any order, before a name.
bool Reader::read_variable_head(Variable& v) {
  bool has_type = false;
  v.alignment = 0;
  while (t_.kind == Token::Kind::dotted) {
    const int64_t before = findings_.total();
    if (read_variable_modifier(v)) continue;
    if (findings_.total() != before || stopped_) return false;
    if (has_type || !find_type(t_.text, v.type)) {
      wanted(has_type ? "a name after the type" : "a type of a declaration");
      return false;
    }
    has_type = true;
    advance();
  }
  if (!has_type) {
    wanted("a type of a declaration");
    return false;
  }
  if (v.space == Space::reg && (v.alignment != 0 || v.attribute != 0 || v.is_pointer)) {
    wanted("a type and a name of a register only");
    return false;
  }
  const auto natural = bytes_of(v.type) * v.vector;
  if (v.alignment == 0) v.alignment = natural;
  return true;
}

bool Reader::read_name_and_extents(Variable& v) {
  v.place = t_.place;
  v.name = take_name("the name of a variable");
  if (v.name == 0) return false;
  while (t_.is('[')) {
    advance();
    if (v.extents.size() == kMostExtents) {
      syntax(t_.place, "at most 16 extents", "more");
      return false;
    }
    int64_t n = 0;
    const Place place = t_.place;
    if (t_.is(']')) {
      if (!v.extents.empty()) {
        wanted("an extent; only the first may be left out");
        return false;
      }
      v.is_unsized = true;
    } else if (!read_integer(n, "an extent")) {
      return false;
    } else if (n < 0) {
      syntax(place, "an extent of 0 or more", std::to_string(n));
      return false;
    }
    v.extents.push_back(n);
    if (!expect(']', "after an extent")) return false;
  }
  return finish_extents(v);
}

bool Reader::finish_extents(Variable& v) {
  // The product must fit without the extents that are 0, or offsets within would not.
  int64_t bytes = int64_t{bytes_of(v.type)} * v.vector;
  bool is_empty = false;
  for (const int64_t n : v.extents) {
    is_empty |= n == 0;
    const auto product = base::checked_mul(bytes, std::max<int64_t>(n, 1));
    if (!product) {
      syntax(v.place, "a variable of less than 2^63 bytes", "more");
      return false;
    }
    bytes = *product;
  }
  v.bytes = is_empty ? 0 : bytes;
  return true;
}

bool Reader::add_variable(Variable&& v) {
  const bool is_local = f_ != nullptr;
  std::vector<Variable>& list = is_local ? f_->variables : m_.variables;
  const auto index = static_cast<uint32_t>(list.size());
  const auto kind = is_local ? Symbol::Kind::function_variable : Symbol::Kind::module_variable;
  // A module may say more than once what it expects from outside.
  if (!is_local && v.linkage == Linkage::external) {
    const Symbol* s = symbols_.find(v.name);
    if (s != nullptr && s->kind == kind && list[s->index].linkage == Linkage::external) return true;
  }
  if (!declare(kind, v.name, index, v.place)) return false;
  if (is_local) {
    mark(Mark::Kind::variable, index);
  } else {
    m_.items.push_back({Item::Kind::variable, index});
  }
  list.push_back(std::move(v));
  return true;
}

void Reader::read_variables(Space space, Linkage linkage) {
  Variable head{.space = space, .linkage = linkage};
  if (t_.is('[') && space == Space::constant) {
    // .const[2] names a bank, which is a notion of PTX 2.
    syntax(t_.place, ".const without a bank", "'['");
    return skip_statement();
  }
  if (!read_variable_head(head)) return skip_statement();
  do {
    Variable v = head;
    if (!read_name_and_extents(v)) return skip_statement();
    if (take('=') && !read_image(v)) return skip_statement();
    add_variable(std::move(v));
  } while (take(','));
  end_statement();
}

}  // namespace cohort::ptx
