// EXPECT BAD1: Value::then takes no root op: give it to Builder::add
// EXPECT BAD2: Builder::add takes no epilogue op: give it to Value::then
// EXPECT BAD3: ScaledTensor takes no epilogue
// EXPECT BAD4: Quantized takes no epilogue
// EXPECT BAD5: cohort::StoredOperand
// EXPECT BAD6: Tensor
// EXPECT BAD7: Value::then takes an op
// EXPECT BAD8: cohort::Quantized
// EXPECT BAD9: cohort::Value
// EXPECT BAD10: Builder::add takes an op
// EXPECT BAD11: cohort::StoredOperand
#include <cohort/cohort.h>

using namespace cohort;

void use(Builder& g, Tensor x, Weights w, Groups ends, Value v, Quantized q, ScaledTensor s,
         RowVec gate) {
  (void)g;
  (void)x;
  (void)w;
  (void)ends;
  (void)v;
  (void)q;
  (void)s;
  (void)gate;
#if defined(BAD1)  // a root in then
  auto y = v.then(GroupedGemm{.a = x, .b = w, .groups = ends});
#elif defined(BAD2)   // an epilogue in add
  auto y = g.add(RowGate{.by = gate});
#elif defined(BAD3)   // a quantised tensor has no epilogue
  auto y = s.then(RowGate{.by = gate});
#elif defined(BAD4)   // a quantised pair has no epilogue
  auto y = q.then(RowGate{.by = gate});
#elif defined(BAD5)   // a quantised pair as operand
  auto y = g.add(Load{.x = q});
#elif defined(BAD6)   // a stored tensor has no epilogue
  auto y = x.then(RowGate{.by = gate});
#elif defined(BAD7)   // no op at all
  auto y = v.then(gate);
#elif defined(BAD10)  // no op at all
  auto y = g.add(x);
#elif defined(BAD8)   // a quantised pair as output
  g.output("y", q);
  int y = 0;
#elif defined(BAD9)   // a quantised tensor as residual
  auto y = v.then(Add{.c = s});
#elif defined(BAD11)  // a computed value is loaded
  auto y = g.add(Load{.x = v});
#else
  auto y = v.then(RowGate{.by = gate}).then(Add{.c = v});
  auto z = g.add(Load{.x = q.row});
  (void)z;
  g.output("y", q.col);
#endif
  (void)y;
}
