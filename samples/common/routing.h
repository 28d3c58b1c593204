// Which token goes to which expert: top-k routing on the host, and the index arrays that the graphs
// of a mixture-of-experts layer read. Not an op: a framework does this with its own kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace sample {

/// Rows of the grouped buffer stand by expert, and by token within an expert. R = tokens * top_k.
struct Routing {
  int64_t tokens = 0;
  int64_t experts = 0;
  int64_t top_k = 0;
  std::vector<int32_t> expert;    ///< (tokens, top_k): the chosen experts, best first.
  std::vector<float> weight;      ///< (tokens, top_k): softmax over the chosen logits.
  std::vector<int32_t> ends;      ///< (experts): cumulative ends of the groups.
  std::vector<int32_t> token;     ///< (R): token of a row, the index of gather.
  std::vector<int32_t> entry;     ///< (R): flat entry t * top_k + j of a row.
  std::vector<int32_t> row;       ///< (tokens, top_k): row of an entry, the inverse of `entry`.
  std::vector<float> row_weight;  ///< (R): `weight` by row.
};

/// The `top_k` largest logits of each token: equal ones by the lower expert, NaN last.
inline std::vector<int32_t> top_k(std::span<const float> logits, int64_t experts, int64_t k) {
  const int64_t tokens = experts > 0 ? static_cast<int64_t>(logits.size()) / experts : 0;
  std::vector<int32_t> chosen;
  std::vector<int32_t> order(static_cast<size_t>(experts));
  for (int64_t t = 0; t < tokens; ++t) {
    const float* l = logits.data() + t * experts;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [l](int32_t a, int32_t b) {
      return std::isnan(l[a]) ? false : std::isnan(l[b]) || l[a] > l[b];
    });
    chosen.insert(chosen.end(), order.begin(), order.begin() + k);
  }
  return chosen;
}

/// Routes tokens: logits (tokens, experts), 1 <= k <= experts, tokens * k below 2^31.
inline Routing route(std::span<const float> logits, int64_t experts, int64_t k) {
  Routing r;
  r.tokens = static_cast<int64_t>(logits.size()) / experts;
  r.experts = experts;
  r.top_k = k;
  r.expert = top_k(logits, experts, k);
  r.weight.resize(r.expert.size());
  for (int64_t t = 0; t < r.tokens; ++t) {
    const float* l = logits.data() + t * experts;
    const int32_t* e = r.expert.data() + t * k;
    float* w = r.weight.data() + t * k;
    float sum = 0;
    for (int64_t j = 0; j < k; ++j) sum += w[j] = std::exp(l[e[j]] - l[e[0]]);
    for (int64_t j = 0; j < k; ++j) w[j] /= sum;
  }
  r.ends.assign(static_cast<size_t>(experts), 0);
  for (int32_t e : r.expert) ++r.ends[static_cast<size_t>(e)];
  std::partial_sum(r.ends.begin(), r.ends.end(), r.ends.begin());
  // Entries by expert, in their own order within one.
  r.entry.resize(r.expert.size());
  std::iota(r.entry.begin(), r.entry.end(), 0);
  std::stable_sort(r.entry.begin(), r.entry.end(), [&](int32_t a, int32_t b) {
    return r.expert[static_cast<size_t>(a)] < r.expert[static_cast<size_t>(b)];
  });
  r.row.resize(r.entry.size());
  for (size_t row = 0; row < r.entry.size(); ++row) {
    const auto entry = static_cast<size_t>(r.entry[row]);
    r.row[entry] = static_cast<int32_t>(row);
    r.token.push_back(static_cast<int32_t>(entry / static_cast<size_t>(k)));
    r.row_weight.push_back(r.weight[entry]);
  }
  return r;
}

}  // namespace sample
