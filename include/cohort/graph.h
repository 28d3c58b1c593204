// The fluent graph API: role-typed handles, one `add` for roots, one `then` for epilogues.
#pragma once

#include <cstdint>
#include <string_view>

#include <cohort/handles.h>
#include <cohort/status.h>
#include <cohort/types.h>

namespace cohort {

/// How a stored tensor lies in memory.
struct TensorOptions {
  Strides strides{};       ///< Element strides; empty: packed row-major.
  int64_t alignment = 16;  ///< Byte alignment of the first element that the caller promises.
};

/// How a quantised tensor and its scales lie in memory.
struct ScaledOptions {
  Maybe<DType> element{};                    ///< e5m2 in place of e4m3, for the fp8_* formats.
  Maybe<ScaleLayout> layout{};               ///< Default: linear for f32 scales, else tiled_128x4.
  Axes axis = Axes::row;                     ///< Blocks along features (row) or along tokens (col).
  ColStorage storage = ColStorage::as_rows;  ///< Where elements of `col` blocks stand.
  Strides strides{};                         ///< Element strides; empty: packed.
  int64_t alignment = 16;                    ///< Byte alignment of elements and of scales.
};

/// How weights lie in memory.
struct WeightOptions {
  Major major = Major::k;       ///< k: (E, N, K); n: (E, K, N), for 8- and 16-bit types.
  Maybe<DType> element{};       ///< As in ScaledOptions.
  Maybe<ScaleLayout> layout{};  ///< As in ScaledOptions.
  Strides strides{};            ///< Of the stored order; empty: packed.
  int64_t alignment = 16;       ///< Byte alignment of every matrix.
};

/// What is known of a groups input.
struct GroupOptions {
  DType dtype = DType::i32;  ///< i32 or i64.
  int64_t row_alignment =
      1;  ///< Every group has a multiple of this many rows, the caller promises.
};

/// How an output is stored.
struct OutputOptions {
  Maybe<DType> dtype{};     ///< Rounded to once, here; default: the type of the value.
  Tail tail = Tail::leave;  ///< Rows (and scale bytes) that belong to no group.
  Strides strides{};        ///< Element strides; empty: packed row-major.
  int64_t alignment = 16;   ///< Byte alignment that the caller promises.
  bool discrete = false;    ///< Gradients of weights: E pointers to packed matrices are bound.
  Maybe<Index> scatter{};   ///< (T): row r goes to row scatter[r] * top_k + slot[r]; -1: nowhere.
  Maybe<Index> slot{};      ///< (T): 0 .. top_k - 1; with scatter only. Default: 0.
  int64_t top_k = 1;        ///< Rows of a scattered output that share an entry of `scatter`.
  Maybe<Dim> rows{};        ///< Rows of a scattered output; those that nobody writes follow `tail`.
};

/// 128 bits that name a graph up to the names in it.
struct Key {
  uint64_t high;  ///< Upper half.
  uint64_t low;   ///< Lower half.
  /// Equal in all 128 bits.
  friend constexpr bool operator==(const Key& a, const Key& b) {
    return a.high == b.high && a.low == b.low;
  }
};

/// What a node's result is, for pictures and reports. Views live as long as the graph.
struct ResultInfo {
  std::string_view op;                ///< Op of the node.
  std::string_view port;              ///< "" for the only result, otherwise "row", "col", ...
  Role role;                          ///< Its role.
  DType dtype;                        ///< Element type.
  int32_t rank;                       ///< Number of extents.
  int64_t bound[kMaxRank];            ///< Extents, at the bound of named ones.
  std::string_view symbol[kMaxRank];  ///< Names of named extents; empty for numbers.
};

/// A checked, frozen graph. Copies share it; any thread may read it.
class COHORT_API Graph {
 public:
  Graph(const Graph& other) noexcept;             ///< Shares the graph.
  Graph& operator=(const Graph& other) noexcept;  ///< As above.
  ~Graph();

  /// Name given to the Builder.
  [[nodiscard]] std::string_view name() const noexcept;
  /// Number of ops.
  [[nodiscard]] int64_t node_count() const noexcept;
  /// Number of results of node `node`; 0 when there is no such node.
  [[nodiscard]] int32_t result_count(int64_t node) const noexcept;
  /// Result `port` of node `node`; both must exist.
  [[nodiscard]] ResultInfo result(int64_t node, int32_t port) const noexcept;
  /// Number of tensors that running the graph binds: inputs, then outputs, each with its parts.
  [[nodiscard]] int32_t tensor_count() const noexcept;
  /// Name of the i-th tensor ("x", "x.scale"); empty when `i` is out of range.
  [[nodiscard]] std::string_view tensor_name(int32_t i) const noexcept;
  /// Index of the tensor of that name, or -1.
  [[nodiscard]] int32_t tensor_index(std::string_view name) const noexcept;
  /// Name of the extent that dimension `d` of the i-th tensor has in memory; empty when that is a
  /// number or follows from a layout, as scales do, and when there is no such dimension. In
  /// elements: a file packs two of e2m1 in a byte, which TensorFile::view(i, dtype) undoes.
  [[nodiscard]] std::string_view tensor_symbol(int32_t i, int32_t d) const noexcept;
  /// What dimension `d` of the i-th tensor has beyond the value of tensor_symbol(i, d): 1 for
  /// groups of form boundaries, which have one entry more than groups; else 0.
  [[nodiscard]] int64_t tensor_extra(int32_t i, int32_t d) const noexcept;
  /// Key of the canonical text without names; computed once.
  [[nodiscard]] Key key() const noexcept;
  /// The canonical JSON; made once, then owned by the graph. Empty only when memory ran out.
  [[nodiscard]] std::string_view json() const noexcept;

