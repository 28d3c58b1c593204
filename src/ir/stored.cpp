#include "ir/stored.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace cohort::ir {

bool has_f32_scales(Format format) { return info(format).scale == DType::f32; }

ScaleLayout default_layout(Format format, Axes axis) {
  if (has_f32_scales(format)) return ScaleLayout::linear;
  return axis == Axes::col ? ScaleLayout::per_group : ScaleLayout::tiled_128x4;
}

Extents stored_shape(const Value& type) {
  Extents s = type.shape;
  const bool weights = type.role == Role::weights || type.role == Role::weight_pointers;
  if (weights && type.major == Major::n) std::swap(s[1], s[2]);
  if (type.scaled && type.scaled->storage != ColStorage::as_rows) std::swap(s[0], s[1]);
  return s;
}

Extents stored_shape(const Graph& graph, const Output& output) {
  Value v = graph.values[static_cast<size_t>(output.value)];
  v.dtype = output.dtype;
  if (output.rows) v.shape[0] = *output.rows;
  return stored_shape(v);
}

namespace {

using Faults = std::vector<StoredFault>;

void want_dtype(const Value& v, std::initializer_list<DType> allowed, Faults& faults,
                std::string hint = {}) {
  std::string wanted;
  for (DType t : allowed) {
    if (v.dtype == t) return;
    if (!wanted.empty()) wanted += ", ";
    wanted += name(t);
  }
  std::string got(name(v.dtype));
  if (got.empty()) got = "no type";
  faults.push_back({"E-DTYPE", "dtype", -1, wanted, got, std::move(hint)});
}

void want_rank(const Value& v, int rank, std::string_view form, Faults& faults) {
  if (v.shape.rank == rank) return;
  faults.push_back(
      {"E-RANK", "shape", -1, std::string(form), std::to_string(v.shape.rank) + " extents", {}});
}

void extent_faults(const Extents& shape, int64_t element_bits, Faults& faults) {
  if (shape.rank > kMaxRank) {
    faults.push_back({"E-LIMIT", "shape", -1, "at most 8 extents", std::to_string(shape.rank), {}});
    return;
  }
  std::optional<int64_t> total = element_bits;
  const size_t before = faults.size();
  for (int i = 0; i < shape.rank; ++i) {
    const int64_t e = shape[i].bound;
    if (e < 0) faults.push_back({"E-SHAPE", "shape", i, "0 or more", std::to_string(e), {}});
    if (e > kMaxExtent) {
      faults.push_back({"E-LIMIT", "shape", i, "at most 2^48", std::to_string(e), {}});
    }
    if (total && e > 0) total = base::checked_mul(*total, e);
  }
  // One mistake, one finding: an extent beyond its limit makes the product too large as well.
  if (!total && faults.size() == before) {
    faults.push_back({"E-OVERFLOW", "shape", -1, "a size below 2^63 bits", "more", {}});
  }
}

void storage_faults(const Value& v, Faults& faults) {
  const ScaledType& s = *v.scaled;
  if (s.storage != ColStorage::as_rows && s.axis != Axes::col) {
    faults.push_back({"E-ATTRIBUTE", "storage", -1, "as_rows", std::string(name(s.storage)),
                      "only column blocks can stand transposed"});
  }
  if (s.storage == ColStorage::ragged && v.strides.rank() > 0) {
    faults.push_back({"E-STRIDE", "strides", -1, "packed matrices", "strides",
                      "ragged storage has one packed matrix a group"});
  }
}

void scaled_faults(const Value& v, Faults& faults) {
  const ScaledType& s = *v.scaled;
  const bool weights = v.role != Role::scaled_tensor;
  const FormatInfo f = info(s.format);
  const bool choosable = has_f32_scales(s.format);
  if (v.dtype != f.element && !(choosable && v.dtype == DType::e5m2)) {
    faults.push_back({"E-DTYPE",
                      "dtype",
                      -1,
                      choosable ? "e4m3 or e5m2" : std::string(name(f.element)),
                      std::string(name(v.dtype)),
                      {}});
  }
  const auto layout = [&](bool good, std::string_view wanted) {
    if (!good) {
      faults.push_back(
          {"E-LAYOUT", "layout", -1, std::string(wanted), std::string(name(s.layout)), {}});
    }
  };
  using enum ScaleLayout;
  if (s.axis == Axes::both) {
    faults.push_back(
        {"E-ATTRIBUTE", "axis", -1, "row or col", "both", "declare one input for each axis"});
  } else if (choosable) {
    layout(s.layout == linear, "linear: f32 scales have no tiled form");
    if (s.axis == Axes::col) {
      faults.push_back({"E-ATTRIBUTE", "axis", -1, "row", "col", {}});
    }
  } else if (s.axis == Axes::col) {
    layout(s.layout == per_group || s.layout == global, "per_group or global for column scales");
  } else if (weights) {
    layout(s.layout == tiled_128x4 || s.layout == linear, "tiled_128x4 or linear");
  } else {
    layout(s.layout == tiled_128x4 || s.layout == linear || is_placed_by_group(s.layout),
           "tiled_128x4, linear, shifted_128 or padded_128 for row scales");
  }
  storage_faults(v, faults);
  if (v.dtype == DType::e2m1) {
    if (s.axis == Axes::col && s.storage == ColStorage::as_rows) {
      faults.push_back({"E-ATTRIBUTE", "storage", -1, "transposed or ragged", "as_rows",
                        "e2m1 is packed along tokens in column blocks"});
    }
    const Extents stored = stored_shape(v);
    const Extent& last = stored[stored.rank - 1];
    if (last.symbol == kNone && last.bound % 2 != 0) {
      faults.push_back({"E-SHAPE",
                        "shape",
                        v.shape.rank - 1,
                        "an even number of e2m1 elements",
                        std::to_string(last.bound),
                        {}});
    }
  }
}

void weight_faults(const Value& v, Faults& faults) {
  if (v.shape.rank >= 1) {
    if (v.shape[0].symbol != kNone) {
      faults.push_back({"E-SHAPE", "shape", 0, "a number of experts", "a named extent", {}});
    } else if (v.shape[0].bound == 0) {
      faults.push_back({"E-SHAPE", "shape", 0, "1 or more experts", "0", {}});
    }
  }
  const int width = bits(v.dtype);
  if (v.major == Major::n && width != 8 && width != 16) {
    faults.push_back({"E-LAYOUT", "major", -1, "k", "n", "N-major needs 8- or 16-bit elements"});
  }
  if (v.role == Role::weight_pointers && v.strides.rank() > 0) {
    faults.push_back({"E-STRIDE", "strides", -1, "packed matrices behind pointers", "strides", {}});
  }
}

// One group that has all rows: there are no integers, so nothing but the defaults says anything.
void whole_faults(const Value& v, Faults& faults) {
  const bool named = v.shape[0].symbol != kNone;
  if (named || v.shape[0].bound != 1) {
    faults.push_back({"E-GROUPS",
                      "shape",
                      0,
                      "1: form whole is one group that has all rows",
                      named ? "a named number" : std::to_string(v.shape[0].bound),
                      {}});
  }
  if (v.dtype == DType::i64) {
    faults.push_back({"E-DTYPE", "dtype", -1, "i32", "i64", "form whole binds no integers"});
  }
}

void role_faults(const Value& v, Faults& faults) {
  using enum DType;
  switch (v.role) {
    case Role::tensor:
      if (v.shape.rank < 1) want_rank(v, 1, "1 to 8 extents", faults);
      want_dtype(v, {f32, f16, bf16}, faults,
                 v.dtype == e4m3 || v.dtype == e5m2 || v.dtype == e2m1
                     ? "quantised elements need scales: use scaled_input"
                     : "");
      break;
    case Role::scaled_tensor:
      want_rank(v, 2, "(rows, features)", faults);
      if (v.shape.rank == 2) scaled_faults(v, faults);
      break;
    case Role::weights:
    case Role::weight_pointers:
      want_rank(v, 3, "(E, N, K)", faults);
      if (!v.scaled) want_dtype(v, {f32, f16, bf16}, faults, "quantised weights need scales");
      if (v.shape.rank != 3) break;
      if (v.scaled) scaled_faults(v, faults);
      weight_faults(v, faults);
      break;
    case Role::groups:
      want_rank(v, 1, "(groups)", faults);
      want_dtype(v, {i32, i64}, faults);
      // A named number of groups is for combine; the other ops refuse it.
      if (v.shape.rank == 1 && v.form == GroupForm::whole) {
        whole_faults(v, faults);
      } else if (v.shape.rank == 1 && v.shape[0].bound < 1) {
        faults.push_back(
            {"E-GROUPS", "shape", 0, "1 or more groups", std::to_string(v.shape[0].bound), {}});
      }
      if (v.row_alignment < 1) {
        faults.push_back(
            {"E-GROUPS", "row_alignment", -1, "1 or more", std::to_string(v.row_alignment), {}});
      }
      break;
    case Role::index:
      if (v.shape.rank != 2) want_rank(v, 1, "(rows) or (tokens, experts a token)", faults);
      want_dtype(v, {i32, i64}, faults);
      break;
    case Role::scalar:
      want_rank(v, 1, "(1)", faults);
      if (v.shape.rank == 1 && (v.shape[0].symbol != kNone || v.shape[0].bound != 1)) {
        const bool named = v.shape[0].symbol != kNone;
        const std::string got = named ? "a named extent" : std::to_string(v.shape[0].bound);
        faults.push_back({"E-SHAPE", "shape", 0, "1: one number", got, {}});
      }
      want_dtype(v, {f32, bf16, i32, i64}, faults);
      break;
    case Role::group_mat:
      want_rank(v, 2, "(experts, features)", faults);
      want_dtype(v, {f32, f16, bf16}, faults);
      break;
    default:
      want_rank(v, 1, "one extent", faults);
      want_dtype(v, {f32, f16, bf16}, faults);
  }
}

// Strides of packed pairs: the last one is 1, the others are even.
void pair_faults(const Extents& stored, const Strides& strides, Faults& faults) {
  const int last = stored.rank - 1;
  if (strides[last] != 1) {
    faults.push_back({"E-STRIDE",
                      "strides",
                      last,
                      "1: e2m1 is packed in pairs",
                      std::to_string(strides[last]),
                      {}});
  }
  for (int i = 0; i < last; ++i) {
    if (strides[i] % 2 == 0 || stored[i].bound <= 1) continue;
    faults.push_back({"E-STRIDE",
                      "strides",
                      i,
                      "an even number: e2m1 is packed in pairs",
                      std::to_string(strides[i]),
                      {}});
  }
}

// Two elements at one place.
void overlap_faults(const Extents& stored, const Strides& strides, Faults& faults) {
  std::array<int, kMaxRank> order{};
  for (int i = 0; i < stored.rank && i < kMaxRank; ++i) {
    int at = i;
    for (; at > 0 && strides[order[static_cast<size_t>(at - 1)]] > strides[i]; --at) {
      order[static_cast<size_t>(at)] = order[static_cast<size_t>(at - 1)];
    }
    order[static_cast<size_t>(at)] = i;
  }
  int64_t reach = 0;  // largest offset that the smaller strides reach
  for (int i = 0; i < stored.rank; ++i) {
    const int d = order[static_cast<size_t>(i)];
    if (stored[d].bound <= 1) continue;
    if (strides[d] <= reach) {
      faults.push_back({"E-STRIDE", "strides", d, "more than " + std::to_string(reach),
                        std::to_string(strides[d]), "elements of an output may not overlap"});
      return;
    }
    reach += (stored[d].bound - 1) * strides[d];
  }
}

}  // namespace

