#include "plain.h"

#include <cmath>
#include <cstddef>

void PlainStep::run() {
  y.assign(x.size(), 0);
  dx.assign(x.size(), 0);
  dw1.assign(w1.size(), 0);
  dw2.assign(w2.size(), 0);
  db1.assign(b1.size(), 0);
  db2.assign(b2.size(), 0);
  dprob.assign(prob.size(), 0);
  int64_t begin = 0;
  for (int64_t e = 0; e < kExperts; ++e) {
    const int64_t end = ends[static_cast<size_t>(e)];
    for (int64_t r = begin; r < end; ++r) row(e, r);
    begin = end;
  }
}

void PlainStep::row(int64_t e, int64_t r) {
  const double p = prob[static_cast<size_t>(r)];
  const double* from = x.data() + r * kHidden;
  const double* grad = dy.data() + r * kHidden;
  double* to = y.data() + r * kHidden;
  double* back = dx.data() + r * kHidden;
  double& gate = dprob[static_cast<size_t>(r)];
  for (int64_t i = 0; i < kHidden; ++i) {
    const auto at = static_cast<size_t>(e * kHidden + i);
    to[i] += p * b2[at];
    db2[at] += p * grad[i];
    gate += grad[i] * b2[at];
  }
  for (int64_t j = 0; j < kInter; ++j) {
    const auto at = static_cast<size_t>(e * kInter + j);
    const double* weight = w1.data() + (e * kInter + j) * kHidden;
    double* d_weight = dw1.data() + (e * kInter + j) * kHidden;
    double c = b1[at];
    for (int64_t i = 0; i < kHidden; ++i) c += weight[i] * from[i];
    const double relu = std::fmax(c, 0);
    double da = 0;
    for (int64_t i = 0; i < kHidden; ++i) {
      const auto k = static_cast<size_t>((e * kHidden + i) * kInter + j);
      to[i] += w2[k] * p * relu * relu;
      da += w2[k] * grad[i];
      dw2[k] += grad[i] * p * relu * relu;
    }
    gate += da * relu * relu;
    const double dc = da * 2 * relu * p;
    db1[at] += dc;
    for (int64_t i = 0; i < kHidden; ++i) {
      back[i] += dc * weight[i];
      d_weight[i] += dc * from[i];
    }
  }
}
