// Gated activations and their derivatives, as docs/ops/glu.md and d_glu.md write them.
#pragma once

#include "engine/near.h"

namespace cohort::test::conformance {

/// activation = left * right, each of gate and up alone, and the derivatives of the two.
struct Parts {
  Near left, right, d_left, d_right;
};

inline Parts gated(Near g, Near u, double alpha, double beta, double limit) {
  const Near inside = min(g, limit);
  const Near up = max(min(u, limit), -limit) + beta;
  const Near s = sigmoid(Near(alpha) * inside);
  Near by_gate = s * (1.0 + Near(alpha) * inside * (1.0 - s));
  Near by_up = 1.0;
  if (g.v > limit) by_gate = 0.0;
  if (std::fabs(u.v) > limit) by_up = 0.0;
  return {s * inside, up, by_gate, by_up};
}

inline Parts situ(Near g, Near u, double b1, double b2) {
  const Near t = tanh(g / b1);
  const Near v = tanh(u / b2);
  const Near s = sigmoid(g);
  return {b1 * t * s, b2 * v, s * ((1.0 - t) * (1.0 + t) + b1 * t * (1.0 - s)),
          (1.0 - v) * (1.0 + v)};
}

/// A gradient that is masked is 0 whatever the other factors are.
inline Near product(Near factor, Near derivative) {
  const bool masked = derivative.v == 0 && derivative.e == 0;
  return masked ? Near(0.0) : factor * derivative;
}

}  // namespace cohort::test::conformance
