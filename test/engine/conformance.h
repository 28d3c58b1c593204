// The list of cases that every engine must pass, as data: a graph, seeded inputs, and what the
// formulas say, evaluated by plain loops. A file of test/engine/conformance/ holds the cases of an
// op:
//
//   CONFORMANCE(row_gate, f32) {
//     const auto x = c.matrix("x", 10);
//     const auto p = c.row("p");
//     const auto y = c.add(Load{.x = x.h, .groups = c.groups()}).then(RowGate{.by = p.h});
//     c.output("y", y, {}, [=](int64_t r, int64_t n) { return p(r) * x(r, n); });
//   }
//
// The function runs once a situation (conformance::Situation): with rows outside of all groups, no
// rows, one group that has all, groups that are all empty, NaN in the data. Expectations are asked
// for rows of groups only; the others must follow the output's tail. What a case covers is read off
// its graph and its data; conformance_test.cpp demands that every op, field, role and word of the
// op records is covered, and every situation by every op.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <cohort/cohort.h>

#include "engine/gemm_case.h"
#include "engine/near.h"

namespace cohort::test::conformance {

/// What a case is run with.
enum class Situation : uint8_t {
  usual,         ///< Uneven groups, an empty one, rows outside of all groups that hold NaN.
  no_rows,       ///< T = 0.
  one_group,     ///< The last group has all rows.
  empty_groups,  ///< T > 0, and every group is empty.
  nan,           ///< As usual, with NaN among the data of groups.
};
inline constexpr Situation kSituations[] = {Situation::usual, Situation::no_rows,
                                            Situation::one_group, Situation::empty_groups,
                                            Situation::nan};
[[nodiscard]] std::string_view name(Situation s);

/// Extents of up to four dimensions, and positions among them.
using Position = std::array<int64_t, 4>;

/// How the scales of a quantised input stand.
struct ScaleLocation {
  Format format;
  DType element;
  ScaleLayout layout;
  Axes axis;
  ColStorage storage;
  bool weights;
};

/// One input of a case: what the graph means by it, and how it stands in memory.
struct Stored {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> extents;  ///< Logical: weights (E, N, K).
  std::vector<double> values;    ///< Logical row-major; a quantised element is code * scale.
  bool rows_are_tokens = false;  ///< Dimension 0 is T.
  bool holds_nan = false;        ///< NaN may be planted.
  bool n_major = false;          ///< Weights stand as (E, K, N).
  bool is_pointers = false;      ///< Weights behind pointers.
  std::function<double(const Position&)> make;  ///< Numbers to hold, by position.
  std::vector<uint8_t> codes;                   ///< Quantised: a byte an element, logical.
  std::vector<double> scales;                   ///< Quantised: that of each element, logical.
  std::shared_ptr<const ScaleLocation> scaled;  ///< Quantised tensors and weights.

  [[nodiscard]] size_t at(const Position& p) const;
  [[nodiscard]] Position position(size_t i) const;
};

/// An input: its handle, and its elements as numbers.
template <class H>
struct Data {
  H h;
  std::shared_ptr<Stored> stored;
  /// One element; what is left out is 0.
  Near operator()(int64_t i, int64_t j = 0, int64_t k = 0) const {
    return stored->values[stored->at({i, j, k, 0})];
  }
};

/// The rows of the token axis.
struct Tokens {
  int64_t rows = 0;
  std::vector<Range> ranges;                       ///< By group.
  [[nodiscard]] int32_t group(int64_t row) const;  ///< -1: none.
  [[nodiscard]] int64_t row_in_group(int64_t row) const {
    return row - ranges[static_cast<size_t>(group(row))].begin;
  }
};

struct GroupsSpec {
  GroupForm form = GroupForm::boundaries;
  DType dtype = DType::i32;
  int64_t count = 3;     ///< At least 3; form whole has 1, whatever stands here.
  int64_t multiple = 1;  ///< Every group has a multiple of this many rows, which is declared.
  int64_t unit = 1;      ///< Groups have this many times the usual rows.
};

/// Bytes that an output must have: 0 .. 255, or one of these.
inline constexpr int kUntouched = -1;  ///< As it was.
inline constexpr int kAny = -2;
using Bytes = std::vector<int>;

/// How a quantised input lies in memory, beyond its format.
struct ScaledSpec {
  Maybe<DType> element{};
  Maybe<ScaleLayout> layout{};
  Axes axis = Axes::row;
  ColStorage storage = ColStorage::as_rows;
};

/// One case being described.
class Case {
 public:
  Case(std::string_view op, std::string_view name, Situation situation);

