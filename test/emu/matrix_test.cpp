// ldmatrix, stmatrix, movmatrix and mma.sync: fragments, sums, events.
#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/fixture.h"
#include "emu/mma/fragment.h"
#include "emu/recording.h"

namespace cohort::emu::test {
namespace {

// A kernel of one warp: %i is the lane, %at and %to its 64 bytes of input and output, and shared
// memory holds the bytes 0, 1, 2, ... 511 at `s`, whose address is %s.
std::string warp_kernel(const std::string& code) {
  return std::string(kHeader) +
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.shared .align 16 .b8 s[512];\n"
         ".reg .b32 %i, %s, %a, %t, %r<32>;\n.reg .b64 %at, %to, %d<16>;\n.reg .pred %p;\n"
         "mov.u32 %i, %tid.x;\nmov.u32 %s, s;\nld.param.u64 %at, [in];\nld.param.u64 %to, [out];\n"
         "mad.wide.u32 %at, %i, 128, %at;\nmad.wide.u32 %to, %i, 128, %to;\n"
         "mov.u32 %t, 0;\nL:\nmad.lo.u32 %r0, %i, 16, %t;\nadd.u32 %r1, %s, %r0;\n"
         "st.shared.u8 [%r1], %r0;\nadd.u32 %t, %t, 1;\nsetp.lt.u32 %p, %t, 16;\n@%p bra L;\n"
         "bar.warp.sync -1;\nmad.lo.u32 %a, %i, 16, %s;\n" +
         code + "ret;\n}\n";
}

// The words that each lane stores at %to, 32 a lane.
std::vector<uint32_t> run_warp(const std::string& code, std::vector<uint32_t> in = {},
                               Events* events = nullptr) {
  in.resize(32 * 32);
  RunInput input = simple(warp_kernel(code), "k",
                          {buffer_of(in), buffer_of(std::vector<uint32_t>(32 * 32))}, 32);
  input.events = events;
  Outcome o = run_input(std::move(input));
  EXPECT_TRUE(o.faults.empty());
  EXPECT_TRUE(o.result.completed);
  return values_of<uint32_t>(o.result.buffers.at(1));
}

std::string registers(int first, int count, const char* name = "%r") {
  std::string text = "{";
  for (int i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + std::string(name) + std::to_string(first + i);
  }
  return text + "}";
}
std::string store_words(int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text +=
        "st.global.u32 [%to+" + std::to_string(4 * i) + "], %r" + std::to_string(first + i) + ";\n";
  }
  return text;
}

uint32_t word_of_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return (a & 255) | (b & 255) << 8 | (c & 255) << 16 | (d & 255) << 24;
}

TEST(Ldmatrix, GivesRowsOrColumnsOfSixteenBits) {
  const auto rows = run_warp("ldmatrix.sync.aligned.m8n8.x4.shared.b16 " + registers(0, 4) +
                             ", [%a];\n" + store_words(0, 4));
  const auto columns = run_warp("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 " +
                                registers(0, 4) + ", [%a];\n" + store_words(0, 4));
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t r = 0; r < 4; ++r) {
      const uint32_t at = 128 * r + 16 * (l / 4) + 4 * (l % 4);
      EXPECT_EQ(rows[32 * l + r], word_of_bytes(at, at + 1, at + 2, at + 3));
      const uint32_t up = 128 * r + 32 * (l % 4) + 2 * (l / 4);
      EXPECT_EQ(columns[32 * l + r], word_of_bytes(up, up + 1, up + 16, up + 17));
    }
  }
}

TEST(Ldmatrix, TakesAddressesOfTheFirstLanesOnly) {
  Recording events;
  // Lanes from 8 on give addresses that are out of bounds.
  const auto got = run_warp(
      "setp.ge.u32 %p, %i, 8;\nselp.u32 %a, -16, %a, %p;\n"
      "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%a];\n" +
          store_words(0, 1),
      {}, &events);
  EXPECT_EQ(got[32 * 31], word_of_bytes(124, 125, 126, 127));
  // From the start of the window: 1024 bytes are the system's.
  EXPECT_EQ(events.of_kind("access shared read"),
            std::vector<std::string>{"access shared read w0 000000ff 1024 16"});
}

