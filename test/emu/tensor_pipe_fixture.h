// Kernels of one tcgen05 pipe, made from what they multiply: operands in shared memory, and the
// numbers that must come out.
#pragma once

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "emu/tensor_fixture.h"

namespace cohort::emu::test {

inline constexpr uint32_t kImageBytes = 65536;
inline constexpr uint32_t kParameters = 16;  // Words behind the image.

// What shared memory holds when the pipe begins, and words for the kernel.
struct Image {
  std::vector<uint32_t> words = std::vector<uint32_t>(kImageBytes / 4 + kParameters);
  void set_bits(uint32_t byte, uint32_t bit, uint32_t bits, uint32_t code) {
    for (uint32_t i = 0; i < bits; ++i) {
      const uint32_t at = byte * 8 + bit + i;
      words[at / 32] |= (code >> i & 1) << (at % 32);
    }
  }
  void parameter(uint32_t i, uint64_t value) {
    words[kImageBytes / 4 + i] = static_cast<uint32_t>(value);
    words[kImageBytes / 4 + i + 1] = static_cast<uint32_t>(value >> 32);
  }
};

// Places of an operand: a row of A or column of B, and a byte of it (K-major) or k (MN-major).
enum class Lie { plain, swizzled, transposed };
inline constexpr uint32_t kRows = 128;

inline uint32_t place(Lie lie, uint32_t base, uint32_t line, uint32_t k,
                      uint32_t bytes_per_element) {
  if (lie == Lie::plain) {
    const uint32_t kb = k * bytes_per_element;
    return base + line % 8 * 16 + line / 8 * 128 + kb / 16 * (kRows * 16) + kb % 16;
  }
  uint32_t at = 0;
  if (lie == Lie::swizzled) {
    at = base + line * 128 + k * bytes_per_element;
  } else {
    // Atoms of 128 bytes of lines by 8 k; the next atom of lines 4096 bytes on, the next k 1024.
    const uint32_t byte = line * bytes_per_element;
    at = base + byte % 128 + byte / 128 * 4096 + k % 8 * 128 + k / 8 * 1024;
  }
  return at ^ (at >> 7 & 7) << 4;
}
inline uint64_t descriptor(Lie lie, uint32_t base) {
  const uint64_t leading = lie == Lie::plain ? kRows * 16 : lie == Lie::transposed ? 4096 : 16;
  const uint64_t stride = lie == Lie::plain ? 128 : 1024;
  const uint64_t swizzle = lie == Lie::plain ? 0 : 2;
  return base >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | uint64_t{1} << 46 | swizzle << 61;
}

inline uint32_t f32_code(int v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); }
// A float of few bits; exact for the small integers used here.
inline uint32_t float_code(int v, int exponent_bits, int fraction_bits) {
  if (v == 0) return 0;
  const uint32_t bias = (1u << (exponent_bits - 1)) - 1;
  const auto m = static_cast<uint32_t>(std::abs(v));
  const auto e = static_cast<uint32_t>(std::bit_width(m)) - 1;
  const uint32_t fraction =
      e <= static_cast<uint32_t>(fraction_bits)
          ? (m << (static_cast<uint32_t>(fraction_bits) - e)) & ((1u << fraction_bits) - 1)
          : 0;
  return (v < 0 ? 1u << (exponent_bits + fraction_bits) : 0) | (e + bias) << fraction_bits |
         fraction;
}

struct Case {
  std::string kind;
  uint32_t a_type = 0;
  uint32_t b_type = 0;
  uint32_t d_type = 1;
  uint32_t m = 128;
  uint32_t n = 16;
  uint32_t k = 16;
  uint32_t pitch = 16;  // Bits from element to element.
  uint32_t (*code)(int) = nullptr;
  Lie lie_a = Lie::plain;
  Lie lie_b = Lie::plain;
  uint32_t bits = 0;         // More bits of the instruction descriptor.
  bool accumulates = false;  // Twice, the second time onto the first result.
  std::string after;         // Operands behind enable-input-d, or
  std::string disabled;      // before it.
};

inline int a_value(uint32_t m, uint32_t k) { return static_cast<int>((m * 7 + k * 3) % 4) - 1; }
inline int b_value(uint32_t k, uint32_t n) {
  return static_cast<int>((k * 5 + n * 2 + k * n) % 4) - 1;
}
inline int product(const Case& c, uint32_t m, uint32_t n) {
  int sum = 0;
  for (uint32_t k = 0; k < c.k; ++k) sum += a_value(m, k) * b_value(k, n);
  return sum;
}

