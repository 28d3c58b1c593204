// Weights of more than 2^31 elements. They are reserved and not filled: pages that nobody writes
// cost nothing, and read as 0.
#include <sys/mman.h>

#include <cohort/numerics.h>

#include "engine/gemm_case.h"

namespace cohort::test {
namespace {

constexpr int64_t kExperts = 64, kN = 14336, kK = 4096, kMatrix = kN * kK;
static_assert((kExperts - 1) * kMatrix == 3'699'376'128);

// Zeroed bytes without memory behind them.
class Reservation {
 public:
  explicit Reservation(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {
    data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation() {
    if (*this) ::munmap(data_, bytes_);
  }
  explicit operator bool() const { return data_ != MAP_FAILED; }
  [[nodiscard]] uint8_t* data() const { return static_cast<uint8_t*>(data_); }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

// A graph with its tensors; that of weights, and their scales, are reserved.
struct Large {
  explicit Large(const Graph& g) : graph(g), plan(*make_plan(g, Device::cpu())) {
    for (int32_t i = 0; i < graph.tensor_count(); ++i) {
      const TensorInfo info = plan.tensor(i);
      memory.push_back(std::make_unique<Reservation>(info.bytes));
      good = good && *memory.back();
      TensorView v;
      v.data = memory.back()->data();
      v.dtype = info.dtype;
      v.rank = info.rank;
      std::memcpy(v.shape, info.shape, sizeof v.shape);
      std::memcpy(v.strides, info.strides, sizeof v.strides);
      views.push_back({graph.tensor_name(i), v});
    }
  }
  [[nodiscard]] int64_t bytes(std::string_view name) const {
    return plan.tensor(graph.tensor_index(name)).bytes;
  }
  template <class T>
  [[nodiscard]] T* data(std::string_view name) const {
    return static_cast<T*>(views[static_cast<size_t>(graph.tensor_index(name))].view.data);
  }
  void run_well() const {
    const Result<Execution> e = plan.bind(graph, {}, views);
    ASSERT_TRUE(e) << e.findings().text();
    const Status s = e->run(nullptr);
    ASSERT_TRUE(s) << s.findings().text();
  }

  Graph graph;
  Plan plan;
  std::vector<std::unique_ptr<Reservation>> memory;
  std::vector<NamedTensor> views;
  bool good = true;
};

// Two rows, one of ones and one of threes, in bf16.
Large dense(Major major) {
  Builder g("large");
  const auto x = g.input("x", {2, kK}, DType::bf16);
  const auto w = g.weights("w", {kExperts, kN, kK}, DType::bf16, {.major = major});
  const auto groups = g.groups("g", kExperts, GroupForm::starts);
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = groups}));
  Large large(finish(g));
  if (!large.good) return large;
  std::fill_n(large.data<uint16_t>("x"), kK, uint16_t{0x3F80});
  std::fill_n(large.data<uint16_t>("x") + kK, kK, uint16_t{0x4040});
  return large;
}

// Features that are written; all others read as 0.
constexpr int64_t kWritten[] = {0, 1, 127, 128, 4097, 9000, kN - 1};
float weight(int64_t expert, int64_t n) { return static_cast<float>(expert % 3 + n % 5 + 1); }

// `first`: the experts of the first and the second row.
void expect_rows(const Large& large, int64_t first, int64_t second) {
  auto* starts = large.data<int32_t>("g");
  for (int64_t e = 0; e < kExperts; ++e) {
    starts[e] = e <= first ? 0 : e <= second ? 1 : 2;
  }
  large.run_well();
  const auto* y = large.data<float>("y");
  std::vector<float> wanted(2 * kN);
  for (const int64_t n : kWritten) {
    wanted[static_cast<size_t>(n)] = weight(first, n) * kK;
    wanted[static_cast<size_t>(kN + n)] = 3 * weight(second, n) * kK;
  }
  for (int64_t i = 0; i < 2 * kN; ++i) ASSERT_EQ(y[i], wanted[static_cast<size_t>(i)]) << i;
}

void write_dense(const Large& large, Major major, int64_t expert) {
  for (const int64_t n : kWritten) {
    const float v = weight(expert, n);
    uint16_t code = 0;
    ASSERT_TRUE(encode(DType::bf16, &v, 1, reinterpret_cast<std::byte*>(&code)));
    uint16_t* const w = large.data<uint16_t>("w") + expert * kMatrix;
    for (int64_t k = 0; k < kK; ++k) w[major == Major::k ? n * kK + k : k * kN + n] = code;
  }
}

// DeepSpeed#8261, cutlass#2715: two rows for the last of 64 experts of 14336 x 4096, which begins
// at element 3.7e9; then a row for each expert next to element 2^31, and for the first and last.
TEST(UserCases, OffsetsOfExpertsPass31Bits) {
  static_assert(36 * kMatrix < (int64_t{1} << 31) && 37 * kMatrix > (int64_t{1} << 31));
  const Large large = dense(Major::k);
  if (!large.good) GTEST_SKIP() << "no address space";
  ASSERT_EQ(large.bytes("w"), 7'516'192'768);
  for (const int64_t expert : {0, 36, 37, 63}) write_dense(large, Major::k, expert);
  expect_rows(large, 63, 63);
  expect_rows(large, 36, 37);
  expect_rows(large, 0, 63);
}

// DeepSpeed#8261, cutlass#2715: weights that are read across.
TEST(UserCases, OffsetsOfExpertsPass31BitsInNMajor) {
  const Large large = dense(Major::n);
  if (!large.good) GTEST_SKIP() << "no address space";
  write_dense(large, Major::n, 63);
  expect_rows(large, 63, 63);
}

// DeepSpeed#8261, cutlass#2715: in nvfp4, 1.9 GB of elements, and a scale for 16 of them in tiles
// of each expert.
TEST(UserCases, OffsetsOfQuantisedExpertsPass31Bits) {
  Builder g("large");
  const auto x = g.scaled_input("x", {2, kK}, Format::nvfp4, {.layout = ScaleLayout::linear});
  const auto w = g.scaled_weights("w", {kExperts, kN, kK}, Format::nvfp4);
  const auto groups = g.groups("g", kExperts, GroupForm::starts);
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = groups}));
  const Large large(finish(g));
  if (!large.good) GTEST_SKIP() << "no address space";
  ASSERT_EQ(large.bytes("w"), 1'879'048'192);
  ASSERT_EQ(large.bytes("w.scale"), kExperts * kMatrix / 16);
  std::fill_n(large.data<uint8_t>("x"), kK / 2, uint8_t{0x22});           // 1, 1
  std::fill_n(large.data<uint8_t>("x") + kK / 2, kK / 2, uint8_t{0x55});  // 3, 3
  std::fill_n(large.data<uint8_t>("x.scale"), 2 * kK / 16, uint8_t{0x38});
  const ScaleMatrix scales{.rows = kN, .columns = kK, .block = 16};
  for (const int64_t expert : {36, 37, 63}) {
    for (const int64_t n : kWritten) {
      const float v = weight(expert, n);
      std::byte code{};
      ASSERT_TRUE(encode(DType::e4m3, &v, 1, &code));
      std::fill_n(large.data<uint8_t>("w") + (expert * kN + n) * kK / 2, kK / 2, uint8_t{0x22});
      for (int64_t k = 0; k < kK; k += 16) {
        const int64_t at = expert * kMatrix / 16 + *scale_offset(scales, n, k);
        large.data<std::byte>("w.scale")[at] = code;
      }
    }
  }
  expect_rows(large, 63, 63);
  expect_rows(large, 36, 37);
}

}  // namespace
}  // namespace cohort::test
