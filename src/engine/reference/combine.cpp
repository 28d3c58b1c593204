#include "engine/reference/combine.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "ir/op_record.h"

namespace cohort::engine::reference {

using ir::kNone;
using Kind = ir::Reference::Kind;

namespace {

// A packed f32 matrix of the same extents in place of an operand.
void replace(StoredRef& ref, const float* numbers) {
  if (numbers == nullptr) return;
  StoredRef r;
  // Only read: nothing in this file writes to an operand.
  r.data = const_cast<float*>(numbers);
  r.rows = ref.rows;
  r.columns = ref.columns;
  r.row_stride = ref.columns;
  ref = r;
}

}  // namespace

CombineRows::CombineRows(const Memory& memory, const ir::Node& node, const CombineNumbers& numbers)
    : m_(memory), kind_(node.op->reference.kind), absolute_(numbers.absolute) {
  const ir::Graph& g = m_.graph();
  const auto value = [&](int32_t v) -> const ir::Value& {
    return g.values[static_cast<size_t>(v)];
  };
  const bool spreads = kind_ == Kind::d_combine;
  y_ = m_.matrix(g.operand(node, spreads ? "d_out" : "y"));
  if (kind_ == Kind::d_combine_weights) d_out_ = m_.matrix(g.operand(node, "d_out"));
  replace(y_, numbers.y);
  replace(d_out_, numbers.d_out);
  index_ = g.operand(node, spreads ? "scat" : "rev");
  weights_ = kind_ == Kind::d_combine_weights ? kNone : g.operand(node, "weights");
  const ir::Value& index = value(index_);
  if (spreads) {
    per_token_ = g.field(node, "top_k").integer;
    const int64_t tokens = weights_ == kNone ? y_.rows : m_.extent(value(weights_).shape[0]);
    entries_ = base::checked_mul(tokens, per_token_).value_or(std::numeric_limits<int64_t>::max());
  } else {
    if (index.shape.rank > 1) per_token_ = m_.extent(index.shape[1]);
    entries_ = m_.extent(index.shape[0]) * per_token_;
  }
  if (const int32_t koff = g.operand(node, "koff"); koff != kNone) {
    has_koff_ = true;
    by_token_ = m_.groups(koff, entries_);
    if (kind_ != Kind::combine) owner_.assign(static_cast<size_t>(entries_), -1);
    for (size_t t = 0; t < by_token_.size() && !owner_.empty(); ++t) {
      const RowGroup& entries = by_token_[t];
      std::fill_n(owner_.begin() + entries.begin, entries.rows, static_cast<int64_t>(t));
    }
  }
  columns_ = m_.extent(value(node.first_result).shape[1]);
}

CombineRows::Entries CombineRows::entries_of(int64_t token) const {
  if (!has_koff_) return {token * per_token_, per_token_};
  const RowGroup& g = by_token_[static_cast<size_t>(token)];
  return {g.begin, g.rows};
}

int64_t CombineRows::token_of(int64_t entry) const {
  return has_koff_ ? owner_[static_cast<size_t>(entry)] : entry / per_token_;
}

float CombineRows::weight(int64_t entry) const {
  if (weights_ == kNone) return 1;
  const StoredRef w = m_.matrix(weights_);
  float x = 0;
  w.read_codes(entry / w.columns, entry % w.columns, 1, &x);
  return absolute_ ? std::fabs(x) : x;
}

void CombineRows::read(const StoredRef& from, int64_t row, std::vector<double>& out) const {
  from.read(row, 0, from.columns, nullptr, out.data());
  if (!absolute_) return;
  for (double& x : out) x = std::fabs(x);
}

int64_t CombineRows::terms() const {
  if (kind_ == Kind::d_combine) return 1;
  if (kind_ == Kind::d_combine_weights) return y_.columns;
  int64_t most = per_token_;
  for (const RowGroup& g : by_token_) most = std::max(most, g.rows);
  return most;
}

void CombineRows::rows(int64_t first, int64_t rows, float* out) const {
  if (columns_ == 0) return;
  for (int64_t r = first; r < first + rows; ++r, out += columns_) {
    if (kind_ == Kind::combine) sum(r, out);
    if (kind_ == Kind::d_combine) spread(r, out);
    if (kind_ == Kind::d_combine_weights) {
      // A row is a token, or with koff an entry.
      dots(has_koff_ ? token_of(r) : r, has_koff_ ? r : r * per_token_, columns_, out);
    }
  }
}

// Entries in ascending order; product and sum are each rounded to f32.
void CombineRows::sum(int64_t token, float* out) const {
  std::fill(out, out + columns_, 0.0f);
  std::vector<double> row(static_cast<size_t>(columns_));
  const Entries e = entries_of(token);
  for (int64_t j = e.first; j < e.first + e.count; ++j) {
    const int64_t from = m_.index_row(index_, j, y_.rows, true);
    if (from < 0) continue;
    read(y_, from, row);
    const float w = weight(j);
    for (int64_t n = 0; n < columns_; ++n) {
      out[n] += w * static_cast<float>(row[static_cast<size_t>(n)]);
    }
  }
}

void CombineRows::spread(int64_t row, float* out) const {
  std::fill(out, out + columns_, 0.0f);
  const int64_t entry = m_.index_row(index_, row, entries_, true);
  if (entry < 0) return;
  const int64_t token = token_of(entry);
  if (token < 0) return;
  std::vector<double> x(static_cast<size_t>(columns_));
  read(y_, token, x);
  const float w = weight(entry);
  for (int64_t n = 0; n < columns_; ++n) out[n] = w * static_cast<float>(x[static_cast<size_t>(n)]);
}

// Inner products in f64, features ascending, rounded once.
void CombineRows::dots(int64_t token, int64_t first, int64_t count, float* out) const {
  std::fill(out, out + count, 0.0f);
  if (token < 0) return;
  const int64_t width = y_.columns;
  std::vector<double> d(static_cast<size_t>(width));
  std::vector<double> x(static_cast<size_t>(width));
  read(d_out_, token, d);
  for (int64_t j = 0; j < count; ++j) {
    const int64_t from = m_.index_row(index_, first + j, y_.rows, true);
    if (from < 0) continue;
    read(y_, from, x);
    double dot = 0;
    for (size_t n = 0; n < x.size(); ++n) dot += d[n] * x[n];
    out[j] = static_cast<float>(dot);
  }
}

}  // namespace cohort::engine::reference
