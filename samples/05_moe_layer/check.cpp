#include "check.h"

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "numbers.h"

using namespace cohort;
using sample::read;

namespace {

// bf16 rounds by at most 2^-8 of a number. The errors of many summands have any sign, so that of a
// sum is, in the mean, as large a part of it as theirs: what stands behind n roundings is off by no
// more than n * 2^-8 of itself. h counts twice, for gate and up.
bool within(const char* name, double error, double size, int roundings) {
  const double relative = error / size;
  const double allowed = roundings * 0x1p-8;
  std::printf("  %-9s %5.2f %%, allowed %5.2f %%\n", name, 100 * relative, 100 * allowed);
  return relative <= allowed;
}

// Along a direction of random signs the loss rises by <gradient, direction>; a gradient that is off
// by e is off by |e| there, in the mean. Differences in f64 err by far less than a rounding does.
bool agrees(const char* name, PlainLayer& layer, std::vector<double>& parameter,
            const std::vector<float>& gradient, int roundings) {
  constexpr int kDirections = 8;
  constexpr double kStep = 1e-5;
  std::mt19937 random(7);
  const std::vector<double> at = parameter;
  double size = 0;
  for (float g : gradient) size += static_cast<double>(g) * g;
  double error = 0;
  for (int i = 0; i < kDirections; ++i) {
    double slope = 0;
    std::vector<double> back = at;
    for (size_t k = 0; k < at.size(); ++k) {
      const double sign = random() % 2 == 0 ? 1 : -1;
      slope += sign * gradient[k];
      parameter[k] = at[k] + sign * kStep;
      back[k] = at[k] - sign * kStep;
    }
    const double above = layer.loss();
    parameter.swap(back);
    const double wanted = (above - layer.loss()) / (2 * kStep);
    error += (slope - wanted) * (slope - wanted) / kDirections;
  }
  parameter = at;
  return within(name, std::sqrt(error), std::sqrt(size), roundings);
}

// The gradients of the routing weights, as sums over n, are the <d_o, y> that they stand for.
bool routing_agrees(const PlainLayer& layer, const std::vector<float>& by_row) {
  double error = 0, size = 0;
  for (int64_t t = 0; t < layer.shape.tokens; t += layer.every) {
    for (int64_t j = 0; j < layer.shape.top_k; ++j) {
      const auto row = layer.routing.row[static_cast<size_t>(t * layer.shape.top_k + j)];
      const double wanted = layer.entry(t, j);
      error += std::pow(by_row[static_cast<size_t>(row)] - wanted, 2);
      size += wanted * wanted;
    }
  }
  return within("routing", std::sqrt(error), std::sqrt(size), 2);  // h h
}

// The loss with o as the graph has it. Behind a, y and o are three roundings.
bool output_agrees(const PlainLayer& layer, const std::vector<float>& o) {
  double loss = 0, size = 0;
  for (size_t i = 0; i < o.size(); ++i) {
    loss += layer.d_o[i] * o[i];
    size += std::pow(layer.d_o[i] * o[i], 2);
  }
  return within("o", std::abs(loss - layer.loss()), std::sqrt(size), 3);
}

}  // namespace

bool check(PlainLayer& layer, const sample::HostMemory& f, const sample::HostMemory& b) {
  const int64_t tokens = layer.shape.tokens;
  std::printf(
      "error against the layer in f64, gradients against differences of a loss over %lld of the "
      "%lld\n"
      "tokens, and what the roundings to bf16 on the way allow\n",
      static_cast<long long>(tokens - 1) / layer.every + 1, static_cast<long long>(tokens));
  const auto f32 = [&](const char* name, size_t count) { return read(b, name, DType::f32, count); };
  bool good = output_agrees(layer, read(f, "o", DType::bf16, layer.x.size()));
  good &= routing_agrees(layer, f32("d_weight", layer.routing.entry.size()));
  good &=
      agrees("x", layer, layer.x, read(b, "dx", DType::bf16, layer.x.size()), 5);  // h h dh dx dx
  good &= agrees("w1", layer, layer.w1, f32("dw1", layer.w1.size()), 3);           // h h dh
  good &= agrees("w2", layer, layer.w2, f32("dw2", layer.w2.size()), 3);           // h h a
  return good;
}
