#include "report/scene.h"

#include <algorithm>

namespace cohort::report {

using emu::Agent;
using emu::Kind;
using emu::Missing;
using emu::Space;

Scene::Scene(const emu::RunInput& input,
             const std::vector<std::vector<emu::SharedVariable>>& shared, std::string module_name)
    : module_name_(std::move(module_name)) {
  SceneLaunch at;
  for (size_t i = 0; i < input.launches.size(); ++i) {
    const emu::Launch& l = input.launches[i];
    at.kernel = l.kernel;
    at.grid = l.grid;
    at.cluster = l.cluster;
    at.warps_per_cta = static_cast<uint32_t>((l.block.count() + 31) / 32);
    at.shared = shared[i];
    launches_.push_back(at);
    // As the machine counts: on through the launches of a run.
    const auto ctas = static_cast<uint32_t>(l.grid.count());
    at.first_cta += ctas;
    at.first_warp += ctas * at.warps_per_cta;
    at.pc_base += static_cast<uint32_t>(l.kernel->code.size());
  }
  for (const emu::Buffer& b : input.buffers) buffers_.push_back(b.name);
}

size_t Scene::launch_of_cta(uint32_t cta) const {
  size_t i = launches_.size() - 1;
  while (i > 0 && cta < launches_[i].first_cta) --i;
  return i;
}

CodePlace Scene::code(uint32_t pc) const {
  CodePlace p;
  p.launch = launches_.size() - 1;
  while (p.launch > 0 && pc < launches_[p.launch].pc_base) --p.launch;
  const SceneLaunch& l = launches_[p.launch];
  const uint32_t index = pc - l.pc_base;
  if (index >= l.kernel->source.size()) return p;
  const emu::Source& s = l.kernel->source[index];
  p.ptx_line = s.line;
  p.line = s.file_line;
  if (s.line != 0 && s.opcode < l.kernel->opcodes.size()) {
    p.instruction = l.kernel->opcodes[s.opcode];
  }
  if (s.file != 0 && s.file < l.kernel->files.size()) p.file = l.kernel->files[s.file];
  return p;
}

std::string Scene::cta(uint32_t cta) const {
  const size_t i = launch_of_cta(cta);
  const SceneLaunch& l = launches_[i];
  // Ranks of a cluster are neighbours in the machine's count.
  const auto size = static_cast<uint32_t>(l.cluster.count());
  const uint32_t cluster = (cta - l.first_cta) / size;
  const uint32_t rank = (cta - l.first_cta) % size;
  const uint32_t nx = l.grid.x / l.cluster.x;
  const uint32_t ny = l.grid.y / l.cluster.y;
  const uint32_t x = cluster % nx * l.cluster.x + rank % l.cluster.x;
  const uint32_t y = cluster / nx % ny * l.cluster.y + rank / l.cluster.x % l.cluster.y;
  const uint32_t z = cluster / nx / ny * l.cluster.z + rank / l.cluster.x / l.cluster.y;
  std::string s =
      "CTA (" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
  if (launches_.size() > 1) s += " of launch " + std::to_string(i);
  return s;
}

std::string Scene::warp(uint32_t warp) const {
  size_t i = launches_.size() - 1;
  while (i > 0 && warp < launches_[i].first_warp) --i;
  const SceneLaunch& l = launches_[i];
  const uint32_t index = warp - l.first_warp;
  return "warp " + std::to_string(index % l.warps_per_cta) + " of " +
         cta(l.first_cta + index / l.warps_per_cta);
}

std::string Scene::agent(const emu::Actor& a) const {
  std::string who = warp(a.warp);
  if (a.lanes != 0) who += ", " + lanes_text(a.lanes);
  if (!a.is_operation) return who;
  return std::string(unit(a.agent)) + " begun by " + who;
}

std::string Scene::shared_place(uint32_t cta, uint64_t offset) const {
  const SceneLaunch& l = launches_[launch_of_cta(cta)];
  std::string s = "shared memory of " + this->cta(cta) + ", ";
  const emu::SharedVariable* in = nullptr;
  for (const emu::SharedVariable& v : l.shared) {
    const bool is_inside = v.bytes == 0 || offset < v.offset + v.bytes;
    if (v.offset <= offset && is_inside) in = &v;
  }
  if (in == nullptr) return s + "byte " + std::to_string(offset);
  return s + in->name + " + " + std::to_string(offset - in->offset);
}

std::string Scene::place(Space space, uint32_t block, uint64_t offset) const {
  switch (space) {
    case Space::shared:
      return shared_place(block, offset);
    case Space::tensor:
      return "tensor memory of " + cta(block) + ", column " +
             std::to_string(offset % emu::kTensorRow / 4) + ", lane " +
             std::to_string(offset / emu::kTensorRow);
    case Space::global:
      break;
  }
  const std::string name = block < buffers_.size() ? buffers_[block] : std::to_string(block);
  return "buffer " + name + " + " + std::to_string(offset);
}

std::string Scene::line(const CodePlace& p) const {
  if (p.ptx_line == 0) return "the end of the kernel";
  std::string s = module_name_ + ":" + std::to_string(p.ptx_line);
  if (!p.file.empty()) s += " (" + p.file + ":" + std::to_string(p.line) + ")";
  return s;
}

std::string Scene::waiting(const emu::Waiting& w) const {
  // The machine's words begin with numbers of its own.
  std::string text = emu::describe(w);
  text = text.substr(text.find(": ") + 2);
  const CodePlace p = code(w.pc);
  return "warp " + std::to_string(w.warp) + " of " + cta(w.cta) + ", " + lanes_text(w.lanes) +
         ", at " + (p.instruction.empty() ? "" : p.instruction + ", ") + line(p) + ": " + text;
}

std::string lanes_text(uint32_t lanes) {
  std::string s;
  for (int l = 0; l < 32; ++l) {
    if ((lanes >> l & 1) == 0) continue;
    int end = l;
    while (end < 31 && (lanes >> (end + 1) & 1) != 0) ++end;
    s += (s.empty() ? "" : ", ") + std::to_string(l);
    if (end > l) s += "-" + std::to_string(end);
    l = end;
  }
  const bool is_one = lanes != 0 && (lanes & (lanes - 1)) == 0;
  return (is_one ? "lane " : "lanes ") + s;
}

std::string_view verb(Kind kind) {
  switch (kind) {
    case Kind::read:
      return "reads";
    case Kind::write:
      return "writes";
    case Kind::update:
      return "updates";
    case Kind::barrier:
      return "uses as an mbarrier";
    case Kind::barrier_init:
      return "makes an mbarrier of";
    case Kind::barrier_inval:
      return "invalidates the mbarrier in";
    case Kind::allocate:
      return "allocates";
    case Kind::free:
      return "frees";
  }
  return "touches";
}

std::string_view unit(Agent agent) {
  switch (agent) {
    case Agent::copy:
      return "bulk copy";
    case Agent::thread_copy:
      return "cp.async";
    case Agent::tensor_pipe:
      return "tensor-core operation";
    case Agent::tensor_load:
      return "tcgen05.ld";
    case Agent::tensor_store:
      return "tcgen05.st";
    case Agent::tensor_commit:
      return "tcgen05.commit";
    case Agent::warpgroup_mma:
      return "wgmma";
  }
  return "operation";
}

std::string_view advice(Missing missing) {
  switch (missing) {
    case Missing::nothing:
      return "";
    case Missing::edge:
      return "a barrier between the two, or an arrive by the first and a wait by the second";
    case Missing::wider_scope:
      return "a wider scope (.cluster, .gpu) on the release and on the acquire between them";
    case Missing::memory_fence:
      return "release and acquire in place of relaxed, or fence.acq_rel on both sides";
    case Missing::async_proxy_fence:
      return "fence.proxy.async between the access by threads and the one by the async proxy";
    case Missing::tensor_map_release:
      return "fence.proxy.tensormap::generic.release after the tensor map was written";
    case Missing::tensor_map_acquire:
      return "fence.proxy.tensormap::generic.acquire before the tensor map is used";
    case Missing::tensor_before:
      return "tcgen05.wait and tcgen05.fence::before_thread_sync before the arrive";
    case Missing::tensor_after:
      return "tcgen05.fence::after_thread_sync after the wait";
    case Missing::completion:
      return "a wait until the first, which is asynchronous, is complete";
    case Missing::full_completion:
      return "a wait for the writes too: wait_group without .read";
    case Missing::pipelined_pair:
      return "tcgen05.commit and a wait between them: these two do not run in order of issue";
    case Missing::mutual_scope:
      return "a scope on both that includes the other thread";
    case Missing::same_bytes:
      return "the same size and address on both";
    case Missing::same_proxy:
      return "the same proxy for both, or an order between them";
  }
  return "";
}

}  // namespace cohort::report
