// tcgen05 by single threads: mma of each kind, cp, commit.
#include "emu/tensor_pipe_fixture.h"

namespace cohort::emu::test {
namespace {

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

}  // namespace
}  // namespace cohort::emu::test
