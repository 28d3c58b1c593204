#include "ops/product.h"

#include <string>

namespace cohort::ops {

namespace {

// What the tensor core multiplies an operand as. Two operands fit when their families are equal.
enum class Family : uint8_t { f32, f16, fp8_f32_scales, mx, nvfp4 };

std::string_view text(Family f) {
  switch (f) {
    case Family::f32:
      return "f32";
    case Family::f16:
      return "f16 or bf16";
    case Family::fp8_f32_scales:
      return "fp8 with f32 scales";
    case Family::mx:
      return "MX block scales (UE8M0)";
    case Family::nvfp4:
      return "nvfp4";
  }
  return {};
}

Family family(const ir::Value& v) {
  if (!v.scaled) return v.dtype == DType::f32 ? Family::f32 : Family::f16;
  switch (v.scaled->format) {
    case Format::mxfp8_e4m3:
    case Format::mxfp8_e5m2:
    case Format::mxfp4:
      return Family::mx;
    case Format::nvfp4:
      return Family::nvfp4;
    default:
      return Family::fp8_f32_scales;
  }
}

bool same_kind(const ir::Value& a, const ir::Value& b) {
  const Family fa = family(a);
  if (fa != family(b)) return false;
  if (fa == Family::f16) return a.dtype == b.dtype;
  if (fa == Family::fp8_f32_scales) return a.scaled->format == b.scaled->format;
  return true;
}

void check_axis(ir::Infer& infer, std::string_view field) {
  const ir::Value* v = infer.operand(field);
  if (v == nullptr || !v->scaled || v->scaled->axis != Axes::col) return;
  infer.fail("E-LAYOUT", field, -1, "blocks along K (axis row)", "blocks along tokens (axis col)",
             "scales of " + infer.describe(*v) + " run along tokens, the product sums along K");
}

// Whether an operand could stand in some product; with a finding when it could not.
bool check_alone(ir::Infer& infer, std::string_view field) {
  const ir::Value* v = infer.operand(field);
  if (v == nullptr) return false;
  const bool is_fp8 = v->dtype == DType::e4m3 || v->dtype == DType::e5m2;
  if (v->scaled || v->role != Role::value || !is_fp8) return true;
  infer.fail("E-DTYPE", field, -1, "f32, f16, bf16 or a quantised tensor",
             std::string(name(v->dtype)), "an fp8 value has no scales: use Quantize");
  return false;
}

}  // namespace

void check_shifted(ir::Infer& infer, std::string_view field, std::string_view wanted) {
  const ir::Value* v = infer.operand(field);
  if (v == nullptr || !v->scaled || !is_placed_by_group(v->scaled->layout)) return;
  const std::string layout(name(v->scaled->layout));
  infer.fail("E-LAYOUT", field, -1, "tiled_128x4 or linear", layout,
             layout + " scales of " + infer.describe(*v) + " are placed by group: they need " +
                 std::string(wanted));
}

void want_blocks_by_group(ir::Infer& c, std::string_view field) {
  const ir::Value* v = c.operand(field);
  const ir::Value* groups = c.operand("groups");
  if (v == nullptr || groups == nullptr || v->node == ir::kNone || v->groups != ir::kNone) return;
  if (!v->scaled || v->scaled->axis != Axes::col || ir::is_whole(*groups)) return;
  const bool is_one_matrix = v->scaled->layout == ScaleLayout::global;
  if (is_one_matrix && v->scaled->storage != ColStorage::ragged) return;
  c.fail("E-GROUPS", field, -1, "column blocks of the same groups", "column blocks without groups",
         c.describe(*v) + " was quantised as one group: no other group has blocks of its own in it",
         "quantise a value that has the groups, or use col_layout global");
}

bool want_counted(ir::Infer& infer, std::string_view field) {
  const ir::Value* v = infer.operand(field);
  if (v == nullptr) return false;
  if (v->shape[0].symbol == ir::kNone) return true;
  infer.fail("E-GROUPS", field, 0, "a number of groups", infer.text(v->shape[0]),
             infer.describe(*v) + " has a named number of groups: only koff takes such");
  return false;
}

void check_operand_pair(ir::Infer& infer, std::string_view field_a, std::string_view field_b) {
  check_axis(infer, field_a);
  check_axis(infer, field_b);
  check_operand_kinds(infer, field_a, field_b);
}

void check_operand_kinds(ir::Infer& infer, std::string_view field_a, std::string_view field_b) {
  const bool a_good = check_alone(infer, field_a);
  if (!check_alone(infer, field_b) || !a_good) return;
  const ir::Value& a = *infer.operand(field_a);
  const ir::Value& b = *infer.operand(field_b);
  if (same_kind(a, b)) return;
  const std::string_view kind_a = a.scaled ? name(a.scaled->format) : name(a.dtype);
  const std::string_view kind_b = b.scaled ? name(b.scaled->format) : name(b.dtype);
  const bool one_family = family(a) == family(b);
  const std::string in_a(one_family ? kind_a : text(family(a)));
  const std::string in_b(one_family ? kind_b : text(family(b)));
  std::string hint;
  if (one_family) {
    hint = a.scaled ? "f32 scales of both must be one format: requantise one operand"
                    : "both must be one type: cast one operand";
  } else if (a.scaled && b.scaled) {
    hint = "f32, UE8M0 and E4M3 scales are different types: requantise one operand";
  }
  infer.fail("E-DTYPE", field_b, -1, std::string(kind_a), std::string(kind_b),
             "no product of " + infer.describe(a) + " [" + in_a + "] and " + infer.describe(b) +
                 " [" + in_b + "]",
             hint);
}

}  // namespace cohort::ops