TEST(Ldmatrix, WidensElementsOfFewBits) {
  const auto load = [&](const std::string& format) {
    return run_warp("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16." + format + " {%r0}, [%a];\n" +
                    store_words(0, 1));
  };
  const auto four = load("b4x16_p64");
  const auto six = load("b6x16_p32");
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t k = 0; k < 4; ++k) {
      const uint32_t e = l % 4 * 4 + k;
      const uint32_t row = l / 4 * 16;
      const auto bit = [&](uint32_t n) { return (row + n / 8) >> (n % 8) & 1; };
      uint32_t want4 = 0;
      uint32_t want6 = 0;
      for (uint32_t n = 0; n < 4; ++n) want4 |= bit(4 * e + n) << n;
      for (uint32_t n = 0; n < 6; ++n) want6 |= bit(6 * e + n) << n;
      EXPECT_EQ(four[32 * l] >> (8 * k) & 255, want4) << l << " " << k;
      EXPECT_EQ(six[32 * l] >> (8 * k) & 255, want6) << l << " " << k;
    }
  }
}

TEST(Ldmatrix, TransposesBytes) {
  const auto got = run_warp("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 " + registers(0, 4) +
                            ", [%a];\n" + store_words(0, 4));
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t r = 0; r < 4; ++r) {
      const uint32_t at = 256 * (r / 2) + 16 * (4 * (l % 4) + 2 * (r % 2)) + l / 4;
      EXPECT_EQ(got[32 * l + r], word_of_bytes(at, at + 16, at + 8, at + 24));
    }
  }
}

TEST(Stmatrix, IsTheInverseOfLdmatrix) {
  for (const std::string form : {"m8n8.x4", "m8n8.x4.trans"}) {
    const auto got = run_warp(
        "ldmatrix.sync.aligned." + form + ".shared.b16 " + registers(0, 4) +
        ", [%a];\nbar.warp.sync -1;\nst.shared.v4.u32 [%a], {%i, %i, %i, %i};\nbar.warp.sync -1;\n"
        "stmatrix.sync.aligned." +
        form + ".shared.b16 [%a], " + registers(0, 4) + ";\nbar.warp.sync -1;\nld.shared.v4.u32 " +
        registers(0, 4) + ", [%a];\n" + store_words(0, 4));
    for (uint32_t l = 0; l < 32; ++l) {
      for (uint32_t r = 0; r < 4; ++r) {
        const uint32_t at = 16 * l + 4 * r;
        EXPECT_EQ(got[32 * l + r], word_of_bytes(at, at + 1, at + 2, at + 3)) << form;
      }
    }
  }
}

TEST(Stmatrix, StoresAccumulatorsOfBytesByColumn) {
  // Element (row, column) of 16 x 8 bytes goes to byte `row` of the line `column`.
  const auto got = run_warp(
      "shl.b32 %r0, %i, 2;\nmad.lo.u32 %r0, %r0, 0x01010101, 0x03020100;\n"
      "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%a], {%r0};\nbar.warp.sync -1;\n"
      "ld.shared.v4.u32 " +
      registers(0, 4) + ", [%a];\n" + store_words(0, 4));
  for (uint32_t column = 0; column < 8; ++column) {
    for (uint32_t row = 0; row < 16; ++row) {
      const uint32_t lane = row % 8 * 4 + column / 2;
      const uint32_t want = 4 * lane + 2 * (row / 8) + column % 2;
      EXPECT_EQ(got[32 * column + row / 4] >> (8 * (row % 4)) & 255, want) << row << " " << column;
    }
  }
}

TEST(Movmatrix, Transposes) {
  const auto got = run_warp(
      "mad.lo.u32 %r0, %i, 0x00020002, 0x00010000;\nmovmatrix.sync.aligned.m8n8.trans.b16 %r1, "
      "%r0;\n" +
      store_words(1, 1));
  for (uint32_t l = 0; l < 32; ++l) {
    const uint32_t low = 8 * (l % 4 * 2) + l / 4;
    EXPECT_EQ(got[32 * l], low | (low + 8) << 16);
  }
}

TEST(Ldmatrix, RefusesWhatItCannotBe) {
  const auto refused = [](const std::string& instruction) {
    auto module = ptx::parse(warp_kernel(instruction));
    return !decode(*module, "k", {});
  };
  EXPECT_TRUE(refused("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0}, [%a];\n"));
  EXPECT_TRUE(refused("ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%r0,%r1}, [%a];\n"));
  EXPECT_TRUE(refused("ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%r0,%r1}, [%a];\n"));
  EXPECT_FALSE(refused("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0,%r1}, [%a];\n"));
}

TEST(Ldmatrix, WantsAlignedRows) {
  Outcome o = run_input(simple(
      warp_kernel("add.u32 %a, %a, 4;\n"
                  "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%a];\n"),
      "k", {buffer_of(std::vector<uint32_t>(1024)), buffer_of(std::vector<uint32_t>(1024))}, 32));
  ASSERT_EQ(o.faults.size(), 1u);
  EXPECT_EQ(o.faults[0].code, FaultCode::alignment);
  EXPECT_FALSE(o.result.completed);
}

