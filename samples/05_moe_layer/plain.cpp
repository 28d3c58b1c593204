#include "plain.h"

#include <cmath>
#include <cstddef>

namespace {

double dot(const double* a, const double* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

double PlainLayer::entry(int64_t t, int64_t j) const {
  const LayerShape& s = shape;
  const int64_t e = routing.expert[static_cast<size_t>(t * s.top_k + j)];
  std::vector<double> a(static_cast<size_t>(s.inter));
  for (int64_t i = 0; i < s.inter; ++i) {
    const double* gate = w1.data() + (e * s.inter + i) * 2 * s.hidden;
    const double* from = x.data() + t * s.hidden;
    const double g = dot(gate, from, s.hidden);
    a[static_cast<size_t>(i)] = g / (1 + std::exp(-g)) * dot(gate + s.hidden, from, s.hidden);
  }
  double sum = 0;
  for (int64_t n = 0; n < s.hidden; ++n) {
    const double y = dot(w2.data() + (e * s.hidden + n) * s.inter, a.data(), s.inter);
    sum += d_o[static_cast<size_t>(t * s.hidden + n)] * y;
  }
  return sum;
}

double PlainLayer::loss() const {
  double sum = 0;
  for (int64_t t = 0; t < shape.tokens; t += every) {
    for (int64_t j = 0; j < shape.top_k; ++j) {
      sum += weight[static_cast<size_t>(t * shape.top_k + j)] * entry(t, j);
    }
  }
  return sum;
}
