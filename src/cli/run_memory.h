// Memory for every tensor of a run, filled from a file or at random.
#pragma once

#include <cohort/safetensors.h>

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/common.h"

namespace cohort::cli {

using SizeMap = std::map<std::string, int64_t>;

class RunMemory {
 public:
  RunMemory(const Graph& graph, const Plan& plan, const SizeMap& sizes);

  /// Copies inputs and first contents from a file. Throws Failure with every finding.
  void load(const TensorFile& file);
  /// Copies outputs from a file that an earlier run stored. Throws Stop with every problem.
  void load_outputs(const TensorFile& file) const;
  /// Makes inputs that suit the graph: unit-scale data, groups with an empty one, valid indices.
  void randomize(uint64_t seed);

  [[nodiscard]] const std::vector<NamedTensor>& tensors() const { return tensors_; }
  [[nodiscard]] std::vector<NamedTensor> outputs() const;
  [[nodiscard]] const std::vector<Size>& sizes() const { return sizes_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  using Buffer = std::unique_ptr<void, Free>;
  /// Memory for a tensor, zeros. Throws Stop, with its name, when there is none.
  std::byte* allocate(std::string_view tensor, int64_t bytes);
  NamedTensor* find(const std::string& name);  ///< Of tensors_ or experts_; null: none.
  void add_expert(std::string name, const TensorView& view);
  /// Whether a tensor of the file has the type and the shape; a problem more when not.
  static bool fits(const TensorFile& file, const std::string& from, const NamedTensor& to,
                   std::vector<Problem>& problems);
  static void copy(const TensorFile& file, const std::string& from, const NamedTensor& to,
                   std::vector<Problem>& problems);
  void add_pointers(const Json& input);
  void add_output_pointers(const Graph& graph, const Json& output);
  std::string_view kept_name(std::string name);

  Json graph_;
  int64_t group_alignment_;  ///< Rows that the plan wants every group to have a multiple of.
  SizeMap size_map_;
  std::vector<Size> sizes_;
  std::vector<Buffer> buffers_;
  int64_t allocated_ = 0;  ///< Bytes in buffers_.
  std::vector<NamedTensor> tensors_;
  std::vector<bool> is_output_;
  std::deque<NamedTensor> experts_;           ///< "w.0", "w.0.scale": what pointer arrays point to.
  std::vector<NamedTensor> output_matrices_;  ///< "dw.0": the same of discrete outputs.
  std::unordered_map<std::string_view, NamedTensor*> index_;
  std::vector<std::unique_ptr<std::string>> names_;  ///< Views of names live as long.
};

/// Named extents as the shapes of a file's inputs say, with --size on top; without a file they have
/// defaults. Throws Stop when one is missing or two shapes disagree.
[[nodiscard]] SizeMap infer_sizes(const Graph& of, const Plan& plan, const TensorFile* file,
                                  const std::vector<std::string>& given);

/// What each groups input divides and how many rows each index may name. Keys of an index whose
/// entries must differ end in "!".
[[nodiscard]] SizeMap rows_by_user(const Json& graph, const SizeMap& sizes);

/// Extents of weights of the graph's JSON in the order in which their elements stand.
[[nodiscard]] std::vector<Json> stored_order(const Json& weights);
/// The type of that name; f32 when there is none.
[[nodiscard]] DType dtype_of(const std::string& word);
/// What is wrong with a file: a tensor that it lacks, or one that is not the graph's.
[[nodiscard]] Problem missing_tensor(std::string_view name);
[[nodiscard]] Problem unknown_tensor(std::string_view name);
/// Throws Stop with the problems, if there are any.
void stop_with(std::vector<Problem> problems);

/// An extent of the graph's JSON at given sizes.
[[nodiscard]] int64_t extent_of(const Json& extent, const SizeMap& sizes);

/// The elements of a view, packed.
[[nodiscard]] std::vector<std::byte> packed_bytes(const TensorView& view);
/// Copies packed elements to where a view has them.
void put_packed(const TensorView& view, const std::byte* packed);
/// Bytes of a packed view.
[[nodiscard]] int64_t byte_count(const TensorView& view);

}  // namespace cohort::cli