// ---- mma.sync, with data whose sums are exact

struct Case {
  std::string opcode;
  uint32_t rows;
  uint32_t k;
  uint32_t packed;
  // Codes of small integers, and how C and D hold them.
  uint32_t (*code)(int value);
  bool half;
  bool integers;
};

uint32_t f16_code(int v) {
  if (v == 0) return 0;
  const uint32_t m = static_cast<uint32_t>(std::abs(v));
  const auto e = static_cast<uint32_t>(std::bit_width(m)) - 1;
  return (v < 0 ? 0x8000u : 0) | (e + 15) << 10 | ((m << (10 - e)) & 0x3FF);
}
uint32_t f32_code(int v) { return std::bit_cast<uint32_t>(static_cast<float>(v)); }
uint32_t bf16_code(int v) { return f32_code(v) >> 16; }
uint32_t e5m2_code(int v) { return f16_code(v) >> 8; }
uint32_t byte_code(int v) { return static_cast<uint8_t>(v); }
// Values up to 3 have a fraction of one bit.
uint32_t e4m3_code(int v) {
  if (v == 0) return 0;
  const uint32_t m = static_cast<uint32_t>(std::abs(v));
  const auto e = static_cast<uint32_t>(std::bit_width(m)) - 1;
  return (v < 0 ? 0x80u : 0) | (e + 7) << 3 | ((m << (3 - e)) & 7);
}

int a_value(uint32_t row, uint32_t k) { return static_cast<int>((row * 7 + k * 3) % 5) - 2; }
int b_value(uint32_t k, uint32_t n) { return static_cast<int>((k * 5 + n * 2 + k * n) % 4) - 1; }
int c_value(uint32_t row, uint32_t n) { return static_cast<int>(row * 8 + n) - 60; }

int product(const Case& c, uint32_t row, uint32_t n) {
  int sum = c_value(row, n);
  for (uint32_t k = 0; k < c.k; ++k) sum += a_value(row, k) * b_value(k, n);
  return sum;
}

// Registers of A, then B, then C, of each lane.
std::vector<uint32_t> inputs_of(const Case& c, uint32_t na, uint32_t nb, uint32_t nc) {
  std::vector<uint32_t> in(32 * 32);
  const uint32_t bits = 32 / c.packed;
  for (uint32_t l = 0; l < 32; ++l) {
    uint32_t* word = &in[32 * l];
    for (uint32_t r = 0; r < na; ++r, ++word) {
      for (uint32_t i = 0; i < c.packed; ++i) {
        const Place p = fragment_a(c.rows, c.packed, l, r, i);
        *word |= c.code(a_value(p.row, p.column)) << (bits * i);
      }
    }
    for (uint32_t r = 0; r < nb; ++r, ++word) {
      for (uint32_t i = 0; i < c.packed; ++i) {
        const Place p = fragment_b(c.packed, l, r, i);
        *word |= c.code(b_value(p.row, p.column)) << (bits * i);
      }
    }
    for (uint32_t r = 0; r < nc; ++r, ++word) {
      for (uint32_t i = 0; i < (c.half ? 2u : 1u); ++i) {
        const Place p = fragment_c(l, (c.half ? 2 : 1) * r + i);
        const int v = c_value(p.row, p.column);
        *word |= c.half       ? f16_code(v) << (16 * i)
                 : c.integers ? static_cast<uint32_t>(v)
                              : f32_code(v);
      }
    }
  }
  return in;
}

void check(const Case& c) {
  SCOPED_TRACE(c.opcode);
  const uint32_t na = c.rows * c.k / c.packed / 32;
  const uint32_t nb = 8 * c.k / c.packed / 32;
  const uint32_t nc = c.rows * 8 / 32 / (c.half ? 2 : 1);
  std::string code;
  for (uint32_t i = 0; i < na + nb + nc; ++i) {
    code += "ld.global.u32 %r" + std::to_string(i) + ", [%at+" + std::to_string(4 * i) + "];\n";
  }
  const auto part = [](uint32_t first, uint32_t count) {
    return registers(static_cast<int>(first), static_cast<int>(count));
  };
  code += c.opcode + " " + part(20, nc) + ", " + part(0, na) + ", " + part(na, nb) + ", " +
          part(na + nb, nc) + ";\n" + store_words(20, static_cast<int>(nc));
  const auto got = run_warp(code, inputs_of(c, na, nb, nc));
  for (uint32_t l = 0; l < 32; ++l) {
    for (uint32_t e = 0; e < c.rows / 4; ++e) {
      const Place p = fragment_c(l, e);
      const int want = product(c, p.row, p.column);
      const uint32_t word = got[32 * l + (c.half ? e / 2 : e)];
      const uint32_t have = c.half ? word >> (16 * (e % 2)) & 0xFFFF : word;
      EXPECT_EQ(have, c.half       ? f16_code(want)
                      : c.integers ? static_cast<uint32_t>(want)
                                   : f32_code(want))
          << l << " " << e;
    }
  }
}

