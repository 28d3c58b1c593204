// Writing the results of a panel: outputs, kept values, codes and scales.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/reference/memory.h"
#include "engine/reference/stored_ref.h"
#include "numerics/block.h"

namespace cohort::engine::reference {

/// One place that a value of a region is written to.
struct Sink {
  int32_t value = ir::kNone;
  StoredRef to;
  Tail tail = Tail::leave;
  bool is_output = false;
  float whole_amax = 0;             ///< fp8_tensor: maximum over all rows.
  std::vector<int64_t> scale_base;  ///< per_group.
  /// Output rows by row of the value, -1: not written. Nothing: each row stands in its own place.
  std::optional<std::vector<int64_t>> scattered{};

  /// Where a row is written; -1: nowhere.
  [[nodiscard]] int64_t row(int64_t r) const {
    return scattered ? (*scattered)[static_cast<size_t>(r)] : r;
  }
};

/// Where a scattered output has each of `rows` rows of its value; -1 for those that are not
/// written. Throws FindingsError (E-INDEX) for a place outside of it, or one that is taken.
[[nodiscard]] std::vector<int64_t> scattered_rows(const Memory& memory, const ir::Output& output,
                                                  const std::vector<RowGroup>& groups,
                                                  int64_t rows);
/// Which of the places of a scattered output are written.
[[nodiscard]] std::vector<bool> places_taken(const std::vector<int64_t>& scattered, int64_t places);

/// The quantiser's attributes of a quantize node, scalars read.
[[nodiscard]] numerics::BlockSpec block_spec(const Memory& memory, const ir::Node& node);

/// Writes what belongs to no panel: tails, scale padding.
void prepare(Sink& sink, const std::vector<RowGroup>& groups);
/// Quantises rows [first, first + rows) of a group into the sink.
void quantize_panel(const Sink& sink, const numerics::BlockSpec& spec, const RowGroup& group,
                    int64_t first, int64_t rows, const float* x, int64_t stride,
                    std::vector<uint8_t>& scratch);

}  // namespace cohort::engine::reference
