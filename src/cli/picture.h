// A graph for a person: what flows where, with shapes and types.
#pragma once

#include <string>
#include <vector>

#include "cli/common.h"

namespace cohort::cli {

/// An operand of an op: the field it stands in and what it refers to.
struct PictureOperand {
  std::string field;
  std::string reference;
};

/// A box: an input, an op or an output.
struct PictureInput {
  std::string name;
  std::string role;
  std::string type;   ///< "mxfp8_e4m3 [T, 4096]"
  std::string extra;  ///< "ends", "tiled_128x4 scales", ...
};
/// A result of an op: how it is referred to ("%2.act_out") and what it is.
struct PictureResult {
  std::string reference;
  std::string port;   ///< "act_out"; empty for a result that needs no name.
  std::string type;   ///< "f32 [T, 2048]", "mxfp8_e4m3 [T, 2048]"
  std::string extra;  ///< Scale layout of a quantised one.
  bool is_used = false;
};
struct PictureNode {
  std::string op;
  std::string in;                        ///< "%3" or empty.
  std::vector<PictureOperand> operands;  ///< Without `in`.
  std::vector<std::string> attributes;   ///< "axes both": those that are not at their default.
  std::vector<PictureResult> results;
  bool is_root = false;
};
struct PictureOutput {
  std::string name;
  std::string value;
  std::string type;
  std::string extra;
};
struct Picture {
  std::string name;
  std::vector<std::string> dims;
  std::vector<PictureInput> inputs;
  std::vector<PictureNode> nodes;
  std::vector<PictureOutput> outputs;
};

[[nodiscard]] Picture make_picture(const Graph& graph);
[[nodiscard]] std::string picture_text(const Picture& picture);
[[nodiscard]] std::string picture_svg(const Picture& picture);

}  // namespace cohort::cli