inline constexpr uint32_t kBaseB = 32768;
inline constexpr uint32_t kScaleA = 60 * 1024;
inline constexpr uint32_t kScaleB = 61 * 1024;

inline void lay(Image& image, const Case& c, Lie lie, uint32_t base, uint32_t lines, bool is_a) {
  for (uint32_t line = 0; line < lines; ++line) {
    for (uint32_t k = 0; k < c.k; ++k) {
      const uint32_t code = c.code(is_a ? a_value(line, k) : b_value(k, line));
      if (c.pitch >= 8) {
        image.set_bits(place(lie, base, line, k, c.pitch / 8), 0, c.pitch, code);
      } else {
        image.set_bits(place(lie, base, line, k / 2, 1), k % 2 * 4, 4, code);
      }
    }
  }
}

inline Image image_of(const Case& c) {
  Image image;
  lay(image, c, c.lie_a, 0, c.m, true);
  lay(image, c, c.lie_b, kBaseB, c.n, false);
  image.parameter(0, descriptor(c.lie_a, 0));
  image.parameter(2, descriptor(c.lie_b, kBaseB));
  image.parameter(
      4, c.bits | c.d_type << 4 | c.a_type << 7 | c.b_type << 10 | c.n / 8 << 17 | c.m / 16 << 24);
  return image;
}

// Copies the image, makes mbarriers of counts 1, 1, 128, and lets the async proxy see it all.
// %d0 and %d1 are descriptors of A and B, %r151 the instruction descriptor; %u0 false, %u1 true.
const std::string kSetup =
    "mov.u32 %r150, 0;\nCOPY:\nmad.lo.u32 %r152, %r150, 2048, 0;\nmad.lo.u32 %r152, %i, 16, "
    "%r152;\n"
    "cvt.u64.u32 %d2, %r152;\nadd.u64 %d2, %d2, %in;\n"
    "setp.lt.u32 %p, %i, 128;\n@%p ld.global.v4.u32 {%r153, %r154, %r155, %r156}, [%d2];\nadd.u32 "
    "%r157, %s, %r152;\n"

    "@%p st.shared.v4.u32 [%r157], {%r153, %r154, %r155, %r156};\n"
    "add.u32 %r150, %r150, 1;\nsetp.lt.u32 %p, %r150, 32;\n@%p bra COPY;\n"
    "ld.global.u64 %d0, [%in+65536];\nld.global.u64 %d1, [%in+65544];\n"
    "ld.global.u32 %r151, [%in+65552];\nshr.u32 %r150, %s, 4;\ncvt.u64.u32 %d3, %r150;\n"
    "add.u64 %d0, %d0, %d3;\nadd.u64 %d1, %d1, %d3;\n"
    "setp.ne.u32 %u0, %i, %i;\nsetp.eq.u32 %u1, %i, %i;\n@!%lead bra INIT;\n"
    "mbarrier.init.shared::cta.b64 [%bar], 1;\nmbarrier.init.shared::cta.b64 [%bar+8], 1;\n"
    "mbarrier.init.shared::cta.b64 [%bar+16], 128;\nfence.mbarrier_init.release.cluster;\nINIT:\n"
    "fence.proxy.async.shared::cta;\nbar.sync 0;\ntcgen05.fence::after_thread_sync;\n";

inline std::string commit(const std::string& bar) {
  return "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [" + bar + "];\n";
}
inline std::string wait_for(const std::string& bar, const std::string& label,
                            const std::string& parity = "0") {
  return label + ":\nmbarrier.try_wait.parity.shared::cta.b64 %p, [" + bar + "], " + parity +
         ";\n@!%p bra " + label + ";\n";
}
const std::string kAfter = "tcgen05.fence::after_thread_sync;\n";

inline std::string mma(const std::string& kind, const std::string& operands) {
  return "tcgen05.mma.cta_group::1." + kind + " " + operands + ";\n";
}
// 32 columns of the quarter from a column on, to words of the output.
inline std::string drain(uint32_t column, uint32_t count, uint32_t word) {
  std::string code = "tcgen05.ld.sync.aligned.32x32b.x" + std::to_string(count) + ".b32 " +
                     registers(0, count) + ", [%q+" + std::to_string(column) +
                     "];\ntcgen05.wait::ld.sync.aligned;\n";
  for (uint32_t i = 0; i < count; ++i) {
    code += "st.global.u32 [%to+" + std::to_string(4 * (word + i)) + "], %r" + std::to_string(i) +
            ";\n";
  }
  return code;
}

