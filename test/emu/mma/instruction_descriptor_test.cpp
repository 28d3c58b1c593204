// Instruction descriptors: golden words, every reserved bit, shapes, types.
#include "emu/mma/instruction_descriptor.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace cohort::emu {
namespace {

struct Parts {
  uint32_t m = 128;
  uint32_t n = 128;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t d = 1;
};

uint32_t plain(const Parts& p) {
  return p.d << 4 | p.a << 7 | p.b << 10 | (p.n >> 3) << 17 | (p.m >> 4) << 24;
}
uint32_t scaled(const Parts& p, uint32_t format = 1) {
  return p.a << 7 | p.b << 10 | (p.n >> 3) << 17 | format << 23 | (p.m >> 4) << 24;
}

std::string faults(const MmaForm& form, uint32_t bits) {
  std::string text;
  for (const FieldFault& f : decode_instruction(form, bits).faults) {
    if (!text.empty()) text += "; ";
    text += std::string(f.field) + ": " + f.wanted + ", got " + std::to_string(f.got);
  }
  return text;
}

constexpr MmaForm kF16{MmaKind::f16};
constexpr MmaForm kMx{MmaKind::mxf8f6f4};
constexpr MmaForm kFp4{MmaKind::mxf4};
constexpr MmaForm kNv{.kind = MmaKind::mxf4nvf4, .block = 16};

TEST(InstructionDescriptor, Bf16) {
  const auto d = decode_instruction(kF16, 0x08200490);
  EXPECT_TRUE(d.is_legal());
  EXPECT_EQ(d.value.m, 128U);
  EXPECT_EQ(d.value.n, 128U);
  EXPECT_EQ(d.value.k, 16U);
  EXPECT_EQ(d.value.a, MmaOperand::bf16);
  EXPECT_EQ(d.value.b, MmaOperand::bf16);
  EXPECT_EQ(d.value.d, MmaResult::f32);
  EXPECT_EQ(d.value.major_a, Major::k);
  EXPECT_EQ(d.value.major_b, Major::k);
}

TEST(InstructionDescriptor, Mxf8f6f4) {
  // A e5m2 negated, B e2m1, N 256, M 128, SFA 3, SFB 2.
  const uint32_t bits =
      2U << 4 | 1U << 7 | 5U << 10 | 1U << 13 | 32U << 17 | 1U << 23 | 1U << 27 | 3U << 29;
  const auto d = decode_instruction(kMx, bits);
  EXPECT_EQ(faults(kMx, bits), "");
  EXPECT_EQ(d.value.m, 128U);
  EXPECT_EQ(d.value.n, 256U);
  EXPECT_EQ(d.value.k, 32U);
  EXPECT_EQ(d.value.a, MmaOperand::e5m2);
  EXPECT_EQ(d.value.b, MmaOperand::e2m1);
  EXPECT_TRUE(d.value.negate_a);
  EXPECT_FALSE(d.value.negate_b);
  EXPECT_EQ(d.value.scale_id_a, 3);
  EXPECT_EQ(d.value.scale_id_b, 2);
  EXPECT_EQ(d.value.scale_format, ScaleFormat::ue8m0);
}

// The base is legal; with one more bit the reserved ones, and only those, are named.
TEST(InstructionDescriptor, ReservedBits) {
  struct Row {
    MmaForm form;
    uint32_t base;
    std::set<int> reserved;
  };
  const Row rows[] = {
      {kF16, plain({}), {3, 6, 23, 29, 30, 31}},
      {{MmaKind::i8}, plain({.d = 2}), {6, 13, 14, 23, 29, 30, 31}},
      {kMx, scaled({}), {0, 1, 3, 6, 24, 25, 26, 31}},
      {kFp4, scaled({.a = 1, .b = 1}), {0, 1, 3, 6, 12, 15, 16, 24, 25, 26, 31}},
      {kNv, scaled({.a = 1, .b = 1}, 0), {0, 1, 3, 6, 12, 15, 16, 24, 25, 26, 31}},
  };
  for (const Row& row : rows) {
    ASSERT_EQ(faults(row.form, row.base), "");
    for (int bit : row.reserved) {
      EXPECT_EQ(decode_instruction(row.form, row.base ^ 1U << bit).faults.size(), 1U)
          << static_cast<int>(row.form.kind) << " bit " << bit << ": "
          << faults(row.form, row.base ^ 1U << bit);
    }
  }
  EXPECT_EQ(faults(kF16, plain({}) | 1U << 6), "bit 6: 0, got 1");
  EXPECT_EQ(faults(kMx, scaled({}) | 5U << 24), "bits 24-26: 0, got 5");
}

TEST(InstructionDescriptor, Types) {
  EXPECT_EQ(faults(kF16, plain({.a = 2})), "A type (bits 7-9): 0 (f16) or 1 (bf16), got 2");
  EXPECT_EQ(faults(kF16, plain({.d = 0})), "") << "f16 into f16";
  EXPECT_EQ(faults(kF16, plain({.a = 1, .b = 1, .d = 0})), "D type (bits 4-5): 1 (f32), got 0");
  EXPECT_EQ(faults({MmaKind::tf32}, plain({.a = 2, .b = 2})), "");
  EXPECT_EQ(faults({MmaKind::tf32}, plain({.a = 2, .b = 1})),
            "B type (bits 10-12): 2 (tf32), got 1");
  EXPECT_EQ(faults({MmaKind::f8f6f4}, plain({.a = 5, .b = 4, .d = 0})), "");
  EXPECT_EQ(faults({MmaKind::f8f6f4}, plain({.a = 6})),
            "A type (bits 7-9): 0, 1, 3, 4 or 5, got 6");
  EXPECT_EQ(faults({MmaKind::i8}, plain({.d = 1})), "D type (bits 4-5): 2 (s32), got 1");
  EXPECT_EQ(faults(kFp4, scaled({.a = 1, .b = 2})), "B type (bits 10-12): 1 (e2m1), got 2");
}

TEST(InstructionDescriptor, Transposes) {
  EXPECT_EQ(faults(kF16, plain({}) | 3U << 15), "");
  EXPECT_EQ(faults({MmaKind::f8f6f4}, plain({.a = 0, .b = 1}) | 3U << 15), "");
  EXPECT_EQ(faults({MmaKind::f8f6f4}, plain({.a = 5}) | 1U << 15),
            "transpose A (bit 15): 0 (K-major): elements of less than 8 bits, got 1");
  EXPECT_EQ(faults({MmaKind::f8f6f4}, plain({.n = 24}) | 1U << 16),
            "N: a multiple of 16 up to 256, got 24");
  EXPECT_EQ(faults({MmaKind::f8f6f4, 2}, plain({.n = 48}) | 1U << 16),
            "N: a multiple of 32 up to 256, got 48");
  EXPECT_EQ(faults(kF16, plain({.n = 24}) | 1U << 16), "");
}

TEST(InstructionDescriptor, ScaleRules) {
  EXPECT_EQ(faults(kMx, scaled({}, 0)), "scale type (bit 23): 1 (ue8m0), got 0");
  EXPECT_EQ(faults(kFp4, scaled({.a = 1, .b = 1}) | 2U << 29 | 2U << 4), "");
  EXPECT_EQ(faults(kFp4, scaled({.a = 1, .b = 1}) | 1U << 29),
            "scale id of A (bits 29-30): 0 or 2, got 1");
  EXPECT_EQ(faults(kNv, scaled({.a = 1, .b = 1}) | 2U << 4), "scale id of B (bits 4-5): 0, got 2");
  EXPECT_EQ(faults({MmaKind::mxf4nvf4}, scaled({.a = 1, .b = 1}, 0)),
            "scale type (bit 23): 1 (ue8m0), got 0")
      << "blocks of 32 have UE8M0";
  EXPECT_EQ(faults({.kind = MmaKind::mxf4, .block = 16}, scaled({.a = 1, .b = 1})),
            "block: 32, or 16 of mxf4nvf4, got 16");
}

TEST(InstructionDescriptor, Length96) {
  MmaForm form = kNv;
  const uint32_t bits = scaled({.a = 1, .b = 1}) | 1U << 31;
  EXPECT_EQ(faults(form, bits), "bit 31: 0, got 1");
  form.has_k96 = true;
  EXPECT_EQ(faults(form, bits), "");
  EXPECT_EQ(decode_instruction(form, bits).value.k, 96U);
  form.cta_group = 2;
  EXPECT_EQ(faults(form, bits), "M: 256, got 128");
}

// How many pairs of M and N are legal, of all that fit into the fields.
TEST(InstructionDescriptor, Shapes) {
  const auto legal = [](MmaForm form, uint32_t types) {
    int count = 0;
    for (uint32_t m = 0; m < 32; ++m) {
      for (uint32_t n = 0; n < 64; ++n) {
        const uint32_t bits = types | (form.sparse ? 4U : 0U) | n << 17 | m << 24;
        count += decode_instruction(form, bits).is_legal() ? 1 : 0;
      }
    }
    return count;
  };
  constexpr uint32_t kF32 = 1U << 4;
  constexpr uint32_t kS32 = 2U << 4;
  constexpr uint32_t kUe8m0 = 1U << 23;
  constexpr uint32_t kE2m1 = kUe8m0 | 1U << 7 | 1U << 10;
  EXPECT_EQ(legal(kF16, kF32), 2 * 32);
  EXPECT_EQ(legal({MmaKind::f16, 2}, kF32), 2 * 16);
  EXPECT_EQ(legal({MmaKind::f16, 1, true}, kF32), 3 * 3);
  EXPECT_EQ(legal({MmaKind::f16, 1, true, true}, kF32), 3 * 2);
  EXPECT_EQ(legal({MmaKind::f16, 2, true}, kF32), 0);
  EXPECT_EQ(legal({MmaKind::i8}, kS32), 2 * (4 + 14));
  EXPECT_EQ(legal({MmaKind::i8, 2}, kS32), 2 * 8);
  EXPECT_EQ(legal(kMx, kUe8m0), 32);
  EXPECT_EQ(legal({MmaKind::mxf8f6f4, 2}, kUe8m0), 2 * 16);
  EXPECT_EQ(legal({MmaKind::mxf8f6f4, 2, false, true}, kUe8m0), 16);
  EXPECT_EQ(legal({MmaKind::mxf8f6f4, 1, true}, kUe8m0), 0);
  EXPECT_EQ(legal(kFp4, kE2m1), 32);
  EXPECT_EQ(legal({MmaKind::mxf4, 2}, kE2m1), 2 * 16);
  EXPECT_EQ(faults(kF16, plain({.m = 96})), "M: 64 or 128, got 96");
  EXPECT_EQ(faults(kF16, plain({.n = 264})), "N: a multiple of 8 up to 256, got 264");
  EXPECT_EQ(faults({MmaKind::i8}, plain({.n = 40, .d = 2})),
            "N: a multiple of 16 up to 256, got 40");
}

TEST(InstructionDescriptor, SparseDoublesTheLength) {
  EXPECT_EQ(decode_instruction({.kind = MmaKind::f16, .sparse = true}, plain({}) | 6).value.k, 32U);
  EXPECT_EQ(faults(kF16, plain({}) | 4), "sparse (bit 2): 0 (mma), got 1");
}

TEST(InstructionDescriptor, WhereOperandsMayLie) {
  using S = Swizzle;
  const auto count = [](MmaKind kind, MmaOperand x, Major major) {
    int n = 0;
    for (const S s : {S::none, S::bytes32, S::bytes64, S::bytes128, S::bytes128_atom32}) {
      n += can_lie(kind, x, major, s) ? 1 : 0;
    }
    return n;
  };
  EXPECT_EQ(count(MmaKind::f16, MmaOperand::bf16, Major::k), 4);
  EXPECT_EQ(count(MmaKind::f16, MmaOperand::bf16, Major::mn), 4);
  EXPECT_EQ(count(MmaKind::tf32, MmaOperand::tf32, Major::mn), 1);
  EXPECT_TRUE(can_lie(MmaKind::tf32, MmaOperand::tf32, Major::mn, S::bytes128_atom32));
  EXPECT_FALSE(can_lie(MmaKind::tf32, MmaOperand::tf32, Major::k, S::bytes128_atom32));
  EXPECT_EQ(count(MmaKind::f8f6f4, MmaOperand::e2m1, Major::mn), 0);
  EXPECT_EQ(count(MmaKind::mxf4, MmaOperand::e2m1, Major::k), 4);
  EXPECT_EQ(count(MmaKind::mxf8f6f4, MmaOperand::e4m3, Major::mn), 4);
}

}  // namespace
}  // namespace cohort::emu