  /// T, a dynamic extent; its value follows from the situation.
  Dim T();
  /// The groups of the token axis. The first call decides.
  Groups groups(const GroupsSpec& spec = {});
  [[nodiscard]] bool has_groups() const { return !groups_.empty(); }
  /// Before anything is described: whatever groups it wants, it has one of form whole.
  void make_whole() { whole_ = true; }
  /// Experts of a call: as many as it has groups.
  [[nodiscard]] int64_t experts() const { return whole_ ? 1 : 3; }
  [[nodiscard]] std::shared_ptr<const Tokens> tokens() const { return tokens_; }
  [[nodiscard]] Situation situation() const { return situation_; }
  Builder& builder() { return builder_; }
  template <class O>
  typename O::Out add(const O& op) {
    return builder_.add(op);
  }

  // ---- inputs, filled with seeded numbers that their type holds exactly
  /// (T, features).
  Data<Tensor> matrix(std::string_view name, int64_t features, DType dtype = DType::f32,
                      const TensorOptions& options = {});
  /// (rows, features), whatever T is.
  Data<Tensor> fixed(std::string_view name, int64_t rows, int64_t features,
                     DType dtype = DType::f32, const TensorOptions& options = {});
  Data<RowVec> row(std::string_view name, DType dtype = DType::f32);
  Data<ColVec> column(std::string_view name, int64_t features, DType dtype = DType::f32);
  Data<GroupVec> group_vec(std::string_view name, int64_t count, DType dtype = DType::f32);
  Data<GroupMat> group_mat(std::string_view name, int64_t count, int64_t features,
                           DType dtype = DType::f32);
  Data<Scalar> scalar(std::string_view name, double value, DType dtype = DType::f32);
  /// (T) numbers of 0 .. limit - 1.
  Data<Index> index(std::string_view name, int64_t limit, DType dtype = DType::i32);
  /// (T, per_token) numbers of lowest .. limit - 1.
  Data<Index> entries(std::string_view name, int64_t per_token, int64_t lowest, int64_t limit,
                      DType dtype = DType::i32);
  /// A plain tensor of one extent, T.
  Data<Tensor> numbers(std::string_view name, DType dtype = DType::f32);
  /// `count` numbers of lowest .. limit - 1, whatever T is.
  Data<Index> fixed_index(std::string_view name, int64_t count, int64_t lowest, int64_t limit,
                          DType dtype = DType::i32);
  Data<Weights> weights(std::string_view name, int64_t experts, int64_t n, int64_t k,
                        DType dtype = DType::f32, const WeightOptions& options = {});
  Data<WeightPointers> weight_pointers(std::string_view name, int64_t experts, int64_t n, int64_t k,
                                       DType dtype = DType::f32, const WeightOptions& options = {});
  /// (T, features), or (rows, features) when `rows` is given.
  Data<ScaledTensor> scaled(std::string_view name, int64_t features, Format format,
                            const ScaledSpec& spec = {}, int64_t rows = -1);
  Data<Weights> scaled_weights(std::string_view name, int64_t experts, int64_t n, int64_t k,
                               Format format, const WeightOptions& options = {});
  Data<WeightPointers> scaled_weight_pointers(std::string_view name, int64_t experts, int64_t n,
                                              int64_t k, Format format,
                                              const WeightOptions& options = {});
  /// Other numbers for an input, by position; the type must hold them. NaN is still planted.
  template <class H>
  void fill_with(const Data<H>& data, std::function<double(const Position&)> f) {
    data.stored->make = std::move(f);
  }

  // ---- outputs
  /// An output and what each element is, by up to three positions. Rounded to the output's type.
  template <class F>
  void output(std::string_view name, const Handle& value, const OutputOptions& options, F f) {
    builder_.output(name, value, options);
    expect(name, [f](const Position& p) -> Near {
      if constexpr (std::is_invocable_v<F, int64_t, int64_t, int64_t>)
        return f(p[0], p[1], p[2]);
      else if constexpr (std::is_invocable_v<F, int64_t, int64_t>)
        return f(p[0], p[1]);
      else
        return f(p[0]);
    });
  }
  /// A quantised output and the bytes of its codes and scales. Asked when everything is known.
  void quantised(std::string_view name, const Handle& value, const OutputOptions& options,
                 std::function<Bytes(const TensorInfo&)> codes,
                 std::function<Bytes(const TensorInfo&)> scales);
  /// The case says nothing about a situation; another one of the op must.
  void skip(Situation s) { skipped_ = skipped_ || s == situation_; }

