#include "emu/mma/shared_descriptor.h"

namespace cohort::emu {

namespace {

constexpr int kUnit = 4;  // Addresses and offsets are stored in 16 bytes.

uint32_t bytes_at(uint64_t bits, int first) {
  return static_cast<uint32_t>(bits_between(bits, first, first + 13)) << kUnit;
}

void want_zero(Decoded<SharedDescriptor>& d, uint64_t bits, int first, int last,
               const char* field) {
  const uint64_t got = bits_between(bits, first, last);
  d.want(got == 0, field, "0", got);
}

void decode_common(Decoded<SharedDescriptor>& d, uint64_t bits) {
  d.value.start = bytes_at(bits, 0);
  d.value.leading = bytes_at(bits, 16);
  d.value.stride = bytes_at(bits, 32);
  d.value.base_offset = static_cast<uint8_t>(bits_between(bits, 49, 51));
  want_zero(d, bits, 14, 15, "bits 14-15");
  want_zero(d, bits, 30, 31, "bits 30-31");
}

}  // namespace

Decoded<SharedDescriptor> decode_tcgen05_descriptor(uint64_t bits) {
  Decoded<SharedDescriptor> d;
  decode_common(d, bits);
  const uint64_t version = bits_between(bits, 46, 48);
  d.want(version == 1, "version (bits 46-48)", "1", version);
  d.value.leading_is_address = bits_between(bits, 52, 52) != 0;
  want_zero(d, bits, 53, 60, "bits 53-60");
  const uint64_t swizzle = bits_between(bits, 61, 63);
  switch (swizzle) {
    case 0:
      break;
    case 1:
      d.value.swizzle = Swizzle::bytes128_atom32;
      break;
    case 2:
      d.value.swizzle = Swizzle::bytes128;
      break;
    case 4:
      d.value.swizzle = Swizzle::bytes64;
      break;
    case 6:
      d.value.swizzle = Swizzle::bytes32;
      break;
    default:
      d.want(false, "swizzle (bits 61-63)", "0, 1, 2, 4 or 6", swizzle);
  }
  if (d.value.leading_is_address) {
    d.want(d.value.swizzle == Swizzle::bytes128, "swizzle (bits 61-63)",
           "2 (128 bytes), as LBO is an address", swizzle);
    d.want(d.value.base_offset == 0, "base offset (bits 49-51)", "0, as LBO is an address",
           d.value.base_offset);
  }
  return d;
}

Decoded<SharedDescriptor> decode_wgmma_descriptor(uint64_t bits) {
  constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::bytes128, Swizzle::bytes64,
                                   Swizzle::bytes32};
  Decoded<SharedDescriptor> d;
  decode_common(d, bits);
  want_zero(d, bits, 46, 48, "bits 46-48");
  want_zero(d, bits, 52, 61, "bits 52-61");
  d.value.swizzle = kSwizzles[bits_between(bits, 62, 63)];
  return d;
}

uint32_t line_bytes(Swizzle swizzle) {
  constexpr uint32_t kLines[] = {16, 32, 64, 128, 128};
  return kLines[static_cast<int>(swizzle)];
}

uint64_t swizzled(uint64_t address, Swizzle swizzle, uint8_t base_offset) {
  // Lines of 128 bytes since the pattern began.
  const uint64_t line = (address >> 7) - base_offset;
  switch (swizzle) {
    case Swizzle::none:
      return address;
    case Swizzle::bytes32:
      return address ^ (line & 1) << 4;
    case Swizzle::bytes64:
      return address ^ (line & 3) << 4;
    case Swizzle::bytes128:
      return address ^ (line & 7) << 4;
    case Swizzle::bytes128_atom32:
      return address ^ (line & 3) << 5;
  }
  return address;
}

namespace {

uint64_t k_major(const SharedDescriptor& d, uint64_t row, uint64_t k) {
  const uint64_t line = line_bytes(d.swizzle);
  const uint64_t offset = row % 8 * line + row / 8 * d.stride;
  if (d.swizzle == Swizzle::none) return d.start + offset + k / 16 * d.leading + k % 16;
  // Bytes past the end of a 128-byte line lie in another atom, whose address is given.
  const uint64_t in_line = d.start % line + k;
  if (d.leading_is_address && in_line >= line) return d.leading + offset + in_line - line;
  return d.start + offset + k;
}

uint64_t mn_major(const SharedDescriptor& d, uint64_t mn, uint64_t k) {
  const uint64_t line = line_bytes(d.swizzle);
  const uint64_t rows = d.swizzle == Swizzle::bytes128_atom32 ? 4 : 8;
  // Without a swizzle the two offsets change places.
  const uint64_t next_line = d.swizzle == Swizzle::none ? d.stride : d.leading;
  const uint64_t next_rows = d.swizzle == Swizzle::none ? d.leading : d.stride;
  return d.start + mn % line + mn / line * next_line + k % rows * line + k / rows * next_rows;
}

}  // namespace

uint64_t operand_address(const SharedDescriptor& d, Major major, uint64_t mn, uint64_t k) {
  const uint64_t plain = major == Major::k ? k_major(d, mn, k) : mn_major(d, mn, k);
  return swizzled(plain, d.swizzle, d.base_offset);
}

}  // namespace cohort::emu
