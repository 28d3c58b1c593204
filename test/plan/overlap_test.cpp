// Which tensors share bytes: by hand, and against sets of bytes.
#include "plan/overlap.h"

#include <random>
#include <set>

#include "engine/harness.h"

namespace cohort::test {
namespace {

TensorInfo tensor(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides) {
  TensorInfo t{};
  t.dtype = dtype;
  t.rank = static_cast<int32_t>(shape.size());
  int64_t last = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    t.shape[d] = shape[d];
    t.strides[d] = strides[d];
    last += (shape[d] - 1) * strides[d];
  }
  t.bytes = ((last + 1) * bits(dtype) + 7) / 8;
  return t;
}

char* at(int64_t offset) {
  static std::vector<char> room(4096);
  return room.data() + offset;
}

bool shared(const TensorInfo& a, int64_t a_at, const TensorInfo& b, int64_t b_at) {
  const bool one = plan::share_bytes(a, at(a_at), b, at(b_at));
  EXPECT_EQ(one, plan::share_bytes(b, at(b_at), a, at(a_at)));
  return one;
}

TEST(ShareBytes, HalvesOfRows) {
  const TensorInfo half = tensor(DType::f32, {5, 8}, {16, 1});
  EXPECT_FALSE(shared(half, 0, half, 32));
  EXPECT_FALSE(shared(half, 64, half, 32)) << "the second begins a row later";
  EXPECT_TRUE(shared(half, 0, half, 28));
  EXPECT_TRUE(shared(half, 0, half, 36)) << "reaches into the next row";
  EXPECT_TRUE(shared(half, 0, half, 64)) << "the same columns, a row later";
}
TEST(ShareBytes, OneRange) {
  const TensorInfo strided = tensor(DType::f32, {5, 8}, {16, 1});
  const TensorInfo vector = tensor(DType::f32, {8}, {1});
  EXPECT_FALSE(shared(strided, 0, vector, 64 + 32)) << "in the gap behind the second row";
  EXPECT_TRUE(shared(strided, 0, vector, 64 + 16));
  EXPECT_TRUE(shared(strided, 0, vector, 64 + 48));
  EXPECT_FALSE(shared(vector, 0, vector, 32));
  EXPECT_TRUE(shared(vector, 0, vector, 28));
}
TEST(ShareBytes, OtherTypesOfTheSameRowPitch) {
  const TensorInfo f32 = tensor(DType::f32, {5, 8}, {16, 1});
  const TensorInfo bf16 = tensor(DType::bf16, {5, 16}, {32, 1});
  const TensorInfo e2m1 = tensor(DType::e2m1, {5, 32}, {128, 1});
  EXPECT_FALSE(shared(f32, 0, bf16, 32));
  EXPECT_FALSE(shared(f32, 0, e2m1, 48));
  EXPECT_FALSE(shared(bf16, 16, e2m1, 0));
  EXPECT_TRUE(shared(bf16, 14, e2m1, 0));
}
TEST(ShareBytes, MatricesInARow) {
  const TensorInfo half = tensor(DType::f32, {3, 5, 8}, {80, 16, 1});
  const TensorInfo spread = tensor(DType::f32, {3, 5, 8}, {96, 16, 1});
  EXPECT_FALSE(shared(half, 0, half, 32));
  EXPECT_TRUE(shared(spread, 0, spread, 32)) << "no one distance of rows: refused unseen";
}
TEST(ShareBytes, OtherPitchIsNotLookedInto) {
  const TensorInfo a = tensor(DType::f32, {2, 8}, {64, 1});
  const TensorInfo b = tensor(DType::f32, {2, 2}, {32, 1});
  EXPECT_TRUE(shared(a, 0, b, 64));
}

std::set<int64_t> bytes_of(const TensorInfo& t, int64_t offset) {
  std::set<int64_t> bytes;
  for (int64_t i = 0; i < t.shape[0]; ++i) {
    for (int64_t j = 0; j < t.shape[1]; ++j) {
      const int64_t first = (i * t.strides[0] + j * t.strides[1]) * bits(t.dtype);
      for (int64_t b = first / 8; b <= (first + bits(t.dtype) - 1) / 8; ++b) {
        bytes.insert(offset + b);
      }
    }
  }
  return bytes;
}

// Never missed whatever the strides are, and exact where rows have one distance.
TEST(ShareBytes, AsSetsOfBytes) {
  std::mt19937 random(1);
  const auto up_to = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
  int64_t apart = 0;
  for (int i = 0; i < 20000; ++i) {
    const int64_t pitch = 4 + 4 * up_to(5);
    const auto one = [&] {
      const bool regular = up_to(4) != 0;
      const DType dtype = up_to(2) == 0 ? DType::bf16 : DType::f32;
      const int64_t row = regular ? pitch * 4 * 8 / bits(dtype) : 1 + up_to(40);
      const int64_t step = regular ? 1 : 1 + up_to(3);
      return std::pair{
          tensor(dtype, {1 + up_to(4), 1 + up_to(static_cast<uint32_t>(pitch))}, {row, step}),
          regular};
    };
    const auto [a, a_regular] = one();
    const auto [b, b_regular] = one();
    const int64_t a_at = 4 * up_to(40);
    const int64_t b_at = 4 * up_to(40);
    const std::set<int64_t> in_a = bytes_of(a, a_at);
    bool common = false;
    for (const int64_t byte : bytes_of(b, b_at)) common = common || in_a.count(byte) != 0;
    const bool said = shared(a, a_at, b, b_at);
    if (common) {
      ASSERT_TRUE(said) << i;
    }
    const bool one_range = a.shape[0] == 1 || b.shape[0] == 1;
    if (a_regular && b_regular && !one_range) {
      ASSERT_EQ(common, said) << i;
    }
    if (!said && a_at < b_at + b.bytes && b_at < a_at + a.bytes) ++apart;
  }
  EXPECT_GT(apart, 100) << "tensors that interleave";
}

// One loaded matrix written to many outputs.
class Outputs : public ::testing::Test {
 protected:
  explicit Outputs(int64_t count = 4) : bench_(graph(count)) {
    for (int64_t i = 0; i < count; ++i) views_.push_back(packed(2 + 2 * i));
  }
  static Graph graph(int64_t count) {
    Builder g("many");
    const auto y = g.add(Load{.x = g.input("x", {4, 4}, DType::f32)});
    for (int64_t i = 0; i < count; ++i) g.output("y" + std::to_string(i), y);
    return finish(g);
  }
  // 64 bytes at a place of `memory_`, counted in halves of a tensor.
  TensorView packed(int64_t place) {
    return TensorView::packed(memory_ + 32 * place, DType::f32, {4, 4});
  }
  std::vector<std::string> refused(int64_t x_at = 0) {
    std::vector<std::string> names;
    std::vector<NamedTensor> tensors{{"x", packed(x_at)}};
    for (size_t i = 0; i < views_.size(); ++i) names.push_back("y" + std::to_string(i));
    for (size_t i = 0; i < views_.size(); ++i) tensors.push_back({names[i], views_[i]});
    const auto e = bench_.plan.bind(bench_.graph, {}, tensors);
    std::vector<std::string> said;
    if (e) return said;
    total_ = e.findings().total();
    for (int i = 0; i < e.findings().size(); ++i) {
      EXPECT_EQ("E-OVERLAP", e.findings()[i].code);
      said.push_back(std::string(e.findings()[i].op) + " " + std::string(e.findings()[i].got));
    }
    return said;
  }
  using Said = std::vector<std::string>;
  alignas(256) char memory_[65536] = {};
  Bench bench_;
  std::vector<TensorView> views_;
  int64_t total_ = 0;
};

TEST_F(Outputs, SideBySide) { EXPECT_EQ(Said{}, refused()); }
TEST_F(Outputs, EveryPairIsNamedInOrder) {
  views_[3] = packed(3);  // across 0 and 1
  views_[2] = packed(5);  // across 1
  EXPECT_EQ((Said{"y0 memory shared with 'y3'", "y1 memory shared with 'y2'",
                  "y1 memory shared with 'y3'"}),
            refused());
}
TEST_F(Outputs, AnInputInTheMiddle) {
  EXPECT_EQ((Said{"y1 memory shared with 'x'", "y2 memory shared with 'x'"}), refused(5));
}

class ManyOutputs : public Outputs {
 protected:
  ManyOutputs() : Outputs(500) {}
};
TEST_F(ManyOutputs, InOnePlaceEachIsCounted) {
  for (TensorView& v : views_) v = packed(2);
  EXPECT_EQ(100U, refused().size());
  EXPECT_GE(total_, 499);
  EXPECT_LT(total_, 1000) << "not each pair";
}

}  // namespace
}  // namespace cohort::test
