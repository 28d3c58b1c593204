// The functions of unary and their derivatives. Everything that is not exact in f32 is evaluated in
// f64 and rounded once by the caller, so the f32 result is within 0.5000001 units in the last
// place.
#pragma once

#include <cmath>

#include <cohort/ops/pointwise.h>

namespace cohort::ops {

/// The attributes of unary that functions have.
struct UnaryParameters {
  float lower_clip;
  float upper_clip;
  float slope;
  double alpha;
  double beta;
};

inline constexpr double kSqrtHalf = 0.70710678118654752440;
inline constexpr double kTwoRootTwoOverPi = 1.59576912160573071176;  // 2 sqrt(2 / pi)
inline constexpr double kRootHalfOverPi = 0.39894228040143267794;    // 1 / sqrt(2 pi)
inline constexpr double kGeluCubic = 0.044715;

inline double sigmoid(double z) { return 1 / (1 + std::exp(-z)); }
inline double gelu_angle(double x) { return kTwoRootTwoOverPi * (x + kGeluCubic * x * x * x); }

/// NaN and -0 within the range stay as they are.
inline float relu(const UnaryParameters& q, float x) {
  if (x < q.lower_clip) {
    if (q.slope == 0) return q.lower_clip;
    return static_cast<float>(static_cast<double>(q.lower_clip) +
                              static_cast<double>(q.slope) *
                                  (static_cast<double>(x) - static_cast<double>(q.lower_clip)));
  }
  return x > q.upper_clip ? q.upper_clip : x;
}

/// The gradient passes up to and at upper_clip; at and below lower_clip it has the slope. One that
/// does not pass is 0 whatever it was; NaN in x stays.
inline float relu_gradient(const UnaryParameters& q, float dy, float x) {
  if (std::isnan(x)) return x;
  if (x <= q.lower_clip) return q.slope == 0 ? 0.0f : dy * q.slope;
  return x <= q.upper_clip ? dy : 0.0f;
}

/// Calls g(f) with the f64 function of a mode; false when the mode has none.
template <class G>
bool with_function(UnaryMode mode, const UnaryParameters& q, G&& g) {
  const double a = q.alpha;
  const double b = q.beta;
  switch (mode) {
    case UnaryMode::silu:
      g([b](double x) { return x * sigmoid(b * x); });
      return true;
    case UnaryMode::gelu:
      // erfc keeps the digits that 1 + erf(x) loses for negative x.
      g([](double x) { return x * 0.5 * std::erfc(-x * kSqrtHalf); });
      return true;
    case UnaryMode::gelu_tanh:
      g([](double x) { return x * sigmoid(gelu_angle(x)); });  // (1 + tanh(u)) / 2 = sigmoid(2 u)
      return true;
    case UnaryMode::tanh:
      g([](double x) { return std::tanh(x); });
      return true;
    case UnaryMode::sigmoid:
      g([](double x) { return sigmoid(x); });
      return true;
    case UnaryMode::elu:
      g([a](double x) { return x > 0 ? x : a * std::expm1(x); });
      return true;
    case UnaryMode::softplus:
      g([b](double x) {
        const double z = b * x;
        return ((z > 0 ? z : 0) + std::log1p(std::exp(-std::fabs(z)))) / b;
      });
      return true;
    case UnaryMode::exp:
      g([](double x) { return std::exp(x); });
      return true;
    case UnaryMode::log:
      g([](double x) { return std::log(x); });
      return true;
    case UnaryMode::rsqrt:
      g([](double x) { return 1 / std::sqrt(x); });
      return true;
    case UnaryMode::erf:
      g([](double x) { return std::erf(x); });
      return true;
    case UnaryMode::sin:
      g([](double x) { return std::sin(x); });
      return true;
    case UnaryMode::cos:
      g([](double x) { return std::cos(x); });
      return true;
    case UnaryMode::tan:
      g([](double x) { return std::tan(x); });
      return true;
    default:
      return false;
  }
}

/// Calls g(f') with the f64 derivative of a mode; false when the mode has none here.
template <class G>
bool with_derivative(UnaryMode mode, const UnaryParameters& q, G&& g) {
  const double a = q.alpha;
  const double b = q.beta;
  switch (mode) {
    case UnaryMode::silu:
      g([b](double x) {
        const double z = b * x;
        return sigmoid(z) * (1 + z * sigmoid(-z));
      });
      return true;
    case UnaryMode::gelu:
      g([](double x) {
        return 0.5 * std::erfc(-x * kSqrtHalf) + x * kRootHalfOverPi * std::exp(-0.5 * x * x);
      });
      return true;
    case UnaryMode::gelu_tanh:
      g([](double x) {
        const double u = gelu_angle(x);
        const double slope = kTwoRootTwoOverPi * (1 + 3 * kGeluCubic * x * x);
        return sigmoid(u) + x * (sigmoid(u) * sigmoid(-u)) * slope;
      });
      return true;
    case UnaryMode::tanh:
      // 1 - tanh^2 without its cancellation.
      g([](double x) {
        const double e = std::exp(-2 * std::fabs(x));
        return 4 * e / ((1 + e) * (1 + e));
      });
      return true;
    case UnaryMode::sigmoid:
      g([](double x) { return sigmoid(x) * sigmoid(-x); });
      return true;
    case UnaryMode::elu:
      g([a](double x) { return x > 0 ? 1.0 : a * std::exp(x); });
      return true;
    case UnaryMode::softplus:
      g([b](double x) { return sigmoid(b * x); });
      return true;
    default:
      return false;
  }
}

/// Whether a mode has a direction bwd.
inline bool is_differentiated(UnaryMode mode) {
  return mode >= UnaryMode::relu && mode <= UnaryMode::softplus;
}

}  // namespace cohort::ops
