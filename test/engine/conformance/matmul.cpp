#include "engine/conformance.h"

namespace cohort::test::conformance {

namespace {

template <class A, class B>
auto product(A a, B b, int64_t k_count, bool n_major = false) {
  return [=](int64_t m, int64_t n) {
    Sum acc;
    for (int64_t k = 0; k < k_count; ++k) acc.add(a(m, k) * (n_major ? b(k, n) : b(n, k)));
    return acc.result();
  };
}

void quantised(Case& c, Format a_format, Format b_format, int64_t k) {
  const auto a = c.scaled("a", k, a_format);
  const auto b = c.scaled("b", k, b_format, {}, 6);
  c.output("y", c.add(Matmul{.a = a.h, .b = b.h}), {}, product(a, b, k));
}

}  // namespace

CONFORMANCE(matmul, k_major) {
  const auto a = c.matrix("a", 9);
  const auto b = c.fixed("b", 7, 9);
  c.output("y", c.add(Matmul{.a = a.h, .b = b.h, .b_major = Major::k}), {}, product(a, b, 9));
}

CONFORMANCE(matmul, n_major_bf16) {
  const auto a = c.matrix("a", 16, DType::bf16);
  const auto b = c.fixed("b", 16, 8, DType::bf16);
  c.output("y", c.add(Matmul{.a = a.h, .b = b.h, .b_major = Major::n}), {.dtype = DType::bf16},
           product(a, b, 16, true));
}

CONFORMANCE(matmul, no_sum) {
  const auto a = c.matrix("a", 0);
  const auto b = c.fixed("b", 7, 0);
  c.output("y", c.add(Matmul{.a = a.h, .b = b.h}), {}, product(a, b, 0));
}

// Both operands are computed: products in f32 of values that were not rounded between.
CONFORMANCE(matmul, of_values) {
  const auto a = c.matrix("a", 9);
  const auto b = c.fixed("b", 7, 9);
  const auto va = c.add(Load{.x = a.h}).then(ReluSquared{});
  const auto vb = c.add(Load{.x = b.h}).then(Unary{.mode = UnaryMode::relu});
  c.output("y", c.add(Matmul{.a = va, .b = vb}), {}, [=](int64_t m, int64_t n) {
    Sum acc;
    for (int64_t k = 0; k < 9; ++k) acc.add(relu(a(m, k)) * relu(a(m, k)) * relu(b(n, k)));
    return acc.result();
  });
}

CONFORMANCE(matmul, mxfp8_by_mxfp4) { quantised(c, Format::mxfp8_e5m2, Format::mxfp4, 80); }
CONFORMANCE(matmul, mxfp8_by_e5m2) { quantised(c, Format::mxfp8_e4m3, Format::mxfp8_e5m2, 80); }
CONFORMANCE(matmul, mxfp4_by_mxfp8) { quantised(c, Format::mxfp4, Format::mxfp8_e4m3, 80); }
CONFORMANCE(matmul, nvfp4) { quantised(c, Format::nvfp4, Format::nvfp4, 48); }
CONFORMANCE(matmul, fp8_tensor) { quantised(c, Format::fp8_tensor, Format::fp8_tensor, 80); }
CONFORMANCE(matmul, fp8_row) { quantised(c, Format::fp8_row, Format::fp8_row, 80); }
CONFORMANCE(matmul, fp8_block128) { quantised(c, Format::fp8_block128, Format::fp8_block128, 300); }

}  // namespace cohort::test::conformance
