// Rows of tokens out of grouped rows, and the gradients of that.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/reference/memory.h"
#include "ir/reference.h"

namespace cohort::engine::reference {

/// Other numbers in place of the operands, and whether only magnitudes are summed: for error
/// bounds.
struct CombineNumbers {
  const float* y = nullptr;      ///< (R, d) in place of y, or (T, d) of d_out for d_combine.
  const float* d_out = nullptr;  ///< (T, d) in place of d_out, for d_combine_weights.
  bool absolute = false;         ///< |weights| and |numbers|.
};

/// What the rows of a combine node, or of one of its gradients, are made from.
class CombineRows {
 public:
  CombineRows(const Memory& memory, const ir::Node& node, const CombineNumbers& numbers = {});

  /// Rows [first, first + rows) of the result, packed.
  void rows(int64_t first, int64_t rows, float* out) const;
  /// Most products that are added to one number.
  [[nodiscard]] int64_t terms() const;

 private:
  struct Entries {
    int64_t first;
    int64_t count;
  };
  [[nodiscard]] Entries entries_of(int64_t token) const;
  /// -1 for an entry that belongs to no token.
  [[nodiscard]] int64_t token_of(int64_t entry) const;
  [[nodiscard]] float weight(int64_t entry) const;
  void read(const StoredRef& from, int64_t row, std::vector<double>& out) const;
  void sum(int64_t token, float* out) const;
  void spread(int64_t row, float* out) const;
  void dots(int64_t token, int64_t first, int64_t count, float* out) const;

  const Memory& m_;
  ir::Reference::Kind kind_;
  StoredRef y_;      ///< What rows are read from: y, or the gradient for d_combine.
  StoredRef d_out_;  ///< d_combine_weights.
  int32_t index_;    ///< rev, or scat for d_combine.
  int32_t weights_;
  bool absolute_;
  int64_t entries_ = 0;
  int64_t per_token_ = 1;
  int64_t columns_ = 0;  ///< Of the result.
  bool has_koff_ = false;
  std::vector<RowGroup> by_token_;  ///< With koff.
  std::vector<int64_t> owner_;      ///< With koff, for gradients: token by entry, -1: none.
};

}  // namespace cohort::engine::reference
