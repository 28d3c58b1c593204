// Initialisers: the bytes of a variable, and the places where an address goes.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checked.h"
#include "ptx/reader.h"
#include "ptx/type.h"

namespace cohort::ptx {

namespace {

double value_of(const Constant& c) {
  if (c.kind == Constant::Kind::f64) return std::bit_cast<double>(c.bits);
  if (c.kind == Constant::Kind::f32) return std::bit_cast<float>(static_cast<uint32_t>(c.bits));
  return c.is_unsigned ? static_cast<double>(c.bits)
                       : static_cast<double>(static_cast<int64_t>(c.bits));
}

// The bits of a constant as a value of the type; false where PTX has no such conversion.
bool convert(const Constant& c, Type type, uint64_t& bits) {
  const bool is_integer = c.kind == Constant::Kind::integer;
  if (type == Type::f32) {
    // A NaN keeps its payload.
    const bool same = c.kind == Constant::Kind::f32;
    bits = same ? c.bits : std::bit_cast<uint32_t>(static_cast<float>(value_of(c)));
    return true;
  }
  if (type == Type::f64) {
    const bool same = c.kind == Constant::Kind::f64;
    bits = same ? c.bits : std::bit_cast<uint64_t>(value_of(c));
    return true;
  }
  bits = c.bits;
  const bool is_image = (type == Type::b32 && c.kind == Constant::Kind::f32) ||
                        (type == Type::b64 && c.kind == Constant::Kind::f64);
  return is_integer || is_image;
}

bool is_addressable(Type type) {
  return type == Type::u8 || type == Type::b8 || type == Type::u32 || type == Type::b32 ||
         type == Type::u64 || type == Type::b64 || type == Type::s32 || type == Type::s64;
}

}  // namespace

bool Reader::grow_image(Variable& v, int64_t bytes) {
  const auto now = static_cast<int64_t>(v.image.size());
  if (bytes <= now) return true;
  const auto total = base::checked_add(image_bytes_, bytes - now);
  if (!total || *total > options_.limits.image_bytes) {
    limit(t_.place, "bytes of initialisers", options_.limits.image_bytes);
    return false;
  }
  image_bytes_ = *total;
  v.image.resize(static_cast<size_t>(bytes));
  return true;
}

bool Reader::store(Variable& v, int64_t position, const Constant& c, Place place) {
  uint64_t bits = 0;
  if (!convert(c, v.type, bits) || v.type >= Type::pred) {
    syntax(place, "a value of the variable's type", "another");
    return false;
  }
  const int64_t size = bytes_of(v.type);
  if (!grow_image(v, (position + 1) * size)) return false;
  // A 128-bit value is given as one of 64 bits.
  std::memcpy(v.image.data() + position * size, &bits,
              static_cast<size_t>(std::min<int64_t>(size, 8)));
  if (size == 16 && static_cast<int64_t>(bits) < 0 && !c.is_unsigned) {
    std::memset(v.image.data() + position * size + 8, 0xff, 8);
  }
  return true;
}

// name, name + 4, generic(name) + 4; after a mask in parentheses.
bool Reader::read_relocation(Variable& v, int64_t position, uint64_t mask) {
  const bool in_mask = mask != 0;
  Relocation r{.mask = mask};
  r.is_generic = take_word("generic");
  if (r.is_generic && !expect('(', "after generic")) return false;
  const Place place = t_.place;
  const Text name = take_name("the name of a variable or a function");
  if (name == 0) return false;
  const Symbol* s = symbols_.find(name);
  const bool is_function = s != nullptr && s->kind == Symbol::Kind::function;
  if (s == nullptr || (!is_function && s->kind != Symbol::Kind::module_variable)) {
    name_finding(place, m_.texts[name], "a variable or function declared before",
                 "none of that name");
    return false;
  }
  if (r.is_generic && !expect(')', "after generic")) return false;
  if (!read_offset(r.addend)) return false;
  if (in_mask && !expect(')', "after a mask")) return false;
  if (!is_addressable(v.type)) {
    syntax(place, "a variable whose type can hold an address", "another");
    return false;
  }
  r.bytes = bytes_of(v.type);
  r.offset = position * r.bytes;
  r.symbol = s->index;
  r.is_function = is_function;
  if (!grow_image(v, r.offset + r.bytes)) return false;
  v.relocations.push_back(r);
  return true;
}

bool Reader::read_image_value(Variable& v, int64_t position) {
  if (t_.kind == Token::Kind::word && t_.text != "WARP_SZ") {
    return read_relocation(v, position, 0);
  }
  const Place place = t_.place;
  Constant c;
  if (!read_constant(c)) return false;
  if (t_.is('(') && c.kind == Constant::Kind::integer && c.bits != 0) {
    advance();
    return read_relocation(v, position, c.bits);
  }
  return store(v, position, c, place);
}

// One pair of braces; `first` counts the values that lie before it.
bool Reader::read_image_level(Variable& v, const std::vector<int64_t>& extents, size_t level,
                              int64_t first) {
  if (!expect('{', "before values")) return false;
  int64_t block = 1;
  for (size_t i = level + 1; i < extents.size(); ++i) block *= std::max<int64_t>(extents[i], 1);
  const bool counts = level == 0 && v.is_unsized;
  int64_t n = 0;
  while (!t_.is('}')) {
    if (!counts && n >= extents[level]) {
      wanted("'}' after the last of " + std::to_string(extents[level]) + " values");
      return false;
    }
    const auto offset = base::checked_mul(n, block);
    const auto position = offset ? base::checked_add(first, *offset) : offset;
    if (!position || *position > options_.limits.image_bytes) {
      limit(t_.place, "bytes of initialisers", options_.limits.image_bytes);
      return false;
    }
    const bool good = level + 1 == extents.size()
                          ? read_image_value(v, *position)
                          : read_image_level(v, extents, level + 1, *position);
    if (!good) return false;
    ++n;
    if (!take(',')) break;
  }
  if (!expect('}', "after values")) return false;
  if (counts) v.extents[0] = n;
  return true;
}

bool Reader::read_image(Variable& v) {
  if (v.space != Space::global && v.space != Space::constant) {
    wanted("an initialiser in .global or .const only");
    return false;
  }
  v.has_image = true;
  std::vector<int64_t> extents = v.extents;
  if (v.vector > 1) extents.push_back(v.vector);
  if (extents.empty()) return read_image_value(v, 0);
  if (!read_image_level(v, extents, 0, 0)) return false;
  v.is_unsized = false;
  return finish_extents(v);
}

}  // namespace cohort::ptx
