// tcgen05 by single threads: mma of each kind, cp, commit, and what the checker says about them.
#include <bit>
#include <cmath>

#include "emu/tensor_fixture.h"

namespace cohort::emu::test {
namespace {

constexpr uint32_t kImageBytes = 65536;
constexpr uint32_t kParameters = 16;  // Words behind the image.

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
constexpr uint32_t kRows = 128;

uint32_t place(Lie lie, uint32_t base, uint32_t line, uint32_t k, uint32_t bytes_per_element) {
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
uint64_t descriptor(Lie lie, uint32_t base) {
  const uint64_t leading = lie == Lie::plain ? kRows * 16 : lie == Lie::transposed ? 4096 : 16;
  const uint64_t stride = lie == Lie::plain ? 128 : 1024;
  const uint64_t swizzle = lie == Lie::plain ? 0 : 2;
  return base >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | uint64_t{1} << 46 | swizzle << 61;
}

uint32_t f32_code(int v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); }
// A float of few bits; exact for the small integers used here.
uint32_t float_code(int v, int exponent_bits, int fraction_bits) {
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

int a_value(uint32_t m, uint32_t k) { return static_cast<int>((m * 7 + k * 3) % 4) - 1; }
int b_value(uint32_t k, uint32_t n) { return static_cast<int>((k * 5 + n * 2 + k * n) % 4) - 1; }
int product(const Case& c, uint32_t m, uint32_t n) {
  int sum = 0;
  for (uint32_t k = 0; k < c.k; ++k) sum += a_value(m, k) * b_value(k, n);
  return sum;
}

constexpr uint32_t kBaseB = 32768;
constexpr uint32_t kScaleA = 60 * 1024;
constexpr uint32_t kScaleB = 61 * 1024;

void lay(Image& image, const Case& c, Lie lie, uint32_t base, uint32_t lines, bool is_a) {
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

Image image_of(const Case& c) {
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

std::string commit(const std::string& bar) {
  return "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [" + bar + "];\n";
}
std::string wait_for(const std::string& bar, const std::string& label,
                     const std::string& parity = "0") {
  return label + ":\nmbarrier.try_wait.parity.shared::cta.b64 %p, [" + bar + "], " + parity +
         ";\n@!%p bra " + label + ";\n";
}
const std::string kAfter = "tcgen05.fence::after_thread_sync;\n";

std::string mma(const std::string& kind, const std::string& operands) {
  return "tcgen05.mma.cta_group::1." + kind + " " + operands + ";\n";
}
// 32 columns of the quarter from a column on, to words of the output.
std::string drain(uint32_t column, uint32_t count, uint32_t word) {
  std::string code = "tcgen05.ld.sync.aligned.32x32b.x" + std::to_string(count) + ".b32 " +
                     registers(0, count) + ", [%q+" + std::to_string(column) +
                     "];\ntcgen05.wait::ld.sync.aligned;\n";
  for (uint32_t i = 0; i < count; ++i) {
    code += "st.global.u32 [%to+" + std::to_string(4 * (word + i)) + "], %r" + std::to_string(i) +
            ";\n";
  }
  return code;
}

std::string kernel_of_case(const Case& c, const std::string& a = "%d0") {
  const std::string first = "[%t], " + a + ", %d1, %r151, ";
  std::string code = kSetup + "@!%lead bra DONE;\n";
  code += mma(c.kind, first + c.disabled + "%u0");
  if (c.accumulates) code += mma(c.kind, first + c.disabled + "%u1" + c.after);
  code += commit("%bar") + "DONE:\n" + wait_for("%bar", "WAIT") + kAfter + drain(0, c.n, 0);
  return tensor_kernel(code);
}

uint32_t lane_of_row(uint32_t m, uint32_t row) {
  return m == 64 ? row % 16 + 32 * (row / 16) : row;
}

void check(const Case& c, const std::function<uint32_t(int)>& result, int times = 1) {
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

uint32_t f16(int v) { return float_code(v, 5, 10); }
uint32_t bf16(int v) { return float_code(v, 8, 7); }
uint32_t e4m3(int v) { return float_code(v, 4, 3); }
uint32_t e5m2(int v) { return float_code(v, 5, 2); }
uint32_t e2m1(int v) { return float_code(v, 2, 1); }
uint32_t byte(int v) { return static_cast<uint8_t>(v); }
uint32_t s32(int v) { return static_cast<uint32_t>(v); }

std::string without(std::string text, const std::string& part) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.erase(at, part.size());
}
std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

Case f16_case() { return {.kind = "kind::f16", .code = f16}; }
Case bf16_case() {
  return {.kind = "kind::f16",
          .a_type = 1,
          .b_type = 1,
          .code = bf16,
          .lie_a = Lie::swizzled,
          .lie_b = Lie::swizzled};
}

TEST(TensorMma, MultipliesExactNumbersOfEveryKind) {
  check(f16_case(), f32_code);
  check(bf16_case(), f32_code);
  check({.kind = "kind::tf32", .a_type = 2, .b_type = 2, .k = 8, .pitch = 32, .code = f32_code},
        f32_code);
  check({.kind = "kind::f8f6f4", .k = 32, .pitch = 8, .code = e4m3, .lie_a = Lie::swizzled},
        f32_code);
  check({.kind = "kind::f8f6f4",
         .a_type = 1,
         .b_type = 1,
         .n = 32,
         .k = 32,
         .pitch = 8,
         .code = e5m2},
        f32_code);
  check({.kind = "kind::i8",
         .a_type = 1,
         .b_type = 1,
         .d_type = 2,
         .k = 32,
         .pitch = 8,
         .code = byte},
        s32);
}

TEST(TensorMma, TakesOperandsOfBothMajors) {
  Case c = bf16_case();
  c.lie_a = Lie::transposed;
  c.lie_b = Lie::transposed;
  c.n = 64;
  c.bits = 1u << 15 | 1u << 16;
  check(c, f32_code);
}

TEST(TensorMma, HasHalfAccumulatorsAndSixtyFourRows) {
  Case c = f16_case();
  c.d_type = 0;
  check(c, f16);
  c = f16_case();
  c.m = 64;
  check(c, f32_code);
}

TEST(TensorMma, AddsNegatesAndScales) {
  Case c = f16_case();
  c.accumulates = true;
  check(c, f32_code, 2);
  c.after = ", 1";  // The first result counts half.
  check(c, [](int v) { return std::bit_cast<uint32_t>(1.5f * static_cast<float>(v)); });
  c.accumulates = false;
  c.bits = 1u << 13;
  check(c, f32_code, -1);
  c.bits = 1u << 13 | 1u << 14;
  check(c, f32_code);
}

TEST(TensorMma, LeavesDisabledLanes) {
  Case c = f16_case();
  c.accumulates = true;
  std::string text = kernel_of_case(c);
  // The second product leaves lanes 32 to 63 and lane 0.
  const std::string second = "%r151, %u1";
  text.replace(text.find(second), second.size(), "%r151, {1, 0xffffffff, 0, 0}, %u1");
  const auto r = run_tensor(text, image_of(c).words);
  ASSERT_TRUE(r.faults.empty()) << r.text();
  for (const uint32_t m : {0u, 1u, 31u, 32u, 63u, 64u, 127u}) {
    const bool left = m == 0 || (m >= 32 && m < 64);
    EXPECT_EQ(r.out[m * 128 + 3], f32_code((left ? 1 : 2) * product(c, m, 3))) << m;
  }
}

TEST(TensorMma, TakesAFromTensorMemory) {
  const Case c = f16_case();
  // Eight cells of two elements: thread i is row i, whose chunks are at i * 16 and 2048 + i * 16.
  std::string copy = kSetup;
  copy +=
      "mad.lo.u32 %r150, %i, 16, 0;\nand.b32 %r152, %i, 7;\nadd.u32 %r150, %r150, %s;\n"
      "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%r150];\n"
      "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r150+2048];\n"
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%q+64], " +
      registers(0, 8) +
      ";\ntcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\nbar.sync 0;\n" +
      kAfter;
  std::string text = kernel_of_case(c, "[%r150]");
  text.replace(text.find(kSetup), kSetup.size(), copy + "add.u32 %r150, %t, 64;\n");
  const auto r = run_tensor(text, image_of(c).words);
  ASSERT_TRUE(r.completed) << r.text();
  EXPECT_TRUE(r.faults.empty()) << r.text();
  for (uint32_t m = 0; m < 128; ++m) {
    ASSERT_EQ(r.out[m * 128 + 5], f32_code(product(c, m, 5))) << m;
  }
}

// Scales of 128 rows by 4 blocks, as tcgen05.cp wants them.
void lay_scales(Image& image, uint32_t base, const std::function<uint32_t(uint32_t, uint32_t)>& f) {
  for (uint32_t m = 0; m < 128; ++m) {
    for (uint32_t j = 0; j < 4; ++j) {
      image.set_bits(base + m % 32 * 16 + m / 32 * 4 + j, 0, 8, f(m, j));
    }
  }
}
uint64_t scale_descriptor(uint32_t base) {
  return base >> 4 | uint64_t{1} << 16 | uint64_t{128 >> 4} << 32 | uint64_t{1} << 46;
}
const std::string kCopyScales =
    "ld.global.u64 %d4, [%in+65560];\nld.global.u64 %d5, [%in+65568];\nadd.u64 %d4, %d4, %d3;\n"
    "add.u64 %d5, %d5, %d3;\nadd.u32 %r158, %t, 64;\nadd.u32 %r159, %t, 68;\n"
    "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r158], %d4;\n"
    "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r159], %d5;\n";

std::string scaled_kernel(const std::string& kind, const std::string& between = "") {
  return tensor_kernel(kSetup + "@!%lead bra DONE;\n" + kCopyScales +
                       mma(kind, "[%t], %d0, %d1, %r151, [%r158], [%r159], %u0") + between +
                       commit("%bar") + "DONE:\n" + wait_for("%bar", "WAIT") + kAfter +
                       drain(0, 16, 0));
}

Image scaled_image(const Case& c, uint32_t bits,
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

TEST(TensorMma, MultipliesScaledBytes) {
  const Case c{.kind = "", .k = 32, .pitch = 8, .code = e4m3};
  const auto sa = [](uint32_t m, uint32_t j) { return 126 + (m + j) % 3; };
  const auto sb = [](uint32_t n, uint32_t j) { return 127 + (n * 2 + j) % 4; };
  // Scale ids: 1 of A, 2 of B.
  const Image image = scaled_image(c, 1u << 23 | 1u << 29 | 2u << 4, sa, sb);
  const auto r = run_tensor(scaled_kernel("kind::mxf8f6f4.block_scale.block32"), image.words);
  ASSERT_TRUE(r.completed) << r.text();
  EXPECT_TRUE(r.faults.empty()) << r.text();
  for (uint32_t m = 0; m < 128; ++m) {
    for (uint32_t n = 0; n < 16; ++n) {
      const int exponent = static_cast<int>(sa(m, 1) + sb(n, 2)) - 254;
      const auto want = std::ldexp(static_cast<float>(product(c, m, n)), exponent);
      ASSERT_EQ(r.out[m * 128 + n], std::bit_cast<uint32_t>(want)) << m << " " << n;
    }
  }
}

TEST(TensorMma, MultipliesScaledNibbles) {
  const Case c{.kind = "", .a_type = 1, .b_type = 1, .k = 64, .pitch = 4, .code = e2m1};
  // UE4M3: 1.0 is 0x38, twice that 0x40, 1.5 is 0x3C.
  const auto sa = [](uint32_t m, uint32_t j) { return (m + j) % 2 == 0 ? 0x38u : 0x3Cu; };
  const auto sb = [](uint32_t, uint32_t j) { return j == 3 ? 0x40u : 0x38u; };
  const Image image = scaled_image(c, 0, sa, sb);
  const auto r = run_tensor(scaled_kernel("kind::mxf4nvf4.block_scale.block16"), image.words);
  ASSERT_TRUE(r.completed) << r.text();
  EXPECT_TRUE(r.faults.empty()) << r.text();
  for (const uint32_t m : {0u, 1u, 33u, 127u}) {
    for (uint32_t n = 0; n < 16; ++n) {
      float want = 0;
      for (uint32_t k = 0; k < 64; ++k) {
        const float scale = ((m + k / 16) % 2 == 0 ? 1.0f : 1.5f) * (k / 16 == 3 ? 2.0f : 1.0f);
        want += scale * static_cast<float>(a_value(m, k) * b_value(k, n));
      }
      ASSERT_EQ(r.out[m * 128 + n], std::bit_cast<uint32_t>(want)) << m << " " << n;
    }
  }
}

// Two CTAs multiply 256 rows by 32 columns: each holds half of A's rows and of B's columns. Only
// the first one issues; the commit arrives in both.
TEST(TensorMma, WorksOnPairsOfCtas) {
  Case c = bf16_case();
  c.n = 32;
  c.m = 256;
  std::string text = tensor_kernel(
      kSetup + "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n" + kAfter +
      "mov.u32 %r150, %cluster_ctarank;\nsetp.ne.u32 %p, %r150, 0;\n@%p bra DONE;\n"
      "@!%lead bra DONE;\n" +
      mma(c.kind, "[%t], %d0, %d1, %r151, %u0") +
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
      "[%bar], 3;\nDONE:\n" +
      wait_for("%bar", "WAIT") + kAfter + drain(0, 32, 0) +
      "tcgen05.fence::before_thread_sync;\nbarrier.cluster.arrive.aligned;\n"
      "barrier.cluster.wait.aligned;\n" +
      kAfter);
  for (size_t at = 0; (at = text.find("cta_group::1", at)) != std::string::npos;) {
    text[at + 11] = '2';
  }
  // The two images behind each other; each CTA has its own output.
  text = replaced(text, "ld.param.u64 %out, [out];\n",
                  "ld.param.u64 %out, [out];\nmov.u32 %i, %ctaid.x;\n"
                  "mad.wide.u32 %in, %i, 131072, %in;\nmad.wide.u32 %out, %i, 65536, %out;\n");
  std::vector<uint32_t> words;
  for (uint32_t cta = 0; cta < 2; ++cta) {
    Image image = image_of(c);
    std::fill(image.words.begin(), image.words.begin() + kImageBytes / 4, 0);
    for (uint32_t k = 0; k < c.k; ++k) {
      for (uint32_t m = 0; m < 128; ++m) {
        image.set_bits(place(c.lie_a, 0, m, k, 2), 0, 16, bf16(a_value(128 * cta + m, k)));
      }
      for (uint32_t n = 0; n < 16; ++n) {
        image.set_bits(place(c.lie_b, kBaseB, n, k, 2), 0, 16, bf16(b_value(k, 16 * cta + n)));
      }
    }
    words.resize(size_t{cta} * 32768);
    words.insert(words.end(), image.words.begin(), image.words.end());
  }
  for (const ScheduleSpec& s : some_schedules()) {
    TensorOptions o;
    o.schedule = s;
    o.ctas = 2;
    const auto r = run_tensor(text, words, o);
    ASSERT_TRUE(r.completed) << r.text();
    EXPECT_TRUE(r.faults.empty()) << r.text();
    for (uint32_t m = 0; m < 256; ++m) {
      for (uint32_t n = 0; n < 32; ++n) {
        ASSERT_EQ(r.out[m * 128 + n], f32_code(product(c, m, n))) << m << " " << n;
      }
    }
  }
}

// ---- what is reported

TEST(TensorFaults, EachMissingLinkIsReported) {
  const Case c = bf16_case();
  const auto words = image_of(c).words;
  const std::string text = kernel_of_case(c);
  for (const ScheduleSpec& s : some_schedules()) {
    TensorOptions o;
    o.schedule = s;
    const auto sound = run_tensor(text, words, o);
    EXPECT_TRUE(sound.completed && sound.faults.empty()) << sound.text();
    const auto proxy = run_tensor(without(text, "fence.proxy.async.shared::cta;\n"), words, o);
    EXPECT_TRUE(proxy.has(FaultCode::proxy)) << proxy.text();
    const auto after = run_tensor(replaced(text, kAfter + "tcgen05.ld", "tcgen05.ld"), words, o);
    EXPECT_TRUE(after.has(FaultCode::tensor_fence)) << after.text();
    o.rules.tensor_order_by_barrier = true;
    const auto practice = run_tensor(replaced(text, kAfter + "tcgen05.ld", "tcgen05.ld"), words, o);
    EXPECT_TRUE(practice.faults.empty()) << practice.text();
    o.rules = {};
    const auto wait = run_tensor(without(text, "@!%p bra WAIT;\n"), words, o);
    EXPECT_FALSE(wait.faults.empty());
  }
}

TEST(TensorFaults, ACommitOfAnotherThreadTracksNothing) {
  const Case c = bf16_case();
  // Lane 1 of warp 0 commits.
  const std::string text = replaced(kernel_of_case(c), commit("%bar") + "DONE:\n",
                                    "DONE:\nsetp.eq.u32 %p, %i, 1;\n@%p " + commit("%bar"));
  const auto r = run_tensor(text, image_of(c).words);
  EXPECT_TRUE(r.has(FaultCode::commit_empty)) << r.text();
}

TEST(TensorFaults, ACommitGoesToAnMbarrierOfTheCluster) {
  const Case c = bf16_case();
  const auto bad = [&](const std::string& code) {
    const auto r = run_tensor(replaced(kernel_of_case(c), commit("%bar"), code), image_of(c).words);
    EXPECT_FALSE(r.completed);
    return r;
  };
  const std::string far = "add.u32 %r150, %bar, 0x21000000;\n" + commit("%r150");
  EXPECT_TRUE(bad(far).has(FaultCode::bounds));
  EXPECT_TRUE(bad(commit("%bar+24")).has(FaultCode::barrier_invalid));
  EXPECT_TRUE(bad(replaced(commit("%bar"), ".b64 [%bar]", ".multicast::cluster.b64 [%bar], 2"))
                  .has(FaultCode::bounds));
}

TEST(TensorFaults, DescriptorsAreChecked) {
  const Case good = bf16_case();
  const auto expect = [&](const Case& c, const std::function<void(Image&)>& damage,
                          const std::string& note) {
    Image image = image_of(c);
    damage(image);
    const auto r = run_tensor(kernel_of_case(c), image.words);
    EXPECT_TRUE(r.has(FaultCode::descriptor)) << note;
    EXPECT_FALSE(r.completed);
    EXPECT_NE(r.text().find(note), std::string::npos) << r.text();
  };
  const uint32_t at = kImageBytes / 4;
  expect(
      good, [&](Image& i) { i.words[at + 4] |= 1u << 6; }, "instruction descriptor, bit 6");
  expect(
      good, [&](Image& i) { i.words[at + 1] ^= 1u << 14; }, "descriptor of A, version");
  expect(
      good, [&](Image& i) { i.words[at + 3] |= 1u << 21; }, "descriptor of B, bits 53-60");
  Case c = good;
  c.m = 96;
  expect(
      c, [](Image&) {}, "M: 64 or 128");
}

TEST(TensorFaults, TheScalesOfARunningProductMayNotBeOverwritten) {
  const Case c{.kind = "", .k = 32, .pitch = 8, .code = e4m3};
  const auto scale = [](uint32_t, uint32_t) { return 127u; };
  const Image image = scaled_image(c, 1u << 23, scale, scale);
  const std::string text = scaled_kernel("kind::mxf8f6f4.block_scale.block32",
                                         "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r158], %d4;\n");
  TensorOptions o;
  const auto strict = run_tensor(text, image.words, o);
  EXPECT_TRUE(strict.has(FaultCode::pipeline)) << strict.text();
  o.rules.mma_before_cp = true;
  const auto practice = run_tensor(text, image.words, o);
  EXPECT_TRUE(practice.faults.empty()) << practice.text();
}

TEST(TensorFaults, AProductOntoColumnsThatHoldNothing) {
  const Case c = bf16_case();
  const auto r =
      run_tensor(replaced(kernel_of_case(c), "%r151, %u0", "%r151, %u1"), image_of(c).words);
  EXPECT_TRUE(r.has(FaultCode::uninitialised)) << r.text();
}

TEST(TensorFaults, ColumnsGivenBackTooEarly) {
  const Case c = bf16_case();
  const std::string text = kernel_of_case(c);
  // Nobody waits for the product before the columns go.
  const size_t from = text.find("WAIT:\n");
  const size_t to = text.find("tcgen05.fence::before_thread_sync", from);
  ASSERT_NE(to, std::string::npos);
  std::string early = text;
  early.erase(from, to - from);
  for (const ScheduleSpec& s : some_schedules()) {
    TensorOptions o;
    o.schedule = s;
    const auto r = run_tensor(early, image_of(c).words, o);
    EXPECT_TRUE(r.has(FaultCode::lifetime) || r.has(FaultCode::open_work)) << r.text();
  }
}

TEST(TensorFaults, OperandsOutsideOfSharedMemory) {
  const Case c = bf16_case();
  Image image = image_of(c);
  image.parameter(2, descriptor(Lie::swizzled, 200 * 1024));
  const auto r = run_tensor(kernel_of_case(c), image.words);
  EXPECT_TRUE(r.has(FaultCode::bounds)) << r.text();
  EXPECT_FALSE(r.completed);
}

// ---- the order of an accumulator's release: two stages of 64 columns that share 32

// Warp 4 multiplies two tiles, one after the other, into columns 0 to 63 and 32 to 95; the other
// four read the first tile by halves and release it between them.
std::string two_stages(uint32_t first_half) {
  const uint32_t second_half = 32 - first_half;
  return tensor_kernel(
      kSetup +
      "setp.lt.u32 %p, %i, 128;\n@%p bra EPILOGUE;\nsetp.ne.u32 %p, %i, 128;\n"
      "@%p bra END;\n" +
      mma("kind::f16", "[%t], %d0, %d1, %r151, %u0") + commit("%bar") +
      wait_for("%bar+16", "EMPTY") + kAfter + "add.u32 %r150, %t, 32;\n" +
      mma("kind::f16", "[%r150], %d0, %d1, %r151, %u0") + commit("%bar+8") +
      "bra END;\nEPILOGUE:\n" + wait_for("%bar", "FULL") + kAfter +
      drain(first_half, 32, first_half) +
      "tcgen05.fence::before_thread_sync;\nmbarrier.arrive.shared::cta.b64 _, [%bar+16];\n" +
      drain(second_half, 32, second_half) + wait_for("%bar+8", "SECOND") + kAfter +
      drain(32, 32, 64) + drain(64, 32, 96) + "END:\n");
}

TEST(TensorRelease, OfAStageBeforeItsSharedColumnsAreReadIsReportedInEverySchedule) {
  Case c = bf16_case();
  c.n = 64;
  const auto words = image_of(c).words;
  TensorOptions o;
  o.threads = 160;
  uint32_t right = 0;
  uint32_t runs = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    for (ScheduleSpec s : some_schedules()) {
      s.seed = seed;
      s.starved = static_cast<uint32_t>(seed);
      o.schedule = s;
      const auto sound = run_tensor(two_stages(32), words, o);
      EXPECT_TRUE(sound.completed && sound.faults.empty()) << sound.text();
      const auto early = run_tensor(two_stages(0), words, o);
      EXPECT_TRUE(early.has(FaultCode::incomplete) || early.has(FaultCode::race) ||
                  early.has(FaultCode::tensor_fence))
          << early.text();
      const bool is_right = [&] {
        for (uint32_t m = 0; m < 128; ++m) {
          for (uint32_t n = 0; n < 64; ++n) {
            const uint32_t want = f32_code(product(c, m, n));
            EXPECT_EQ(sound.out[m * 128 + n], want);
            EXPECT_EQ(sound.out[m * 128 + 64 + n], want);
            if (early.out[m * 128 + n] != want) return false;
          }
        }
        return true;
      }();
      right += is_right ? 1 : 0;
      ++runs;
    }
  }
  // Reported also where the numbers come out right.
  EXPECT_GT(right, 0u);
  EXPECT_EQ(runs, 20u);
}

}  // namespace
}  // namespace cohort::emu::test
