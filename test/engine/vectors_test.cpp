// The engine against results that were computed independently from the same definitions.
#include <cmath>
#include <cstring>

#include "engine/harness.h"
#include "engine/vector_case.h"
#include "numerics/codec.h"

namespace cohort::test {
namespace {

// How many outputs of each case the ops of the library express: a case may not shrink unseen.
struct Wanted {
  const char* name;
  int outputs;
};

constexpr Wanted kCases[] = {{"fwd_bf16_ends", 1},
                             {"fwd_bf16_boundaries_tail", 2},
                             {"fwd_f16_counts_bias_gate", 1},
                             {"fwd_fp8_tensor_scale", 1},
                             {"fwd_fp8_block128", 1},
                             {"fwd_mxfp8_tiled", 1},
                             {"fwd_mxfp4", 1},
                             {"fwd_nvfp4_alpha", 1},
                             {"fwd_fp8_output_amax", 3},
                             {"quantize_mxfp8_row_col", 4},
                             {"quantize_nvfp4_norm", 2},
                             {"fc1_mxfp8_srelu_gate_mxfp8", 4},
                             {"token_gather_and_scatter", 2},
                             {"fwd_hadamard_row", 1},
                             {"wgrad_bf16_empty_groups", 1},
                             {"wgrad_mxfp8_per_group_scales", 1},
                             {"pointwise_forward", 8},
                             {"dgrad_dsrelu_all_outputs", 4},
                             {"dgrad_dswiglu", 2},
                             {"fc1_bf16_geglu_bands32", 1},
                             {"fc1_bf16_swiglu_clamped_interleaved", 1},
                             {"fc1_bf16_swiglu_split", 2}};

const void* file_data(const TensorFile& file, const std::string& name) {
  const int32_t i = file.find(name);
  EXPECT_GE(i, 0) << name;
  return file.view(i).data;
}

int64_t byte_count(const TensorView& v) {
  int64_t elements = 1;
  for (int d = 0; d < v.rank; ++d) elements *= v.shape[d];
  return elements * bits(v.dtype) / 8;
}

double value_at(DType type, const void* data, int64_t i) {
  if (type == DType::e8m0) return static_cast<const uint8_t*>(data)[i];
  std::array<float, 2> pair{};
  if (type == DType::e2m1) {
    numerics::decode_row(type, data, i / 2 * 2, 2, pair.data());
    return pair[static_cast<size_t>(i % 2)];
  }
  numerics::decode_row(type, data, i, 1, pair.data());
  return pair[0];
}

bool equal(double a, double b, bool strict) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && (!strict || std::signbit(a) == std::signbit(b));
}

class Comparison {
 public:
  Comparison(const TensorFile& file, const Json& output, std::string name)
      : file_(file), output_(output), rule_(output.at("tolerance")), name_(std::move(name)) {}

  void check(const void* got) const {
    const DType type = dtype_of(output_.at("dtype").get<std::string>());
    int64_t count = 1;
    for (const Json& e : output_.at("shape")) count *= e.get<int64_t>();
    ASSERT_FALSE(rule_.contains("skip"));
    const void* want = file_data(file_, "out." + name_);
    const bool strict = rule_.value("zero_sign", std::string()) == "strict";
    const std::string kind = rule_.at("kind").get<std::string>();
    for (int64_t i = 0; i < count; ++i) {
      const double g = value_at(type, got, i);
      const double w = value_at(type, want, i);
      bool good = equal(g, w, strict);
      if (kind == "bound") good = within(g, i);
      if (kind == "codes" && !good) good = equal(g, alternative(type, i), strict);
      ASSERT_TRUE(good) << name_ << "[" << i << "]: wanted " << w << ", got " << g;
    }
    check_untouched(got);
  }

 private:
  bool within(double got, int64_t i) const {
    const auto* ref = static_cast<const float*>(file_data(file_, rule_.at("ref")));
    const auto* tol = static_cast<const float*>(file_data(file_, rule_.at("abs_bound_tensor")));
    if (!std::isfinite(ref[i])) return equal(got, ref[i], false);
    return std::fabs(got - static_cast<double>(ref[i])) <= static_cast<double>(tol[i]);
  }
  double alternative(DType type, int64_t i) const {
    return value_at(type, file_data(file_, rule_.at("alt")), i);
  }
  void check_untouched(const void* got) const {
    if (!rule_.contains("untouched")) return;
    const Json& u = rule_.at("untouched");
    const void* before = file_data(file_, u.at("tensor").get<std::string>());
    const int64_t width = output_.at("shape").at(1).get<int64_t>() *
                          bits(dtype_of(output_.at("dtype").get<std::string>())) / 8;
    for (const Json& row : u.at("index_axis0")) {
      const int64_t at = row.get<int64_t>() * width;
      EXPECT_EQ(0, std::memcmp(static_cast<const char*>(got) + at,
                               static_cast<const char*>(before) + at, static_cast<size_t>(width)))
          << name_ << " row " << row;
    }
  }

  const TensorFile& file_;
  const Json& output_;
  const Json& rule_;
  std::string name_;
};

class Vectors : public ::testing::TestWithParam<Wanted> {};

TEST_P(Vectors, Agree) {
  const std::string name = GetParam().name;
  VectorCase c(name);
  const Result<Graph> graph = c.finish();
  ASSERT_TRUE(graph) << graph.findings().text();
  Result<TensorFile> file =
      TensorFile::read(std::string(COHORT_TEST_DATA) + "/vectors/" + name + ".safetensors");
  ASSERT_TRUE(file) << file.findings().text();
  Bench bench(*graph);
  for (const auto& [from, to] : c.inputs()) {
    const int32_t i = file->find("in." + from);
    ASSERT_GE(i, 0) << from;
    const TensorView v = file->view(i);
    const int64_t bytes = byte_count(v);
    // Column scales have room for the most that any groups of this many rows need.
    const bool is_scale = to.ends_with(".scale");
    ASSERT_TRUE(is_scale ? bytes <= bench.tensors.bytes(to) : bytes == bench.tensors.bytes(to))
        << to;
    std::memcpy(bench.tensors.data<void>(to), v.data, static_cast<size_t>(bytes));
  }
  for (const auto& [output, from] : c.initial()) {
    std::memcpy(bench.tensors.data<void>(output), file_data(*file, "in." + from),
                static_cast<size_t>(bench.tensors.bytes(output)));
  }
  ASSERT_NO_FATAL_FAILURE(bench.run_well());
  for (const auto& [output, tensor] : c.outputs()) {
    Comparison(*file, c.description().at("outputs").at(output), output)
        .check(bench.tensors.data<void>(tensor));
  }
  EXPECT_EQ(GetParam().outputs, static_cast<int>(c.outputs().size()));
}

INSTANTIATE_TEST_SUITE_P(All, Vectors, ::testing::ValuesIn(kCases),
                         [](const auto& c) { return std::string(c.param.name); });

}  // namespace
}  // namespace cohort::test
