// Activations of a mixture-of-experts layer, and their backwards.
#pragma once

#include <cstdint>

#include <cohort/graph.h>
#include <cohort/ops/fields.h>
#include <cohort/types.h>

namespace cohort {

/// y = relu(x)^2; with `clamp` s: t = min(tanh(relu(x) / s), 1), y = (s * t)^2.
struct ReluSquared {
  Maybe<float> clamp{};                                ///< s > 0, the tanh clamp.
  using Out = Value;                                   ///< (T, N).
  static constexpr const char* name = "relu_squared";  ///< In JSON and docs.
  COHORT_FIELDS(field("clamp", &ReluSquared::clamp))
};

/// One number a row: a row vector, or a computed (T, 1) value such as a product with N = 1.
class RowTerm : public Handle {
 public:
  /// A stored or computed row vector.
  RowTerm(const RowVec& h) : Handle(h) {}  // NOLINT: each role may stand here
  /// A computed value with one feature.
  RowTerm(const Value& h) : Handle(h) {}  // NOLINT
};

/// Which of its two matrices is the upstream gradient in DReluSquared.
enum class DReluSquaredMode : uint8_t {
  grad_acc,   ///< The piped value; `c` is what went into the forward activation.
  recompute,  ///< `c`; the piped value is what goes into the forward activation.
};
/// The word for a mode ("grad_acc"); empty for an unknown value.
[[nodiscard]] COHORT_API std::string_view name(DReluSquaredMode value) noexcept;

/// What DReluSquared makes: itself is the gradient, so that `then` goes on from it. A result that
/// nothing uses is not computed.
struct DSrelu : Value {
  RowVec dprob;                           ///< (T): the gradient of `prob`.
  Value d_srelu;                          ///< (T, N): the forward result, prob included.
  static constexpr int result_count = 3;  ///< Number of results.
  /// Names of the results, in order.
  template <class V>
  static constexpr auto results(V&& v) {
    return v(ResultField<Value>{""}, ResultField<RowVec>{"dprob"}, ResultField<Value>{"d_srelu"});
  }
};

/// The backward of ReluSquared and a RowGate after it. With g the upstream gradient, a what went
/// into the activation, r = relu(a) and p the row's prob: d = g * r * 2 * p, dprob = sum_n r^2 * g,
/// d_srelu = r^2 * p. With `clamp` s, t = min(tanh(r / s), 1) and h = s * t:
/// d = 2 * h * (1 - t^2) * g * p, dprob = sum_n h^2 * g, d_srelu = h^2 * p.
struct DReluSquared {
  Value c;  ///< (T, N): saved input, or upstream gradient; see `mode`.
  DReluSquaredMode mode = DReluSquaredMode::grad_acc;    ///< Which matrix is the gradient.
  Maybe<float> clamp{};                                  ///< s > 0, as in the forward op.
  Maybe<RowVec> prob{};                                  ///< p (T); absent: 1.
  Maybe<RowTerm> dprob_add{};                            ///< (T) or (T, 1): added to dprob.
  using Out = DSrelu;                                    ///< (T, N), dprob, d_srelu.
  static constexpr const char* name = "d_relu_squared";  ///< In JSON and docs.
  COHORT_FIELDS(field("c", &DReluSquared::c), field("mode", &DReluSquared::mode),
                field("clamp", &DReluSquared::clamp), field("prob", &DReluSquared::prob),
                field("dprob_add", &DReluSquared::dprob_add))
};

/// A gated activation: half of the features of x, gate G and up U, in a packing.
/// swiglu, geglu: G = min(G, limit), U = clamp(U, -limit, limit),
/// y = (sigmoid(alpha * G) * G) * (U + beta).
/// situ: y = (gate_bound * tanh(G / gate_bound) * sigmoid(G)) * (up_bound * tanh(U / up_bound)).
/// A RowGate after it multiplies by the routing probability.
struct Glu {
  Required<GluAct, "Glu::act"> act;           ///< Which activation.
  Required<Packing, "Glu::packing"> packing;  ///< Of the weight whose product x is.
  Maybe<float> alpha{};                       ///< Default: 1 (swiglu), 1.702 (geglu).
  Maybe<float> beta{};                        ///< Default: 0 (swiglu), 1 (geglu).
  Maybe<float> limit{};                       ///< > 0; default: infinity (swiglu), 7 (geglu).
  Maybe<float> gate_bound{};                  ///< > 0; situ only; default 4.
  Maybe<float> up_bound{};                    ///< > 0; situ only; default 25.
  using Out = Value;                          ///< (T, N / 2).
  static constexpr const char* name = "glu";  ///< In JSON and docs.
  COHORT_FIELDS(field("act", &Glu::act), field("packing", &Glu::packing),
                field("alpha", &Glu::alpha), field("beta", &Glu::beta), field("limit", &Glu::limit),
                field("gate_bound", &Glu::gate_bound), field("up_bound", &Glu::up_bound))
  /// The parameters of gpt-oss: alpha 1.702, beta 1, limit 7.
  static Glu gpt_oss(Packing packing) {
    return {
        .act = GluAct::swiglu, .packing = packing, .alpha = 1.702f, .beta = 1.0f, .limit = 7.0f};
  }
  /// SwiGLU with a clamp, as GLM and DeepSeek-V4.1 have with limit 10.
  static Glu clamped(Packing packing, float limit) {
    return {.act = GluAct::swiglu, .packing = packing, .limit = limit};
  }
};

/// How DGlu rounds the product before anything else.
enum class AccRound : uint8_t {
  none,  ///< Not at all.
  bf16,  ///< To the nearest bf16, ties to even.
};
/// The word for it ("bf16"); empty for an unknown value.
[[nodiscard]] COHORT_API std::string_view name(AccRound value) noexcept;

/// What DGlu makes: itself is the gradient, so that `then` goes on from it. A result that nothing
/// uses is not computed.
struct DGated : Value {
  RowVec dprob;                           ///< (T): the gradient of `prob`.
  Value act_out;                          ///< (T, N): the forward result, prob included.
  static constexpr int result_count = 3;  ///< Number of results.
  /// Names of the results, in order.
  template <class V>
  static constexpr auto results(V&& v) {
    return v(ResultField<Value>{""}, ResultField<RowVec>{"dprob"}, ResultField<Value>{"act_out"});
  }
};

/// The backward of Glu and a RowGate after it. The piped value y (T, N) is the gradient of the
/// gated result without prob, `c` (T, 2 N) what went into the activation. The result (T, 2 N) has
/// the packing of c. With G and U clamped, p the row's prob and s = sigmoid(alpha * G):
/// d_up = y * p * (G * s), d_gate = y * p * (U + beta) * s * (1 + alpha * G * (1 - s)), each 0
/// where the saved value lies outside of its range; dprob = sum_n y * (U + beta) * G * s; act_out =
/// s * G * (U + beta) * p.
struct DGlu {
  Value c;                                      ///< (T, 2 N): gate and up before any clamp.
  Required<GluAct, "DGlu::act"> act;            ///< As in the forward op.
  Required<Packing, "DGlu::packing"> packing;   ///< As in the forward op.
  Maybe<float> alpha{};                         ///< As in the forward op.
  Maybe<float> beta{};                          ///< As in the forward op.
  Maybe<float> limit{};                         ///< As in the forward op.
  Maybe<float> gate_bound{};                    ///< As in the forward op.
  Maybe<float> up_bound{};                      ///< As in the forward op.
  Maybe<RowVec> prob{};                         ///< p (T); absent: 1.
  Maybe<RowTerm> dprob_add{};                   ///< (T) or (T, 1): added to dprob.
  AccRound acc_round = AccRound::none;          ///< Of the piped value, before everything.
  using Out = DGated;                           ///< (T, 2 N), dprob, act_out.
  static constexpr const char* name = "d_glu";  ///< In JSON and docs.
  COHORT_FIELDS(field("c", &DGlu::c), field("act", &DGlu::act), field("packing", &DGlu::packing),
                field("alpha", &DGlu::alpha), field("beta", &DGlu::beta),
                field("limit", &DGlu::limit), field("gate_bound", &DGlu::gate_bound),
                field("up_bound", &DGlu::up_bound), field("prob", &DGlu::prob),
                field("dprob_add", &DGlu::dprob_add), field("acc_round", &DGlu::acc_round))
  /// The backward of a forward op: the same activation, packing and parameters.
  static DGlu of(const Glu& forward, const Value& c) {
    return {.c = c,
            .act = *forward.act,
            .packing = *forward.packing,
            .alpha = forward.alpha,
            .beta = forward.beta,
            .limit = forward.limit,
            .gate_bound = forward.gate_bound,
            .up_bound = forward.up_bound};
  }
};

}  // namespace cohort
