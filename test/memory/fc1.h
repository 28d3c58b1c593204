// The graph of these tests: a small MXFP8 FC1 that is quantised along both axes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cohort/cohort.h>

namespace cohort::test {

inline constexpr int64_t kExperts = 4;
inline constexpr int64_t kRows = 64;

inline Result<Graph> fc1() {
  Builder g("fc1");
  const Dim T = g.dynamic("T", 2048);
  const auto x = g.scaled_input("x", {T, 64}, Format::mxfp8_e4m3);
  const auto w = g.scaled_weights("w", {kExperts, 96, 64}, Format::mxfp8_e4m3);
  const auto ends = g.groups("ends", kExperts, GroupForm::ends);
  const auto prob = g.row_input("prob", T);
  const auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends})
                     .then(ReluSquared{})
                     .then(RowGate{.by = prob});
  g.output("max", y.then(Amax{.per = AmaxPer::expert}));
  const auto q = y.then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  g.output("y", q.row);
  g.output("y_t", q.col);
  return std::move(g).finish();
}

inline Result<Graph> wrong_fc1() {
  Builder other("other");
  const auto foreign = other.row_input("foreign", 8);
  Builder g("fc1");
  const Dim T = g.dynamic("T", 2048);
  const auto x = g.input("x", {T, 65}, DType::bf16);
  const auto w = g.weights("w", {kExperts, 96, 64}, DType::bf16);
  const auto ends = g.groups("ends", kExperts, GroupForm::ends);
  g.output("y", g.add(GroupedGemm{.a = x, .b = w, .groups = ends}));
  const auto z = g.add(Load{.x = g.input("z", {T, 64}, DType::f32)});
  g.output("r", z.then(ReluSquared{.clamp = -1.0f}));
  g.output("h", z.then(RowGate{.by = foreign}));
  (void)g.scalar("unused");
  return std::move(g).finish();
}

}  // namespace cohort::test
