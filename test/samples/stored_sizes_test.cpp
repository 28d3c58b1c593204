// How the samples read named extents from a file.
#include "../../samples/common/stored_sizes.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace sample {
namespace {

using namespace cohort;

// The named extents of a graph, read from a file with its inputs at the given sizes.
std::vector<std::pair<std::string, int64_t>> stored(const Result<Graph>& made, Sizes sizes) {
  if (!made) return {};
  const Graph& graph = *made;
  const Plan plan = *make_plan(graph, Device::cpu());
  std::vector<std::vector<std::byte>> buffers;
  std::vector<NamedTensor> tensors;
  for (int32_t i = 0; i < graph.tensor_count(); ++i) {
    const TensorInfo info = *plan.tensor(i, graph, sizes);
    if (info.is_output) continue;
    buffers.emplace_back(static_cast<size_t>(info.bytes) + 1);
    TensorView v{buffers.back().data(), info.dtype, info.rank};
    for (int32_t d = 0; d < info.rank; ++d) v.shape[d] = info.shape[d];
    v.pack();
    tensors.push_back({graph.tensor_name(i), v});
  }
  const std::string path = testing::TempDir() + "sizes." + std::to_string(::getpid());
  EXPECT_TRUE(write_safetensors(path, tensors));
  std::vector<std::pair<std::string, int64_t>> got;
  const TensorFile file = *TensorFile::read(path);
  for (const Size& s : sizes_of(graph, plan, file)) got.emplace_back(std::string(s.name), s.value);
  std::remove(path.c_str());
  return got;
}

using Got = std::vector<std::pair<std::string, int64_t>>;

TEST(StoredSizes, TwoElementsOfE2m1StandInAByte) {
  for (const ColStorage storage : {ColStorage::transposed, ColStorage::ragged}) {
    Builder g("packed");
    const Dim T = g.dynamic("T", 256);
    const ScaledOptions columns{.axis = Axes::col, .storage = storage};
    g.output("dw", g.add(GroupedWgrad{.a = g.scaled_input("dy", {T, 64}, Format::nvfp4, columns),
                                      .b = g.scaled_input("x", {T, 32}, Format::nvfp4, columns),
                                      .groups = g.groups("ends", 2, GroupForm::ends)}));
    EXPECT_EQ(stored(std::move(g).finish(), {{"T", 96}}), (Got{{"T", 96}}));
  }
}

TEST(StoredSizes, BoundariesHaveOneEntryMoreThanGroups) {
  Builder g("variable");
  const Dim T = g.dynamic("T", 64);
  const Dim R = g.dynamic("R", 256);
  // The first tensor that has T is koff.
  const auto koff = g.groups("koff", T, GroupForm::boundaries);
  g.output("o", g.add(Combine{.y = g.input("y", {R, 8}, DType::f32),
                              .rev = g.index("rev", R),
                              .weights = g.input("p", {R}, DType::f32),
                              .koff = koff}));
  EXPECT_EQ(stored(std::move(g).finish(), {{"T", 5}, {"R", 9}}), (Got{{"T", 5}, {"R", 9}}));
}

}  // namespace
}  // namespace sample
