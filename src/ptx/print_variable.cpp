// Declarations and initialisers.
#include <algorithm>
#include <cstring>

#include "ptx/printer.h"
#include "ptx/type.h"

namespace cohort::ptx {

void Printer::variable_head(const Variable& v) {
  out_ += name_of(v.space);
  if (v.attribute != 0) {
    out_ += " .attribute(";
    text(v.attribute);
    out_ += ")";
  }
  out_ += " .align " + std::to_string(v.alignment);
  if (v.vector > 1) out_ += " .v" + std::to_string(v.vector);
  out_ += " ";
  out_ += name_of(v.type);
  if (v.is_pointer) {
    out_ += " .ptr";
    if (v.pointer_space != Space::param) {
      out_ += " ";
      out_ += name_of(v.pointer_space);
    }
    if (v.pointer_alignment != 0) out_ += " .align " + std::to_string(v.pointer_alignment);
  }
  out_ += " ";
}

void Printer::variable(const Variable& v) {
  variable_head(v);
  text(v.name);
  for (size_t i = 0; i < v.extents.size(); ++i) {
    out_ += "[";
    if (i > 0 || !v.is_unsized) number(v.extents[i]);
    out_ += "]";
  }
  if (!v.has_image) return;
  out_ += " = ";
  image(v);
}

void Printer::registers(const RegisterDeclaration& r) {
  out_ += ".reg ";
  if (r.vector > 1) out_ += ".v" + std::to_string(r.vector) + " ";
  out_ += name_of(r.type);
  out_ += " ";
  text(r.name);
  if (r.is_range) out_ += "<" + std::to_string(r.count) + ">";
}

void Printer::image_value(const Variable& v, int64_t position, size_t& relocation) {
  const int64_t size = bytes_of(v.type);
  const int64_t at = position * size;
  if (relocation < v.relocations.size() && v.relocations[relocation].offset == at) {
    const Relocation& r = v.relocations[relocation++];
    if (r.mask != 0) {
      bits(r.mask, 16, "0x");
      out_ += "(";
    }
    if (r.is_generic) out_ += "generic(";
    text(r.is_function ? m_.functions[r.symbol].name : m_.variables[r.symbol].name);
    if (r.is_generic) out_ += ")";
    offset(r.addend);
    if (r.mask != 0) out_ += ")";
    return;
  }
  uint64_t value = 0;
  const int64_t end =
      std::min(at + std::min<int64_t>(size, 8), static_cast<int64_t>(v.image.size()));
  if (at < end) std::memcpy(&value, v.image.data() + at, static_cast<size_t>(end - at));
  if (v.type == Type::f32) {
    bits(value, 8, "0f");
  } else if (v.type == Type::f64) {
    bits(value, 16, "0d");
  } else {
    // 128 bits are given as 64 that are extended: by the sign, or by U with zeros.
    const bool is_signed = size == 16 && v.image[static_cast<size_t>(at + 15)] == 0xff;
    if (is_signed) {
      number(static_cast<int64_t>(value));
    } else {
      out_ += std::to_string(value);
      if (size == 16) out_ += "U";
    }
  }
}

// Values that lie behind the image are left out.
void Printer::image_level(const Variable& v, const std::vector<int64_t>& extents, size_t level,
                          int64_t first, size_t& relocation) {
  int64_t block = 1;
  for (size_t i = level + 1; i < extents.size(); ++i) block *= std::max<int64_t>(extents[i], 1);
  const auto values = static_cast<int64_t>(v.image.size()) / bytes_of(v.type);
  out_ += "{";
  for (int64_t n = 0; n < extents[level] && first + n * block < values; ++n) {
    if (n > 0) out_ += ", ";
    if (level + 1 == extents.size()) {
      image_value(v, first + n, relocation);
    } else {
      image_level(v, extents, level + 1, first + n * block, relocation);
    }
  }
  out_ += "}";
}

void Printer::image(const Variable& v) {
  std::vector<int64_t> extents = v.extents;
  if (v.vector > 1) extents.push_back(v.vector);
  size_t relocation = 0;
  if (extents.empty()) return image_value(v, 0, relocation);
  image_level(v, extents, 0, 0, relocation);
}

}  // namespace cohort::ptx
