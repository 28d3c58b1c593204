#include "emu/mma/instruction_descriptor.h"

#include <algorithm>
#include <string>

namespace cohort::emu {

namespace {

using Out = Decoded<InstructionDescriptor>;

uint32_t get(uint32_t bits, int first, int last) {
  return static_cast<uint32_t>(bits_between(bits, first, last));
}

void want_zero(Out& out, uint32_t bits, int first, int last, const char* field) {
  out.want(get(bits, first, last) == 0, field, "0", get(bits, first, last));
}

bool is_fp4(MmaKind kind) { return kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4; }

// The element that a code means, by kind.
bool find_operand(MmaKind kind, uint32_t code, MmaOperand& operand) {
  struct Row {
    MmaKind kind;
    uint32_t code;
    MmaOperand operand;
  };
  constexpr Row kRows[] = {
      {MmaKind::f16, 0, MmaOperand::f16},     {MmaKind::f16, 1, MmaOperand::bf16},
      {MmaKind::tf32, 2, MmaOperand::tf32},   {MmaKind::f8f6f4, 0, MmaOperand::e4m3},
      {MmaKind::f8f6f4, 1, MmaOperand::e5m2}, {MmaKind::f8f6f4, 3, MmaOperand::e2m3},
      {MmaKind::f8f6f4, 4, MmaOperand::e3m2}, {MmaKind::f8f6f4, 5, MmaOperand::e2m1},
      {MmaKind::i8, 0, MmaOperand::u8},       {MmaKind::i8, 1, MmaOperand::s8},
      {MmaKind::mxf4, 1, MmaOperand::e2m1},
  };
  const MmaKind as = kind == MmaKind::mxf8f6f4   ? MmaKind::f8f6f4
                     : kind == MmaKind::mxf4nvf4 ? MmaKind::mxf4
                                                 : kind;
  for (const Row& row : kRows) {
    if (row.kind != as || row.code != code) continue;
    operand = row.operand;
    return true;
  }
  return false;
}

// In the order of MmaKind.
constexpr const char* kOperandCodes[] = {
    "0 (f16) or 1 (bf16)", "2 (tf32)", "0, 1, 3, 4 or 5", "0 (u8) or 1 (s8)",
    "0, 1, 3, 4 or 5",     "1 (e2m1)", "1 (e2m1)",
};

void decode_types(Out& out, const MmaForm& form, uint32_t bits) {
  InstructionDescriptor& v = out.value;
  const uint32_t a = get(bits, 7, 9);
  const uint32_t b = is_fp4(form.kind) ? get(bits, 10, 11) : get(bits, 10, 12);
  const char* wanted = kOperandCodes[static_cast<int>(form.kind)];
  out.want(find_operand(form.kind, a, v.a), "A type (bits 7-9)", wanted, a);
  out.want(find_operand(form.kind, b, v.b), "B type (bits 10-12)", wanted, b);
  if (is_fp4(form.kind)) want_zero(out, bits, 12, 12, "bit 12");
  if (has_scales(form.kind)) return;
  const uint32_t d = get(bits, 4, 5);
  const bool half = form.kind == MmaKind::f8f6f4 ||
                    (form.kind == MmaKind::f16 && v.a == MmaOperand::f16 && v.b == MmaOperand::f16);
  if (form.kind == MmaKind::i8) {
    v.d = MmaResult::s32;
    out.want(d == 2, "D type (bits 4-5)", "2 (s32)", d);
  } else {
    out.want(d == 1 || (d == 0 && half), "D type (bits 4-5)",
             half ? "0 (f16) or 1 (f32)" : "1 (f32)", d);
    v.d = d == 0 ? MmaResult::f16 : MmaResult::f32;
  }
}

void decode_signs_and_majors(Out& out, const MmaForm& form, uint32_t bits) {
  InstructionDescriptor& v = out.value;
  v.negate_a = get(bits, 13, 13) != 0;
  v.negate_b = get(bits, 14, 14) != 0;
  if (form.kind == MmaKind::i8) want_zero(out, bits, 13, 14, "negate (bits 13-14)");
  v.major_a = get(bits, 15, 15) != 0 ? Major::mn : Major::k;
  v.major_b = get(bits, 16, 16) != 0 ? Major::mn : Major::k;
  const auto may_transpose = [&](MmaOperand x) { return !is_fp4(form.kind) && bits_of(x) >= 8; };
  const char* wanted = "0 (K-major): elements of less than 8 bits";
  out.want(v.major_a == Major::k || may_transpose(v.a), "transpose A (bit 15)", wanted, 1);
  out.want(v.major_b == Major::k || may_transpose(v.b), "transpose B (bit 16)", wanted, 1);
}

void decode_scales(Out& out, const MmaForm& form, uint32_t bits) {
  InstructionDescriptor& v = out.value;
  v.scale_id_b = static_cast<uint8_t>(get(bits, 4, 5));
  v.scale_id_a = static_cast<uint8_t>(get(bits, 29, 30));
  const uint32_t format = get(bits, 23, 23);
  v.scale_format = format == 1 ? ScaleFormat::ue8m0 : ScaleFormat::ue4m3;
  const bool any_format = form.kind == MmaKind::mxf4nvf4 && form.block == 16;
  out.want(any_format || format == 1, "scale type (bit 23)", "1 (ue8m0)", format);
  const bool good_block = form.block == 32 || (form.block == 16 && form.kind == MmaKind::mxf4nvf4);
  out.want(good_block, "block", "32, or 16 of mxf4nvf4", form.block);
  const auto want_id = [&](uint8_t id, const char* field) {
    if (form.kind == MmaKind::mxf8f6f4) return;
    const bool whole = form.block == 16 && v.k != 96;
    // Three scales of 32 elements each may begin at any byte: K = 96.
    if (form.block == 32 && v.k == 96) return;
    out.want(id == 0 || (id == 2 && !whole), field, whole ? "0" : "0 or 2", id);
  };
  want_id(v.scale_id_a, "scale id of A (bits 29-30)");
  want_id(v.scale_id_b, "scale id of B (bits 4-5)");
}

// In the order of MmaKind; doubled for a sparse A.
constexpr uint32_t kLengths[] = {16, 8, 32, 32, 32, 64, 64};

void check_m(Out& out, const MmaForm& form) {
  const uint32_t m = out.value.m;
  const char* wanted = "64 or 128";
  bool good = m == 64 || m == 128;
  if (form.ws) {
    wanted = "32, 64 or 128 (.ws)";
    good = good || m == 32;
  } else if (form.cta_group == 2) {
    const bool only_large = (has_scales(form.kind) && form.sparse) || out.value.k == 96;
    wanted = only_large ? "256" : "128 or 256";
    good = m == 256 || (m == 128 && !only_large);
  } else if (has_scales(form.kind)) {
    wanted = "128";
    good = m == 128;
  }
  out.want(good, "M", wanted, m);
}

void check_n(Out& out, const MmaForm& form) {
  const uint32_t n = out.value.n;
  const bool integer = form.kind == MmaKind::i8;
  if (form.ws) {
    const bool good = n == 64 || n == 128 || (n == 256 && !form.sparse);
    out.want(good, "N", form.sparse ? "64 or 128 (.ws)" : "64, 128 or 256 (.ws)", n);
    return;
  }
  uint32_t step = form.cta_group == 2 ? (integer ? 32 : 16) : 8;
  if (integer && form.cta_group == 1 && n > 32) step = 16;
  // Bytes of a transposed B come in groups of 16.
  if (out.value.major_b == Major::mn && bits_of(out.value.b) == 8) {
    step = std::max<uint32_t>(step, form.cta_group == 2 ? 32 : 16);
  }
  out.want(n != 0 && n <= 256 && n % step == 0, "N",
           "a multiple of " + std::to_string(step) + " up to 256", n);
}

void check_form(Out& out, const MmaForm& form) {
  out.want(form.cta_group == 1 || form.cta_group == 2, "cta_group", "1 or 2", form.cta_group);
  if (form.ws) {
    out.want(form.cta_group == 1, "cta_group", "1 (.ws)", form.cta_group);
    out.want(!has_scales(form.kind), ".ws", "a kind without scales",
             static_cast<uint64_t>(form.kind));
  }
}

}  // namespace

bool has_scales(MmaKind kind) { return kind >= MmaKind::mxf8f6f4; }

int bits_of(MmaOperand operand) {
  constexpr int kBits[] = {16, 16, 32, 8, 8, 6, 6, 4, 8, 8};
  return kBits[static_cast<int>(operand)];
}

Decoded<InstructionDescriptor> decode_instruction(const MmaForm& form, uint32_t bits) {
  Out out;
  InstructionDescriptor& v = out.value;
  check_form(out, form);
  const bool sparse = get(bits, 2, 2) != 0;
  out.want(sparse == form.sparse, "sparse (bit 2)", form.sparse ? "1 (mma.sp)" : "0 (mma)", sparse);
  want_zero(out, bits, 6, 6, "bit 6");
  v.k = kLengths[static_cast<int>(form.kind)];
  v.n = get(bits, 17, 22) * 8;
  v.m = get(bits, 24, 28) * 16;
  if (has_scales(form.kind)) {
    want_zero(out, bits, 0, 1, "bits 0-1");
    want_zero(out, bits, 3, 3, "bit 3");
    want_zero(out, bits, 24, 26, "bits 24-26");
    v.m = get(bits, 27, 28) * 128;
    if (is_fp4(form.kind) && form.has_k96 && get(bits, 31, 31) != 0) {
      v.k = 96;
      out.want(!form.sparse, "K (bit 31)", "0 (64): sparse", 1);
    } else {
      want_zero(out, bits, 31, 31, "bit 31");
    }
    decode_scales(out, form, bits);
  } else {
    v.sparsity_selector = static_cast<uint8_t>(get(bits, 0, 1));
    v.saturate = get(bits, 3, 3) != 0;
    if (form.kind != MmaKind::i8) want_zero(out, bits, 3, 3, "saturate (bit 3)");
    want_zero(out, bits, 23, 23, "bit 23");
    want_zero(out, bits, 29, 29, "bit 29");
    constexpr uint8_t kShifts[] = {0, 8, 16, 32};
    v.max_shift_b = kShifts[get(bits, 30, 31)];
    if (!form.ws) want_zero(out, bits, 30, 31, "B shift (bits 30-31)");
  }
  decode_types(out, form, bits);
  decode_signs_and_majors(out, form, bits);
  check_m(out, form);
  check_n(out, form);
  if (form.sparse) v.k *= 2;
  return out;
}

bool can_lie(MmaKind kind, MmaOperand operand, Major major, Swizzle swizzle) {
  const bool atom32 = swizzle == Swizzle::bytes128_atom32;
  if (major == Major::k) return !atom32;
  if (is_fp4(kind) || bits_of(operand) < 8) return false;
  return bits_of(operand) == 32 ? atom32 : !atom32;
}

}  // namespace cohort::emu