TEST(MmaSync, MultipliesExactNumbers) {
  const std::string m = "mma.sync.aligned.";
  check({m + "m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 2, f16_code, false, false});
  check({m + "m16n8k16.row.col.f16.f16.f16.f16", 16, 16, 2, f16_code, true, false});
  check({m + "m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 2, f16_code, false, false});
  check({m + "m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, 2, bf16_code, false, false});
  check({m + "m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 2, bf16_code, false, false});
  check({m + "m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 1, f32_code, false, false});
  check({m + "m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, 1, f32_code, false, false});
  check({m + "m16n8k32.row.col.f32.e5m2.e5m2.f32", 16, 32, 4, e5m2_code, false, false});
  check({m + "m16n8k32.row.col.f16.e5m2.e5m2.f16", 16, 32, 4, e5m2_code, true, false});
  check({m + "m16n8k32.row.col.f32.e4m3.e4m3.f32", 16, 32, 4, e4m3_code, false, false});
  check({m + "m16n8k32.row.col.s32.s8.s8.s32", 16, 32, 4, byte_code, false, true});
  check({m + "m16n8k16.row.col.s32.s8.s8.s32", 16, 16, 4, byte_code, false, true});
  check({m + "m8n8k16.row.col.satfinite.s32.s8.s8.s32", 8, 16, 4, byte_code, false, true});
}

// The register of a row of A and one of B, as the text's figures give them, not by the formula.
TEST(MmaSync, FragmentsAreThoseOfTheText) {
  EXPECT_EQ(fragment_a(16, 2, 5, 3, 1), (Place{9, 11}));  // a7 of lane 5: row 1 + 8, k 2 + 1 + 8
  EXPECT_EQ(fragment_a(16, 4, 5, 2, 3), (Place{1, 23}));  // s8: a11: row 1, k 4 + 3 + 16
  EXPECT_EQ(fragment_a(16, 1, 5, 1, 0), (Place{9, 1}));   // tf32: a1
  EXPECT_EQ(fragment_b(2, 5, 1, 0), (Place{10, 1}));      // b2: k 2 + 8, column 1
  EXPECT_EQ(fragment_c(5, 3), (Place{9, 3}));
  EXPECT_EQ(fragment_c(5, 4), (Place{1, 10}));
}

TEST(MmaSync, SaturatesIntegersOnlyWhenTold) {
  const auto sum = [](const std::string& saturate) {
    return run_warp(
        "mov.u32 %r0, 0x7f7f7f7f;\nmov.u32 %r1, 0x7ffffff0;\n"
        "mma.sync.aligned.m8n8k16.row.col" +
        saturate + ".s32.s8.s8.s32 {%r2,%r3}, {%r0}, {%r0}, {%r1,%r1};\n" + store_words(2, 2));
  };
  EXPECT_EQ(sum(".satfinite")[0], 0x7FFFFFFFu);
  EXPECT_EQ(sum("")[0], 0x7FFFFFF0u + 16 * 127 * 127);
}

TEST(MmaSync, AddsDoubles) {
  // A[row][k] = 4 row + k, B[k][n] = 1, C = lane.
  const auto got = run_warp(
      "cvt.rn.f64.u32 %d0, %i;\n"
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1,%d2}, {%d0}, {0d3FF0000000000000}, "
      "{%d0,%d0};\nst.global.f64 [%to], %d1;\nst.global.f64 [%to+8], %d2;\n");
  for (uint32_t l = 0; l < 32; ++l) {
    const double want = 16.0 * (l / 4) + 6 + l;
    EXPECT_EQ((std::bit_cast<double>(uint64_t{got[32 * l]} | uint64_t{got[32 * l + 1]} << 32)),
              want);
    EXPECT_EQ((std::bit_cast<double>(uint64_t{got[32 * l + 2]} | uint64_t{got[32 * l + 3]} << 32)),
              want);
  }
}

}  // namespace
}  // namespace cohort::emu::test
