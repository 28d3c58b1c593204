// The numbers of a run (warps, CTAs, instructions, blocks of memory) in the words of its author.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emu/fault.h"
#include "emu/layout.h"
#include "emu/run.h"

namespace cohort::report {

/// One launch, and where its numbers begin.
struct SceneLaunch {
  std::shared_ptr<const emu::Kernel> kernel;
  emu::Grid3 grid;
  emu::Grid3 cluster;
  uint32_t warps_per_cta = 1;
  uint32_t first_cta = 0;
  uint32_t first_warp = 0;
  uint32_t pc_base = 0;
  std::vector<emu::SharedVariable> shared;
};

/// Where an instruction stands.
struct CodePlace {
  size_t launch = 0;
  std::string instruction;  ///< Empty: none.
  int64_t ptx_line = 0;
  std::string file;
  int64_t line = 0;
};

class Scene {
 public:
  /// `shared`: of each launch.
  Scene(const emu::RunInput& input, const std::vector<std::vector<emu::SharedVariable>>& shared,
        std::string module_name);

  /// Names of all buffers, those of the module included: known after a run.
  void name_buffers(std::vector<std::string> names) { buffers_ = std::move(names); }
  [[nodiscard]] size_t launch_of_cta(uint32_t cta) const;
  [[nodiscard]] const std::vector<SceneLaunch>& launches() const { return launches_; }
  [[nodiscard]] CodePlace code(uint32_t pc) const;
  /// "CTA (1, 0, 0)", with "of launch 2" when there are several.
  [[nodiscard]] std::string cta(uint32_t cta) const;
  /// "warp 1 of CTA (0, 0, 0)". `warp` counts in the run.
  [[nodiscard]] std::string warp(uint32_t warp) const;
  /// "warp 1 of CTA (0, 0, 0), lane 3", or the operation that they began.
  [[nodiscard]] std::string agent(const emu::Actor& actor) const;
  /// "buffer y + 128", "shared memory of CTA (0, 0, 0), tile + 16", "tensor memory ..., column 3".
  [[nodiscard]] std::string place(emu::Space space, uint32_t block, uint64_t offset) const;
  /// "kernel.ptx:12 (kernel.cu:3)".
  [[nodiscard]] std::string line(const CodePlace& place) const;
  /// What a stuck warp waits for, in a line.
  [[nodiscard]] std::string waiting(const emu::Waiting& waiting) const;

 private:
  [[nodiscard]] std::string shared_place(uint32_t cta, uint64_t offset) const;

  std::vector<SceneLaunch> launches_;
  std::vector<std::string> buffers_;
  std::string module_name_;
};

/// "lane 3", "lanes 0-31", "lanes 0, 2, 4-7".
[[nodiscard]] std::string lanes_text(uint32_t lanes);
/// "reads", "writes".
[[nodiscard]] std::string_view verb(emu::Kind kind);
/// "bulk copy", "tcgen05.ld".
[[nodiscard]] std::string_view unit(emu::Agent agent);
/// The edge that is missing, as an author of kernels says it; empty for Missing::nothing.
[[nodiscard]] std::string_view advice(emu::Missing missing);

}  // namespace cohort::report