  // ---- for the list
  struct Expected {
    std::string name;
    std::function<Near(const Position&)> element;
    std::function<Bytes(const TensorInfo&)> bytes;
  };
  [[nodiscard]] bool skipped() const { return skipped_; }
  [[nodiscard]] Graph finish();
  void fill(Tensors& tensors) const;
  /// Nothing, or what is wrong with an output.
  [[nodiscard]] std::string check(Tensors& tensors, const Graph& graph) const;
  [[nodiscard]] bool uses_tokens() const { return !t_.empty(); }
  [[nodiscard]] const std::vector<std::shared_ptr<Stored>>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<Expected>& expected() const { return expected_; }

 private:
  void expect(std::string_view name, std::function<Near(const Position&)> f) {
    expected_.push_back({std::string(name), std::move(f), {}});
  }
  std::shared_ptr<Stored> store(std::string_view name, DType dtype, std::vector<int64_t> extents);
  std::shared_ptr<Stored> store_scaled(std::string_view name, std::vector<int64_t> extents,
                                       Format format, const ScaledSpec& spec, bool weights);
  void decide_rows();
  void make_values(Stored& s);
  void make_scaled(Stored& s);
  void plant(Stored& s);
  void put_pointers(Tensors& tensors, const Stored& s) const;

  Builder builder_;
  Situation situation_;
  std::mt19937 random_;
  std::shared_ptr<Tokens> tokens_ = std::make_shared<Tokens>();
  bool skipped_ = false;
  bool whole_ = false;
  GroupsSpec group_spec_;
  std::vector<Dim> t_;
  std::vector<Groups> groups_;
  std::vector<std::shared_ptr<Stored>> inputs_;
  std::vector<Expected> expected_;
  mutable std::vector<std::vector<uint8_t>> pointed_;  // what pointers point to
};

/// A case of the list.
struct Entry {
  std::string op;
  std::string name;
  void (*describe)(Case&);
};
[[nodiscard]] std::vector<Entry>& entries();
struct Enlist {
  Enlist(const char* op, const char* name, void (*describe)(Case&)) {
    entries().push_back({op, name, describe});
  }
};

/// Words of a field that no graph holds: `words` separated by spaces.
struct RefusedWords {
  std::string op;
  std::string field;
  std::string words;
  bool is_left_out = false;  // refused, or kept as nothing
};
[[nodiscard]] std::vector<RefusedWords>& refused_words();
struct EnlistRefused {
  EnlistRefused(const char* op, const char* field, const char* words, bool is_left_out = false) {
    refused_words().push_back({op, field, words, is_left_out});
  }
};

/// Begins the body of a case `label` of an op; `c` is the Case.
#define CONFORMANCE(op, label)                                                  \
  static void conformance_##op##_##label(::cohort::test::conformance::Case& c); \
  static const ::cohort::test::conformance::Enlist kEnlist_##op##_##label(      \
      #op, #label, conformance_##op##_##label);                                 \
  static void conformance_##op##_##label(::cohort::test::conformance::Case& c)

/// Says that no valid graph holds one of these words in the field; the list proves it.
#define CONFORMANCE_REFUSED(op, field, words)                                                  \
  static const ::cohort::test::conformance::EnlistRefused kRefused_##op##_##field(#op, #field, \
                                                                                  words)
/// Says that a graph which is given one of these words, and may have it, holds nothing in the
/// field: it stands for that.
#define CONFORMANCE_LEFT_OUT(op, field, words)                                                 \
  static const ::cohort::test::conformance::EnlistRefused kLeftOut_##op##_##field(#op, #field, \
                                                                                  words, true)

/// Byte of scale (r, s) of a matrix with `columns` scale columns: 512-byte atoms of 128 rows x 4.
[[nodiscard]] int64_t tiled_byte(int64_t r, int64_t s, int64_t columns);
/// Where the code of element (r, c) of a (rows, columns) matrix stands, in elements.
[[nodiscard]] int64_t code_place(ColStorage storage, const Tokens& tokens, int64_t rows,
                                 int64_t columns, int64_t r, int64_t c);
/// Which scale belongs to element (r, c) of a (rows, columns) matrix: a byte, or an f32 number.
[[nodiscard]] int64_t scale_place(const ScaleLocation& where, const Tokens& tokens, int64_t rows,
                                  int64_t columns, int64_t r, int64_t c);

}  // namespace cohort::test::conformance
