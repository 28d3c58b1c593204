// The five calls of a mixture-of-experts training step, described on top of the conformance cases:
// operands in the layouts that the calls have, expectations by plain f64 loops. Public sources of
// the calls: TransformerEngine and Megatron-LM, as cudnn-frontend's wrappers take them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cohort/numerics.h>

#include "engine/blocks.h"
#include "engine/gated.h"
#include "engine/run_case.h"

namespace cohort::test::conformance {

/// f, and what it said before.
inline Grid remembered(const Case& c, int64_t columns, Grid f) {
  auto memory = std::make_shared<std::vector<std::optional<Near>>>();
  return [=, t = c.tokens()](int64_t r, int64_t n) {
    if (memory->empty()) memory->resize(static_cast<size_t>(t->rows * columns));
    std::optional<Near>& known = (*memory)[static_cast<size_t>(r * columns + n)];
    if (!known) known = f(r, n);
    return *known;
  };
}

/// Weights (E, N, K) of a call.
struct CallWeights {
  WeightOperand h;
  std::function<Near(int64_t, int64_t, int64_t)> at;
};
inline CallWeights call_weights(Case& c, const char* name, int64_t n, int64_t k, Format format,
                                bool discrete, Major major = Major::k) {
  const WeightOptions options{.major = major};
  if (discrete) {
    const auto w = c.scaled_weight_pointers(name, c.experts(), n, k, format, options);
    return {w.h, w};
  }
  const auto w = c.scaled_weights(name, c.experts(), n, k, format, options);
  return {w.h, w};
}

/// sum_k a[r, k] b[g(r)][n, k].
template <class A>
Grid product_of(Case& c, A a, const CallWeights& w, int64_t n_count, int64_t k_count) {
  return remembered(c, n_count, [=, t = c.tokens()](int64_t r, int64_t n) {
    Sum acc;
    for (int64_t k = 0; k < k_count; ++k) acc.add(a(r, k) * w.at(t->group(r), n, k));
    return acc.result();
  });
}

/// Factors an expert: ones, as the MXFP8 calls pass them, or numbers that a call must apply, once.
enum class Factors : uint8_t { ones, others };
inline Data<GroupVec> factors(Case& c, const char* name, DType dtype, Factors which = Factors::ones,
                              int64_t count = -1) {
  const auto v = c.group_vec(name, count < 0 ? c.experts() : count, dtype);
  c.fill_with(v, [which](const Position& p) {
    return which == Factors::ones ? 1.0 : 0.75 + 0.5 * static_cast<double>(p[0]);
  });
  return v;
}

/// The activation between the two products: squared ReLU, or a gated one in bands of 32.
struct Activation {
  bool is_gated = false;
  GluAct act = GluAct::swiglu;
  Maybe<float> alpha{}, beta{}, limit{}, gate_bound{}, up_bound{};

  [[nodiscard]] int64_t inputs(int64_t features) const {
    return is_gated ? 2 * features : features;
  }
  [[nodiscard]] Glu forward() const {
    return {.act = act,
            .packing = Packing::bands32,
            .alpha = alpha,
            .beta = beta,
            .limit = limit,
            .gate_bound = gate_bound,
            .up_bound = up_bound};
  }
  static double or_default(const Maybe<float>& given, double otherwise) {
    return given ? static_cast<double>(*given) : otherwise;
  }
  [[nodiscard]] Parts parts(Near g, Near u) const {
    if (act == GluAct::situ) return situ(g, u, or_default(gate_bound, 4), or_default(up_bound, 25));
    const bool quick = act == GluAct::geglu;
    return gated(g, u, or_default(alpha, quick ? static_cast<double>(1.702f) : 1),
                 or_default(beta, quick ? 1 : 0),
                 or_default(limit, quick ? 7 : std::numeric_limits<double>::infinity()));
  }
  static int64_t gate(int64_t i) { return i / 32 * 64 + i % 32; }
  /// Feature i of the activation of pre-activations c.
  [[nodiscard]] Near of(const Grid& c, int64_t r, int64_t i) const {
    if (!is_gated) return relu(c(r, i)) * relu(c(r, i));
    const Parts p = parts(c(r, gate(i)), c(r, gate(i) + 32));
    return p.left * p.right;
  }
};

inline Activation squared_relu() { return {}; }
inline Activation swiglu() { return {.is_gated = true}; }
inline Activation clamped_swiglu() { return {.is_gated = true, .limit = 2.5f}; }
inline Activation quick_geglu() { return {.is_gated = true, .act = GluAct::geglu}; }
inline Activation situ_glu() { return {.is_gated = true, .act = GluAct::situ}; }

/// The quantised form of an output, `axes` row or col; expectations from its f32 values.
inline void quantised_output(Case& c, const char* name, const ScaledTensor& value, const Grid& x,
                             int64_t features, Axes axis, const OutputOptions& options = {},
                             Format format = Format::mxfp8_e4m3) {
  Blocks b{.x = x, .tokens = c.tokens(), .features = features, .tail = options.tail, .axis = axis};
  b.spec.format = format;
  b.spec.element = info(format).element;
  b.spec.qmax = numerics::default_qmax(b.spec.element);
  if (axis == Axes::col) b.layout = ScaleLayout::per_group;
  // A case in which the errors of x leave most bytes open says nothing. Saturated products of SiTU
  // lie on ties of e4m3 (4 * 25 = 100 does), which either side may round.
  const auto decided = [](Bytes bytes) {
    const auto open = std::count(bytes.begin(), bytes.end(), kAny);
    EXPECT_LE(open * 5, static_cast<int64_t>(bytes.size())) << open << " bytes are open";
    return bytes;
  };
  c.quantised(
      name, value, options, [=](const TensorInfo& i) { return decided(b.codes(i)); },
      [=](const TensorInfo& i) { return b.scales(i); });
}

/// Gradients behind pointers: an output of the graph, and memory of every expert's own.
struct Pointed {
  std::string name;
  DType dtype = DType::f32;
  int64_t size = 0;                              ///< Elements of an expert.
  std::function<Near(int64_t, int64_t)> wanted;  ///< Expert, element.
  std::vector<std::vector<std::byte>> memory;

