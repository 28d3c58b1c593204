// Matrix descriptors: how an operand of wgmma or tcgen05 lies in shared memory. PTX ISA 9.1, matrix
// descriptor and canonical layouts; the layouts as formulas are those of CUTLASS's make_umma_desc.
#pragma once

#include <cstdint>

#include "emu/mma/field_fault.h"

namespace cohort::emu {

/// How the 16-byte chunks (of the last one 32-byte chunks) of 128 bytes are mixed.
enum class Swizzle : uint8_t { none, bytes32, bytes64, bytes128, bytes128_atom32 };

/// Which index of an operand runs through neighbouring bytes: k, or the row of A or column of B.
enum class Major : uint8_t { k, mn };

/// A descriptor with all sizes in bytes.
struct SharedDescriptor {
  uint32_t start = 0;    ///< In the window of the CTA; 16-byte units below 2^18.
  uint32_t leading = 0;  ///< Leading-dimension offset (LBO), or an address.
  uint32_t stride = 0;   ///< Stride-dimension offset (SBO).
  Swizzle swizzle = Swizzle::none;
  uint8_t base_offset = 0;  ///< Bits 7 to 9 of the address where the swizzle pattern begins.
  bool leading_is_address = false;
};

/// Of tcgen05.mma and tcgen05.cp.
[[nodiscard]] Decoded<SharedDescriptor> decode_tcgen05_descriptor(uint64_t bits);
/// Of wgmma: no version, no absolute address, and other codes for swizzles.
[[nodiscard]] Decoded<SharedDescriptor> decode_wgmma_descriptor(uint64_t bits);

/// Bytes of one line of the swizzle pattern: 16 without one.
[[nodiscard]] uint32_t line_bytes(Swizzle swizzle);
/// Where the swizzle moves a byte of an address. A pattern that begins at no multiple of its size
/// is found by the base offset.
[[nodiscard]] uint64_t swizzled(uint64_t address, Swizzle swizzle, uint8_t base_offset = 0);

/// The address of a byte of an operand, before any wrap at the end of the window.
/// K-major: `mn` is a row, `k` a byte of it. MN-major: `mn` is a byte of a k-row, `k` that row.
[[nodiscard]] uint64_t operand_address(const SharedDescriptor& descriptor, Major major, uint64_t mn,
                                       uint64_t k);

}  // namespace cohort::emu
