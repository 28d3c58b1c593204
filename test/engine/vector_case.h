// A case of test/data/vectors: a graph built from its description, and how its results compare.
#pragma once

#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <cohort/cohort.h>
#include <cohort/safetensors.h>
#include <nlohmann/json.hpp>

namespace cohort::test {

using Json = nlohmann::json;

inline DType dtype_of(const std::string& word) {
  static const std::map<std::string, DType> types{
      {"f32", DType::f32},   {"f16", DType::f16},   {"bf16", DType::bf16},
      {"e4m3", DType::e4m3}, {"e5m2", DType::e5m2}, {"e2m1", DType::e2m1},
      {"i32", DType::i32},   {"i64", DType::i64},   {"ue8m0", DType::e8m0}};
  return types.at(word);
}

/// Builds the part of a described case that the ops of the library express.
class VectorCase {
 public:
  explicit VectorCase(const std::string& name) : builder_(name) {
    std::ifstream in(std::string(COHORT_TEST_DATA) + "/vectors/" + name + ".json");
    description_ = Json::parse(in);
    for (const Json& op : description_.at("ops")) add(op);
  }

  [[nodiscard]] Result<Graph> finish() { return std::move(builder_).finish(); }
  /// Tensor of the graph by the name of a tensor of the case.
  [[nodiscard]] const std::map<std::string, std::string>& inputs() const { return inputs_; }
  [[nodiscard]] const std::map<std::string, std::string>& outputs() const { return outputs_; }
  /// First contents of an output, by output.
  [[nodiscard]] const std::map<std::string, std::string>& initial() const { return initial_; }
  [[nodiscard]] const Json& description() const { return description_; }

 private:
  static std::string role(const Json& op, const char* direction, const char* name) {
    return op.at(direction).value(name, std::string());
  }
  const Json& tensor(const std::string& name) const { return description_.at("tensors").at(name); }
  int64_t extent(const std::string& name, size_t i) const {
    return tensor(name).at("shape").at(i).get<int64_t>();
  }
  DType type(const std::string& name) const {
    return dtype_of(tensor(name).at("dtype").get<std::string>());
  }
  const std::string& bind(const std::string& name) { return bind(name, name); }
  const std::string& bind(const std::string& name, const std::string& tensor_name) {
    return inputs_[name] = tensor_name;
  }

  void add(const Json& op);
  void add_product(const Json& op);
  void add_quantize(const Json& op, const Value& x);
  void add_scatter(const Json& op, const Value& x);
  void add_wgrad(const Json& op);
  void add_glu(const Json& op, const Value& x);
  void publish(const std::string& name, const Value& x, Tail tail = Tail::leave) {
    if (name.empty()) return;
    values_.insert_or_assign(name, x);
    if (name[0] == '%') return;
    const Json& o = description_.at("outputs").at(name);
    builder_.output(name, x, {.dtype = dtype_of(o.at("dtype").get<std::string>()), .tail = tail});
    outputs_[name] = name;
  }
  void publish_row(const std::string& name, const RowVec& x) {
    builder_.output(name, x);
    outputs_[name] = name;
  }
  Groups groups(const Json& op) {
    const std::string name = role(op, "in", "groups");
    const auto it = groups_.find(name);
    if (it != groups_.end()) return it->second;
    static const std::map<std::string, GroupForm> forms{{"starts", GroupForm::starts},
                                                        {"ends", GroupForm::ends},
                                                        {"boundaries", GroupForm::boundaries},
                                                        {"counts", GroupForm::counts}};
    const Json& attrs = op.at("attrs");
    const Groups g =
        builder_.groups(bind(name), attrs.at("groups").get<int64_t>(),
                        forms.at(attrs.at("group_form").get<std::string>()), {.dtype = type(name)});
    return groups_.emplace(name, g).first->second;
  }
  RowVec row(const std::string& name) {
    return builder_.row_input(bind(name), extent(name, 0), type(name));
  }

