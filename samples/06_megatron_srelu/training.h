// The calls of a training step in their order.
#pragma once

#include <cohort/cohort.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graphs.h"
#include "plain.h"
#include "step.h"

/// The second expert has no tokens; the others are padded to 256 rows by zeros.
inline constexpr int64_t kUsed[kExperts] = {200, 0, 300, 100};
inline constexpr int32_t kEnds[kExperts] = {256, 256, 768, 1024};
inline constexpr int64_t kRows = kEnds[kExperts - 1];

/// What the step makes: y and the gradients.
struct StepResult {
  const char* name;
  cohort::DType dtype;
  std::vector<std::byte> bytes;
};

/// What one call hands to another stands in the memory of both.
class Training {
 public:
  Training(const PlainStep& plain, const StepSpec& spec);

  /// False when a call's results are not those of the reference.
  bool forward();
  bool backward();
  std::vector<StepResult> results() const;
  /// Prints how far the results are from the step in f64; false when farther than they may be.
  bool agrees() const;
  void print_kept() const;

 private:
  const PlainStep& plain_;
  StepSpec s_;
  Step quantize_x_{"quantise x", quantize_graph(s_, kHidden), kRows};
  Step quantize_dy_{"quantise dy", quantize_graph(s_, kHidden), kRows};
  Step f1_{"F1 FC1, squared ReLU", fc1_graph(s_), kRows};
  Step f2_{"F2 FC2", fc2_graph(s_), kRows};
  Step bias_{"FC2's bias", bias_graph(s_), kRows};
  Step b1_{"B1 through the ReLU", d_act_graph(s_), kRows};
  Step b2_fc2_{"B2 gradient of w2", wgrad_graph(s_, kHidden, kInter), kRows};
  Step b3_{"B3 gradient of x", dgrad_graph(s_), kRows};
  Step b2_fc1_{"B2 gradient of w1", wgrad_graph(s_, kInter, kHidden), kRows};
};