inline std::string kernel_of_case(const Case& c, const std::string& a = "%d0") {
  const std::string first = "[%t], " + a + ", %d1, %r151, ";
  std::string code = kSetup + "@!%lead bra DONE;\n";
  code += mma(c.kind, first + c.disabled + "%u0");
  if (c.accumulates) code += mma(c.kind, first + c.disabled + "%u1" + c.after);
  code += commit("%bar") + "DONE:\n" + wait_for("%bar", "WAIT") + kAfter + drain(0, c.n, 0);
  return tensor_kernel(code);
}

inline uint32_t lane_of_row(uint32_t m, uint32_t row) {
  return m == 64 ? row % 16 + 32 * (row / 16) : row;
}

inline void check(const Case& c, const std::function<uint32_t(int)>& result, int times = 1) {
  SCOPED_TRACE(c.kind + " " + std::to_string(c.a_type));
  const auto r = run_tensor(kernel_of_case(c), image_of(c).words);
  ASSERT_TRUE(r.completed) << r.text();
  // With 64 rows, half of the lanes that are read hold nothing.
  EXPECT_TRUE(c.m == 64 || r.faults.empty()) << r.text();
  for (uint32_t m = 0; m < c.m; ++m) {
    for (uint32_t n = 0; n < c.n; ++n) {
      ASSERT_EQ(r.out[lane_of_row(c.m, m) * 128 + n], result(times * product(c, m, n)))
          << m << " " << n;
    }
  }
}

inline uint32_t f16(int v) { return float_code(v, 5, 10); }
inline uint32_t bf16(int v) { return float_code(v, 8, 7); }
inline uint32_t e4m3(int v) { return float_code(v, 4, 3); }
inline uint32_t e5m2(int v) { return float_code(v, 5, 2); }
inline uint32_t e2m1(int v) { return float_code(v, 2, 1); }
inline uint32_t byte(int v) { return static_cast<uint8_t>(v); }
inline uint32_t s32(int v) { return static_cast<uint32_t>(v); }

inline std::string without(std::string text, const std::string& part) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.erase(at, part.size());
}
inline std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

inline Case f16_case() { return {.kind = "kind::f16", .code = f16}; }
inline Case bf16_case() {
  return {.kind = "kind::f16",
          .a_type = 1,
          .b_type = 1,
          .code = bf16,
          .lie_a = Lie::swizzled,
          .lie_b = Lie::swizzled};
}

// Scales of 128 rows by 4 blocks, as tcgen05.cp wants them.
inline void lay_scales(Image& image, uint32_t base,
                       const std::function<uint32_t(uint32_t, uint32_t)>& f) {
  for (uint32_t m = 0; m < 128; ++m) {
    for (uint32_t j = 0; j < 4; ++j) {
      image.set_bits(base + m % 32 * 16 + m / 32 * 4 + j, 0, 8, f(m, j));
    }
  }
}
inline uint64_t scale_descriptor(uint32_t base) {
  return base >> 4 | uint64_t{1} << 16 | uint64_t{128 >> 4} << 32 | uint64_t{1} << 46;
}
inline const std::string kCopyScales =
    "ld.global.u64 %d4, [%in+65560];\nld.global.u64 %d5, [%in+65568];\nadd.u64 %d4, %d4, %d3;\n"
    "add.u64 %d5, %d5, %d3;\nadd.u32 %r158, %t, 64;\nadd.u32 %r159, %t, 68;\n"
    "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r158], %d4;\n"
    "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r159], %d5;\n";

inline std::string scaled_kernel(const std::string& kind, const std::string& between = "") {
  return tensor_kernel(kSetup + "@!%lead bra DONE;\n" + kCopyScales +
                       mma(kind, "[%t], %d0, %d1, %r151, [%r158], [%r159], %u0") + between +
                       commit("%bar") + "DONE:\n" + wait_for("%bar", "WAIT") + kAfter +
                       drain(0, 16, 0));
}

inline Image scaled_image(const Case& c, uint32_t bits,
                          const std::function<uint32_t(uint32_t, uint32_t)>& a,
                          const std::function<uint32_t(uint32_t, uint32_t)>& b) {
  Image image = image_of(c);
  lay_scales(image, kScaleA, a);
  lay_scales(image, kScaleB, b);
  image.words[kImageBytes / 4 + 4] =
      bits | c.a_type << 7 | c.b_type << 10 | c.n / 8 << 17 | c.m / 128 << 27;
  image.parameter(6, scale_descriptor(kScaleA));
  image.parameter(8, scale_descriptor(kScaleB));
  return image;
}

}  // namespace cohort::emu::test