 private:
  friend struct detail::Access;
  explicit Graph(const ir::Graph* graph) noexcept;
  const ir::Graph* graph_;
};

/// Describes a graph. One thread at a time. Mistakes are collected and reported by finish().
class COHORT_API Builder {
 public:
  /// Begins a graph. `name`: at most 256 bytes of UTF-8.
  explicit Builder(std::string_view name) noexcept;
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder();

  /// A named extent: one plan serves every value of 0 .. bound.
  [[nodiscard]] Dim dynamic(std::string_view name, int64_t bound,
                            Where where = Where::here()) noexcept;
  /// A plain tensor (rows, features), or of any rank up to 8.
  [[nodiscard]] Tensor input(std::string_view name, Shape shape, DType dtype,
                             const TensorOptions& options = {},
                             Where where = Where::here()) noexcept;
  /// A quantised (rows, features) tensor; its scales are bound as "NAME.scale".
  [[nodiscard]] ScaledTensor scaled_input(std::string_view name, Shape shape, Format format,
                                          const ScaledOptions& options = {},
                                          Where where = Where::here()) noexcept;
  /// Dense weights, always given as {E, N, K}; `options.major` says how they are stored.
  [[nodiscard]] Weights weights(std::string_view name, Shape shape, DType dtype,
                                const WeightOptions& options = {},
                                Where where = Where::here()) noexcept;
  /// Dense quantised weights {E, N, K}; scales are bound as "NAME.scale", one layout an expert.
  [[nodiscard]] Weights scaled_weights(std::string_view name, Shape shape, Format format,
                                       const WeightOptions& options = {},
                                       Where where = Where::here()) noexcept;
  /// Discrete weights: a device array of E 64-bit pointers to (N, K) matrices.
  [[nodiscard]] WeightPointers weight_pointers(std::string_view name, Shape shape, DType dtype,
                                               const WeightOptions& options = {},
                                               Where where = Where::here()) noexcept;
  /// Discrete quantised weights: two arrays of E pointers, elements and "NAME.scale".
  [[nodiscard]] WeightPointers weight_pointers(std::string_view name, Shape shape, Format format,
                                               const WeightOptions& options = {},
                                               Where where = Where::here()) noexcept;
  /// Which rows belong to which of `count` groups. Form `slots` binds "NAME.begin", "NAME.used";
  /// form `whole`, of which `count` is 1 and the type i32, binds nothing.
  /// A named `count` is for Combine::koff only.
  [[nodiscard]] Groups groups(std::string_view name, Dim count, GroupForm form,
                              const GroupOptions& options = {},
                              Where where = Where::here()) noexcept;
  /// One number a row: f32, f16 or bf16.
  [[nodiscard]] RowVec row_input(std::string_view name, Dim rows, DType dtype = DType::f32,
                                 Where where = Where::here()) noexcept;
  /// One number a feature: f32, f16 or bf16.
  [[nodiscard]] ColVec col_input(std::string_view name, Dim features, DType dtype = DType::f32,
                                 Where where = Where::here()) noexcept;
  /// One number a group or expert: f32, f16 or bf16.
  [[nodiscard]] GroupVec group_input(std::string_view name, int64_t count, DType dtype = DType::f32,
                                     Where where = Where::here()) noexcept;
  /// One row of features a group or expert {E, N}: f32, f16 or bf16.
  [[nodiscard]] GroupMat group_matrix(std::string_view name, Shape shape, DType dtype = DType::f32,
                                      Where where = Where::here()) noexcept;
  /// One number in memory: f32, bf16, i32 or i64.
  [[nodiscard]] Scalar scalar(std::string_view name, DType dtype = DType::f32,
                              Where where = Where::here()) noexcept;
  /// Row numbers: i32 or i64.
  [[nodiscard]] Index index(std::string_view name, Dim count, DType dtype = DType::i32,
                            Where where = Where::here()) noexcept;
  /// Row numbers (tokens, experts a token), for Combine.
  [[nodiscard]] Index index(std::string_view name, Shape shape, DType dtype = DType::i32,
                            Where where = Where::here()) noexcept;

  /// Appends a root op. Mistakes are found now and reported by finish().
  template <RootOp O>
  [[nodiscard]] typename O::Out add(const O& op, Where where = Where::here()) noexcept;
  /// Does not compile: `add` takes a root op.
  template <class O>
  requires(!RootOp<O>) Value add(const O& op)
  noexcept;

  /// Makes a result an output of the graph.
  void output(std::string_view name, const Handle& value, const OutputOptions& options = {},
              Where where = Where::here()) noexcept;

  /// The frozen graph, or every finding: the first 100 and their number.
  [[nodiscard]] Result<Graph> finish(Where where = Where::here()) && noexcept;

 private:
  detail::State* state_;
};

}  // namespace cohort

#include <cohort/detail/recorder.h>
