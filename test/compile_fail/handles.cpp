// EXPECT BAD1: cohort::Tensor
// EXPECT BAD2: cohort::Builder
// EXPECT g++ BAD3: cohort::Builder
// EXPECT clang++ BAD3: finish
// EXPECT BAD4: cohort::DType
// EXPECT BAD5: cohort::Format
// EXPECT BAD6: cohort::Dim
#include <cohort/cohort.h>

using namespace cohort;

void use(Builder& g, Dim t) {
  (void)g;
  (void)t;
#if defined(BAD1)  // a handle that nobody made
  Tensor x;
#elif defined(BAD2)  // a builder is no value
  Builder x = g;
#elif defined(BAD3)  // finish() ends a builder: std::move(g).finish()
  auto x = g.finish();
#elif defined(BAD4)  // a format where a type is wanted
  auto x = g.input("x", {t, 4}, Format::mxfp8_e4m3);
#elif defined(BAD5)  // a type where a format is wanted
  auto x = g.scaled_input("x", {t, 4}, DType::e4m3);
#elif defined(BAD6)  // a truth value is no extent
  Dim x = true;
#else
  auto x = g.input("x", {t, 4}, DType::bf16);
#endif
  (void)x;
}