  Builder builder_;
  Json description_;
  std::map<std::string, Value> values_;
  std::map<std::string, Groups> groups_;
  std::map<std::string, Weights> weights_;
  std::map<std::string, std::string> inputs_;
  std::map<std::string, std::string> outputs_;
  std::map<std::string, std::string> initial_;
  std::map<std::string, Index> indices_;
  std::string scatter_;  ///< Of the last product: index, slot and top_k.
  std::string slot_;
  int64_t top_k_ = 1;
};

inline void VectorCase::add_product(const Json& op) {
  const Json& attrs = op.at("attrs");
  static const std::map<std::string, Format> formats{
      {"mxfp8", Format::mxfp8_e4m3}, {"mxfp4", Format::mxfp4},
      {"nvfp4", Format::nvfp4},      {"fp8_tensor", Format::fp8_tensor},
      {"fp8_row", Format::fp8_row},  {"fp8_block128", Format::fp8_block128}};
  const std::string recipe = attrs.at("recipe").get<std::string>();
  const std::string a = role(op, "in", "a");
  const std::string b = role(op, "in", "b");
  const bool n_major = attrs.value("b_major", std::string("k")) == "n";
  const WeightOptions options{.major = n_major ? Major::n : Major::k};
  const Shape b_shape{extent(b, 0), extent(b, n_major ? 2 : 1), extent(b, n_major ? 1 : 2)};
  const auto format = formats.find(recipe);
  const bool is_scaled = format != formats.end();
  const Operand tokens =
      is_scaled
          ? Operand(builder_.scaled_input(bind(a), {extent(a, 0), extent(a, 1)}, format->second))
          : Operand(builder_.input(bind(a), {extent(a, 0), extent(a, 1)}, type(a)));
  if (!weights_.contains(b)) {
    weights_.emplace(b, is_scaled
                            ? builder_.scaled_weights(bind(b), b_shape, format->second, options)
                            : builder_.weights(bind(b), b_shape, type(b), options));
  }
  const Weights w = weights_.at(b);
  if (is_scaled) {
    const bool block = op.at("in").contains("sfa");
    bind(role(op, "in", block ? "sfa" : "scale_a"), a + ".scale");
    bind(role(op, "in", block ? "sfb" : "scale_b"), b + ".scale");
  }
  Maybe<Index> gather;
  if (attrs.value("token_mode", std::string()) == "gather") {
    const std::string name = role(op, "in", "token_index");
    gather = builder_.index(bind(name), extent(name, 0), type(name));
    indices_.emplace(name, *gather);
  }
  Value x = builder_.add(GroupedGemm{.a = tokens, .b = w, .groups = groups(op), .gather = gather});
  if (const std::string name = role(op, "in", "alpha"); !name.empty()) {
    x = x.then(Alpha{.by = builder_.group_input(bind(name), extent(name, 0), type(name))});
  }
  if (const std::string name = role(op, "in", "row_scale"); !name.empty()) {
    x = x.then(RowScale{.by = row(name)});
  }
  if (attrs.value("token_mode", std::string()) == "scatter") {
    top_k_ = attrs.at("top_k").get<int64_t>();
    scatter_ = role(op, "in", "token_index");
    slot_ = role(op, "in", "token_ks");
  }
  publish(role(op, "out", "x"), x);
}

inline void VectorCase::add_scatter(const Json& op, const Value& x) {
  const std::string name = role(op, "out", "y");
  const Json& o = description_.at("outputs").at(name);
  // The case gathers by the same index: an input is declared once.
  const auto index = [&](const std::string& from) {
    const auto it = indices_.find(from);
    return it != indices_.end() ? it->second
                                : builder_.index(bind(from), extent(from, 0), type(from));
  };
  builder_.output(name, x,
                  {.dtype = dtype_of(o.at("dtype").get<std::string>()),
                   .scatter = index(scatter_),
                   .slot = index(slot_),
                   .top_k = top_k_,
                   .rows = Dim(o.at("shape").at(0).get<int64_t>())});
  outputs_[name] = name;
  initial_[name] = role(op, "in", "init");
}

// Block-scaled operands of a gradient are stored (features, T).
inline void VectorCase::add_wgrad(const Json& op) {
  const bool scaled = op.at("in").contains("sfx");
  const auto operand = [&](const char* name, const char* scale) {
    const std::string x = role(op, "in", name);
    if (!scaled) {
      return Operand(builder_.input(bind(x), {extent(x, 0), extent(x, 1)}, type(x)));
    }
    bind(role(op, "in", scale), x + ".scale");
    return Operand(builder_.scaled_input(bind(x), {extent(x, 1), extent(x, 0)}, Format::mxfp8_e4m3,
                                         {.axis = Axes::col, .storage = ColStorage::transposed}));
  };
  const Operand x = operand("x", "sfx");
  const Operand dy = operand("dy", "sfdy");
  const std::string name = role(op, "out", "dw");
  builder_.output(name, builder_.add(GroupedWgrad{.a = x, .b = dy, .groups = groups(op)}));
  outputs_[name] = name;
}

inline void VectorCase::add_quantize(const Json& op, const Value& x) {
  const Json& attrs = op.at("attrs");
  const bool nvfp4 = attrs.at("format").get<std::string>() == "nvfp4";
  const bool linear = attrs.at("scale_layout").get<std::string>() == "linear";
  ScalarArg norm = 1.0;
  if (const std::string name = role(op, "in", "norm"); !name.empty()) {
    norm = builder_.scalar(bind(name), type(name));
  }
  const std::string col = role(op, "out", "col");
  const Quantized q =
      x.then(Quantize{.to = nvfp4 ? Format::nvfp4 : Format::mxfp8_e4m3,
                      .axes = col.empty() ? Axes::row : Axes::both,
                      .norm = norm,
                      .row_layout = linear ? ScaleLayout::linear : ScaleLayout::tiled_128x4});
  const auto put = [&](const std::string& name, const std::string& scale,
                       const ScaledTensor& value) {
    builder_.output(name, value);
    outputs_[name] = name;
    outputs_[scale] = name + ".scale";
  };
  put(role(op, "out", "row"), role(op, "out", "row_scale"), q.row);
  if (!col.empty()) put(col, role(op, "out", "col_scale"), q.col);
}

inline void VectorCase::add_glu(const Json& op, const Value& x) {
  static const std::map<std::string, Packing> packings{{"split", Packing::split},
                                                       {"interleaved", Packing::interleaved},
                                                       {"bands32", Packing::bands32}};
  const Json& attrs = op.at("attrs");
  Glu glu{.act = attrs.at("act").get<std::string>() == "geglu" ? GluAct::geglu : GluAct::swiglu,
          .packing = packings.at(attrs.at("packing").get<std::string>()),
          .alpha = attrs.at("alpha").get<float>(),
          .beta = attrs.at("beta").get<float>()};
  if (attrs.at("limit").is_number()) glu.limit = attrs.at("limit").get<float>();
  const std::string prob = role(op, "in", "prob");
  const std::string out = role(op, "out", "x");
  const std::string c = role(op, op.at("op") == "glu" ? "out" : "in", "c");
  if (op.at("op") == "glu") {
    publish(c, x);
    const Value y = x.then(glu);
    return publish(out, prob.empty() ? y : y.then(RowGate{.by = row(prob)}));
  }
  const Tensor saved = builder_.input(bind(c), {extent(c, 0), extent(c, 1)}, type(c));
  DGlu op_d = DGlu::of(glu, builder_.add(Load{.x = saved}));
  op_d.prob = row(prob);
  const DGated y = x.then(op_d);
  publish(out, y);
  publish_row(role(op, "out", "dprob"), y.dprob);
}

inline void VectorCase::add(const Json& op) {
  const std::string kind = op.at("op").get<std::string>();
  const Json& attrs = op.at("attrs");
  const std::string out = role(op, "out", "x");
  if (kind == "grouped_gemm") return add_product(op);
  if (kind == "wgrad") return add_wgrad(op);
  if (kind == "input") {
    const std::string x = role(op, "in", "x");
    Maybe<Groups> g;
    if (op.at("in").contains("groups")) g = groups(op);
    const Tensor t = builder_.input(bind(x), {extent(x, 0), extent(x, 1)}, type(x));
    return publish(out, builder_.add(Load{.x = t, .groups = g}));
  }
  const auto it = values_.find(role(op, "in", "x"));
  if (it == values_.end()) return;
  const Value x = it->second;
  if (kind == "bias") {
    const std::string b = role(op, "in", "bias");
    Maybe<RowVec> p;
    if (attrs.value("scaled_by_prob", false)) p = row(role(op, "in", "prob"));
    const GroupMat m = builder_.group_matrix(bind(b), {extent(b, 0), extent(b, 1)}, type(b));
    publish(out, x.then(Bias{.by = m, .scaled_by = p}));
  } else if (kind == "row_gate") {
    publish(out, x.then(RowGate{.by = row(role(op, "in", "prob"))}));
  } else if (kind == "srelu") {
    publish(role(op, "out", "c"), x);
    publish(out, x.then(ReluSquared{}).then(RowGate{.by = row(role(op, "in", "prob"))}));
  } else if (kind == "glu" || kind == "dglu") {
    add_glu(op, x);
  } else if (kind == "dbias") {
    const std::string name = role(op, "out", "dbias");
    builder_.output(name, x.then(DBias{}));
    outputs_[name] = name;
  } else if (kind == "dsrelu") {
    const std::string c = role(op, "in", "c");
    const Tensor saved = builder_.input(bind(c), {extent(c, 0), extent(c, 1)}, type(c));
    const DSrelu y = x.then(
        DReluSquared{.c = builder_.add(Load{.x = saved}), .prob = row(role(op, "in", "prob"))});
    publish(out, y);
    publish_row(role(op, "out", "dprob"), y.dprob);
    publish(role(op, "out", "d_srelu"), y.d_srelu);
  } else if (kind == "pointwise") {
    const std::string mode = attrs.at("mode").get<std::string>();
    static const std::map<std::string, UnaryMode> modes{
        {"identity", UnaryMode::identity}, {"relu", UnaryMode::relu},
        {"gelu_erf", UnaryMode::gelu},     {"gelu_tanh", UnaryMode::gelu_tanh},
        {"silu", UnaryMode::silu},         {"tanh", UnaryMode::tanh},
        {"sigmoid", UnaryMode::sigmoid}};
    if (mode == "srelu") return publish(out, x.then(ReluSquared{}));
    publish(out, x.then(Unary{.mode = modes.at(mode)}));
  } else if (kind == "hadamard") {
    const bool row = attrs.at("axis").get<std::string>() == "row";
    publish(out, x.then(Hadamard{.axis = row ? Axes::row : Axes::col,
                                 .normalised = attrs.at("normalised").get<bool>()}));
  } else if (kind == "amax") {
    const bool tensor = attrs.at("per").get<std::string>() == "tensor";
    const std::string name = role(op, "out", "amax");
    builder_.output(name, x.then(Amax{.per = tensor ? AmaxPer::tensor : AmaxPer::expert}));
    outputs_[name] = name;
  } else if (kind == "cast_scaled") {
    const std::string s = role(op, "in", "scale");
    publish(role(op, "out", "y"), x.then(Cast{.to = dtype_of(attrs.at("dtype").get<std::string>()),
                                              .scale = builder_.scalar(bind(s), type(s))}));
  } else if (kind == "quantize") {
    add_quantize(op, x);
  } else if (kind == "scatter_store") {
    add_scatter(op, x);
  } else if (kind == "tail") {
    const std::string name = role(op, "out", "y");
    const bool leave = attrs.at("tail").get<std::string>() == "leave";
    if (leave) initial_[name] = role(op, "in", "init");
    publish(name, x, leave ? Tail::leave : Tail::zero);
  }
}

}  // namespace cohort::test
