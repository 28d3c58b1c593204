// Words and widths of the vocabulary, each in one table.
#include <array>

#include <cohort/graph.h>
#include <cohort/types.h>

namespace cohort {

namespace {

template <class E, size_t N>
std::string_view word(const std::array<std::string_view, N>& words, E value, int first = 0) {
  const auto i = static_cast<size_t>(static_cast<int>(value) - first);
  return i < N ? words[i] : std::string_view{};
}

struct TypeFacts {
  std::string_view name;
  int bits;
};
constexpr std::array<TypeFacts, 11> kTypes{{{"f32", 32},
                                            {"f16", 16},
                                            {"bf16", 16},
                                            {"e4m3", 8},
                                            {"e5m2", 8},
                                            {"e3m2", 6},
                                            {"e2m3", 6},
                                            {"e2m1", 4},
                                            {"e8m0", 8},
                                            {"i32", 32},
                                            {"i64", 64}}};

struct FormatFacts {
  std::string_view name;
  FormatInfo info;
};
constexpr std::array<FormatFacts, 7> kFormats{{{"mxfp8_e4m3", {DType::e4m3, DType::e8m0, 32}},
                                               {"mxfp8_e5m2", {DType::e5m2, DType::e8m0, 32}},
                                               {"mxfp4", {DType::e2m1, DType::e8m0, 32}},
                                               {"nvfp4", {DType::e2m1, DType::e4m3, 16}},
                                               {"fp8_tensor", {DType::e4m3, DType::f32, 0}},
                                               {"fp8_row", {DType::e4m3, DType::f32, 0}},
                                               {"fp8_block128", {DType::e4m3, DType::f32, 128}}}};

constexpr std::array<std::string_view, 3> kAxes{"row", "col", "both"};
constexpr std::array<std::string_view, 6> kForms{"starts", "ends",  "boundaries",
                                                 "counts", "slots", "whole"};
constexpr std::array<std::string_view, 6> kLayouts{"tiled_128x4", "linear", "shifted_128",
                                                   "per_group",   "global", "padded_128"};
constexpr std::array<std::string_view, 3> kStorages{"as_rows", "transposed", "ragged"};
constexpr std::array<std::string_view, 3> kScaleRoundings{"up", "floor", "even"};
constexpr std::array<std::string_view, 2> kReciprocals{"exact", "approx"};
constexpr std::array<std::string_view, 2> kRoundings{"nearest_even", "stochastic"};
constexpr std::array<std::string_view, 2> kMajors{"k", "n"};
constexpr std::array<std::string_view, 2> kTails{"leave", "zero"};
constexpr std::array<std::string_view, 3> kGluActs{"swiglu", "geglu", "situ"};
constexpr std::array<std::string_view, 4> kPackings{"split", "interleaved", "bands8", "bands32"};
constexpr std::array<std::string_view, 13> kRoles{
    "tensor", "scaled_tensor", "value", "row_vec", "col_vec",         "group_vec",  "group_mat",
    "scalar", "groups",        "index", "weights", "weight_pointers", "weight_grad"};

}  // namespace

int bits(DType type) noexcept {
  const auto i = static_cast<size_t>(type);
  return i < kTypes.size() ? kTypes[i].bits : 0;
}
FormatInfo info(Format format) noexcept {
  const auto i = static_cast<size_t>(format);
  return i < kFormats.size() ? kFormats[i].info : FormatInfo{DType::f32, DType::f32, 0};
}
std::string_view name(DType value) noexcept {
  const auto i = static_cast<size_t>(value);
  return i < kTypes.size() ? kTypes[i].name : std::string_view{};
}
std::string_view name(Format value) noexcept {
  const auto i = static_cast<size_t>(value);
  return i < kFormats.size() ? kFormats[i].name : std::string_view{};
}
std::string_view name(Axes value) noexcept { return word(kAxes, value, 1); }
std::string_view name(GroupForm value) noexcept { return word(kForms, value); }
std::string_view name(ScaleLayout value) noexcept { return word(kLayouts, value); }
std::string_view name(ColStorage value) noexcept { return word(kStorages, value); }
std::string_view name(ScaleRounding value) noexcept { return word(kScaleRoundings, value); }
std::string_view name(Reciprocal value) noexcept { return word(kReciprocals, value); }
std::string_view name(Rounding value) noexcept { return word(kRoundings, value); }
std::string_view name(Major value) noexcept { return word(kMajors, value); }
std::string_view name(Tail value) noexcept { return word(kTails, value); }
std::string_view name(GluAct value) noexcept { return word(kGluActs, value); }
std::string_view name(Packing value) noexcept { return word(kPackings, value); }
std::string_view name(Role value) noexcept { return word(kRoles, value); }

}  // namespace cohort
