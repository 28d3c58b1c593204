// The two graphs of a bf16 mixture-of-experts layer. The command bundles them (`cohort sample`).
#pragma once

#include <cohort/cohort.h>

#include <cstdint>

/// Extents of the layer.
struct LayerShape {
  int64_t tokens = 96;                             ///< T
  int64_t hidden = 48;                             ///< d
  int64_t inter = 32;                              ///< n, the features of an expert behind the GLU
  int64_t experts = 4;                             ///< E
  int64_t top_k = 2;                               ///< K, experts a token
  int64_t rows() const { return tokens * top_k; }  ///< R
};

/// x -> o, and h, the one intermediate that is kept for the backward.
cohort::Result<cohort::Graph> forward_graph(const LayerShape& s);

/// d_o and what was kept -> dx, dw1, dw2 and the gradient of the routing weights.
cohort::Result<cohort::Graph> backward_graph(const LayerShape& s);
