// EXPECT BAD1: cohort::RowVec
// EXPECT BAD2: "Cast::to"
// EXPECT BAD3: "Quantize::to"
// EXPECT BAD4: "Unary::mode"
// EXPECT BAD5: cohort::RowVec
// EXPECT BAD6: cohort::GroupMat
// EXPECT BAD7: cohort::Value
// EXPECT BAD8: "Cast::to"
// EXPECT BAD9: "Quantize::to"
// EXPECT BAD10: cohort::ScalarArg
// EXPECT BAD11: cohort::RowVec
// EXPECT BAD12: cohort::RowVec
// EXPECT BAD13: cohort::RowVec
// EXPECT g++ BAD14: "Quantize::to"
// EXPECT clang++ BAD14: field 'axes'
// EXPECT BAD15: Scalar>
// EXPECT BAD16: cohort::Arg
// EXPECT BAD17: cohort::Arg
// EXPECT BAD18: cohort::MatrixArg
// EXPECT BAD19: cohort::Arg
// EXPECT BAD20: cohort::Arg
// EXPECT BAD21: "Glu::packing"
// EXPECT BAD22: "DGlu::act"
// EXPECT BAD23: "Binary::mode"
// EXPECT BAD24: "Compare::mode"
// EXPECT BAD25: "Glu::act"
#include <cohort/cohort.h>

using namespace cohort;

#ifdef __clang__
// An error in the standard; clang means the same and warns.
#pragma clang diagnostic error "-Wreorder-init-list"
#endif

void use(Value v, Weights w, RowVec gate, GroupVec alphas, GroupMat bias, Scalar norm, Tensor x,
         Groups ends, ColVec col, ScaledTensor scaled) {
  (void)v;
  (void)w;
  (void)gate;
  (void)alphas;
  (void)bias;
  (void)norm;
  (void)x;
  (void)ends;
  (void)col;
  (void)scaled;
#if defined(BAD1)  // weights as a row vector
  auto y = v.then(RowGate{.by = w});
#elif defined(BAD2)   // forgotten Cast::to
  auto y = v.then(Cast{});
#elif defined(BAD3)   // forgotten Quantize::to
  auto y = v.then(Quantize{.axes = Axes::both});
#elif defined(BAD4)   // forgotten Unary::mode
  auto y = v.then(Unary{});
#elif defined(BAD5)   // a group vector as a row vector
  auto y = v.then(RowScale{.by = alphas});
#elif defined(BAD6)   // a row vector as bias
  auto y = v.then(Bias{.by = gate});
#elif defined(BAD7)   // a stored tensor as residual: it must be loaded
  auto y = v.then(Add{.c = x});
#elif defined(BAD8)   // a format where a type is wanted
  auto y = v.then(Cast{.to = Format::mxfp4});
#elif defined(BAD9)   // a type where a format is wanted
  auto y = v.then(Quantize{.to = DType::e4m3});
#elif defined(BAD10)  // groups as the norm
  auto y = v.then(Quantize{.to = Format::mxfp4, .norm = ends});
#elif defined(BAD11)  // a feature vector as a row vector
  auto y = v.then(RowGate{.by = col});
#elif defined(BAD12)  // a number as a row vector
  auto y = v.then(RowGate{.by = 0.5f});
#elif defined(BAD13)  // forgotten RowGate::by
  auto y = v.then(RowGate{});
#elif defined(BAD14)  // attributes out of order
  auto y = v.then(Quantize{.axes = Axes::both, .to = Format::mxfp4});
#elif defined(BAD15)  // a seed by value
  auto y = v.then(Quantize{.to = Format::mxfp4, .seed = 1});
#elif defined(BAD16)  // groups as an operand
  auto y = v.then(Binary{.mode = BinaryMode::add, .by = ends});
#elif defined(BAD17)  // a forgotten operand
  auto y = v.then(Compare{.mode = CompareMode::lt});
#elif defined(BAD18)  // a row vector as the saved input
  auto y = v.then(Unary{.mode = UnaryMode::relu, .direction = Direction::bwd, .x = gate});
#elif defined(BAD19)  // a quantised operand
  auto y = v.then(Select{.if_true = scaled, .if_false = 0.0});
#elif defined(BAD20)  // weights as an operand that broadcasts
  auto y = v.then(Binary{.mode = BinaryMode::mul, .by = w});
#elif defined(BAD21)  // forgotten Glu::packing
  auto y = v.then(Glu{.act = GluAct::swiglu});
#elif defined(BAD22)  // forgotten DGlu::act
  auto y = v.then(DGlu{.c = v, .packing = Packing::split});
#elif defined(BAD23)  // forgotten Binary::mode
  auto y = v.then(Binary{.by = 1.0});
#elif defined(BAD24)  // forgotten Compare::mode
  auto y = v.then(Compare{.by = 1.0});
#elif defined(BAD25)  // forgotten Glu::act
  auto y = v.then(Glu{.packing = Packing::split});
#else
  auto y = v.then(Alpha{.by = alphas}).then(RowScale{.by = gate}).then(Bias{.by = bias});
  auto z = y.then(Cast{.to = DType::bf16, .scale = norm});
  (void)z;
  auto s = z.then(Binary{.mode = BinaryMode::mul, .by = x})
               .then(Compare{.mode = CompareMode::lt, .by = 1.0})
               .then(Select{.if_true = col, .if_false = v});
  (void)s;
  auto q = z.then(Quantize{.to = Format::mxfp4, .norm = norm, .qmax = 6.0f});
  (void)q;
#endif
  (void)y;
}