Strides kept_strides(const Extents& stored, const Strides& strides) {
  int64_t packed = 1;
  for (int i = strides.rank() - 1; i >= 0; --i) {
    if (strides[i] != packed || (i > 0 && stored[i].symbol != kNone)) return strides;
    if (i > 0) packed *= std::max<int64_t>(stored[i].bound, 1);
  }
  return {};
}

void alignment_faults(int64_t alignment, int bits, Faults& faults) {
  const int64_t element = std::max(bits / 8, 1);
  if (alignment < element || alignment > 4096 || (alignment & (alignment - 1)) != 0) {
    faults.push_back({"E-ALIGNMENT",
                      "alignment",
                      -1,
                      "a power of two, " + std::to_string(element) + " .. 4096",
                      std::to_string(alignment),
                      {}});
  }
}

void stride_faults(const Extents& stored, const Strides& strides, DType dtype, bool unique,
                   Faults& faults) {
  if (strides.rank() == 0) return;
  if (strides.rank() != stored.rank) {
    faults.push_back({"E-STRIDE",
                      "strides",
                      -1,
                      std::to_string(stored.rank) + " strides",
                      std::to_string(strides.rank()),
                      {}});
    return;
  }
  std::optional<int64_t> span = 1;
  for (int i = 0; i < stored.rank; ++i) {
    const int64_t extent = stored[i].bound;
    if (strides[i] < 1 && extent > 1) {
      faults.push_back({"E-STRIDE", "strides", i, "1 or more", std::to_string(strides[i]), {}});
      return;
    }
    const auto part = base::checked_mul(std::max<int64_t>(extent - 1, 0), strides[i]);
    span = span && part ? base::checked_add(*span, *part) : std::nullopt;
  }
  if (!span || !base::checked_mul(*span, std::max(bits(dtype), 8))) {
    faults.push_back({"E-OVERFLOW", "strides", -1, "offsets below 2^63 bits", "more", {}});
    return;
  }
  if (dtype == DType::e2m1) pair_faults(stored, strides, faults);
  if (unique) overlap_faults(stored, strides, faults);
}