  void prepare(Tensors& t) {
    std::vector<int64_t> at;
    memory.assign(static_cast<size_t>(t.view(name).shape[0]), {});
    for (auto& m : memory) {
      m.assign(static_cast<size_t>(size * bits(dtype) / 8), std::byte{kPoison});
      at.push_back(std::bit_cast<int64_t>(m.data()));
    }
    t.set(name, at);
  }
  [[nodiscard]] std::string check() const {
    for (size_t e = 0; e < memory.size(); ++e) {
      std::vector<float> got(static_cast<size_t>(size));
      EXPECT_TRUE(decode(dtype, memory[e].data(), size, got.data()));
      for (size_t i = 0; i < got.size(); ++i) {
        const Near want = wanted(static_cast<int64_t>(e), static_cast<int64_t>(i));
        const auto x = static_cast<double>(got[i]);
        const bool right = std::isnan(want.v) ? std::isnan(x)
                                              : x >= round_to(dtype, want.v - want.e) &&
                                                    x <= round_to(dtype, want.v + want.e);
        if (!right) {
          return name + " of expert " + std::to_string(e) + "[" + std::to_string(i) + "]: wanted " +
                 std::to_string(want.v) + ", got " + std::to_string(x);
        }
      }
    }
    return {};
  }
};

/// One call in one situation. `whole`: on one group of form whole. Nothing, or what is wrong.
struct CallRun {
  const char* name = "";
  const std::function<void(Case&)>& describe;
  std::vector<Pointed>* pointed = nullptr;
  bool whole = false;

  [[nodiscard]] std::unique_ptr<Case> described(Situation s) const {
    if (pointed != nullptr) pointed->clear();
    auto c = std::make_unique<Case>("call", name, s);
    if (whole) c->make_whole();
    describe(*c);
    return c;
  }
  [[nodiscard]] std::string run(Situation s, const std::string& spoiled) const {
    const std::unique_ptr<Case> c = described(s);
    const Graph graph = c->finish();
    if (whole && graph.tensor_index("groups") >= 0) return "form whole binds a tensor";
    const Result<Plan> plan = make_plan(graph, Device::cpu(), {.engine = "reference"});
    if (!plan) return std::string(plan.findings().text());
    Hooks hooks;
    hooks.prepare = [&](Tensors& t) {
      if (pointed == nullptr) return;
      for (Pointed& p : *pointed) p.prepare(t);
    };
    hooks.spoil = [&](Tensors& t) {
      if (spoiled.empty()) return;
      auto* data = t.data<uint8_t>(spoiled);
      for (int64_t b = 0; b < t.bytes(spoiled); ++b) data[b] ^= 0x41;
    };
    std::string failure = run_case(*c, graph, *plan, hooks);
    if (pointed == nullptr) return failure;
    for (const Pointed& p : *pointed) failure += p.check();
    return failure;
  }
};

/// Runs a call in every situation: uneven groups with a tail of NaN, T = 0, one group that has all,
/// empty groups, NaN in the data; the same with one group of form whole; then once more for each
/// output, which is spoiled: a call whose expectations let that pass proves nothing.
inline void check_call(const char* name, const std::function<void(Case&)>& describe,
                       std::vector<Pointed>* pointed = nullptr) {
  SCOPED_TRACE(name);
  for (const bool whole : {false, true}) {
    SCOPED_TRACE(whole ? "whole" : "groups");
    const CallRun call{name, describe, pointed, whole};
    const std::unique_ptr<Case> c = call.described(Situation::usual);
    if (whole && !c->has_groups()) continue;
    for (const Situation s : kSituations) {
      SCOPED_TRACE(std::string(conformance::name(s)));
      EXPECT_EQ("", call.run(s, {}));
    }
    for (const Case::Expected& e : c->expected()) {
      EXPECT_NE(call.run(Situation::usual, e.name).find(e.name), std::string::npos) << e.name;
    }
  }
}

}  // namespace cohort::test::conformance
