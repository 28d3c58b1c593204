// The same layer in plain f64 loops, to be differentiated by differences.
#pragma once

#include <cstdint>
#include <vector>

#include "layer.h"
#include "routing.h"

/// Parameters and input of the layer, with loss = <d_o, o>.
struct PlainLayer {
  LayerShape shape;
  sample::Routing routing;
  std::vector<double> x;       ///< (tokens, hidden)
  std::vector<double> w1;      ///< (experts, 2 * inter, hidden), gate and up alternate
  std::vector<double> w2;      ///< (experts, hidden, inter)
  std::vector<double> weight;  ///< (tokens, top_k)
  std::vector<double> d_o;     ///< (tokens, hidden); 0 but for every `every`-th token
  int64_t every = 1;

  /// <d_o[t], y[e]> for the j-th expert e of token t: the gradient of weight[t, j].
  double entry(int64_t t, int64_t j) const;
  double loss() const;
};