namespace {

// C++ can cast any number to an enum; JSON words are checked where they are read.
void word_faults(const Value& v, Faults& faults) {
  const auto known = [&](std::string_view code, std::string_view key, auto word) {
    if (!name(word).empty()) return;
    faults.push_back({code, key, -1, "a known word", std::to_string(static_cast<int>(word)), {}});
  };
  known("E-DTYPE", "dtype", v.dtype);
  known("E-ATTRIBUTE", "major", v.major);
  known("E-ATTRIBUTE", "form", v.form);
  if (!v.scaled) return;
  known("E-DTYPE", "format", v.scaled->format);
  known("E-LAYOUT", "layout", v.scaled->layout);
  known("E-ATTRIBUTE", "axis", v.scaled->axis);
  known("E-ATTRIBUTE", "storage", v.scaled->storage);
}

}  // namespace

std::vector<StoredFault> input_faults(const Graph&, const Value& type) {
  Faults faults;
  word_faults(type, faults);
  if (!faults.empty()) {
    alignment_faults(type.alignment, 8, faults);
    return faults;
  }
  extent_faults(type.shape, bits(type.dtype), faults);
  Faults of_role;
  role_faults(type, of_role);
  const bool bad_extents = !faults.empty();
  for (StoredFault& f : of_role) {
    // One mistake, one finding: what follows from an extent out of range is none of its own.
    if (!bad_extents || f.key != "shape") faults.push_back(std::move(f));
  }
  const bool bad_type = std::any_of(faults.begin(), faults.end(),
                                    [](const StoredFault& f) { return f.key == "dtype"; });
  alignment_faults(type.alignment, bad_type ? 8 : bits(type.dtype), faults);
  // Strides say something about a sound type only.
  const bool is_sound = std::all_of(faults.begin(), faults.end(), [](const StoredFault& f) {
    return f.key == "alignment" || f.key == "row_alignment";
  });
  if (is_sound) stride_faults(stored_shape(type), type.strides, type.dtype, false, faults);
  return faults;
}

}  // namespace cohort::ir
