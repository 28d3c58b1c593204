#include "emu/launch_check.h"

namespace cohort::emu {

namespace {

constexpr uint64_t kMostCtas = uint64_t{1} << 20;
constexpr uint64_t kMostThreads = 1024;
constexpr uint64_t kMostCluster = 16;

std::string text(const Grid3& g) {
  return std::to_string(g.x) + " x " + std::to_string(g.y) + " x " + std::to_string(g.z);
}

bool is_whole(const Grid3& g) { return g.x != 0 && g.y != 0 && g.z != 0; }

class Checker {
 public:
  Checker(const Launch& launch, size_t index, const RunLimits& limits, base::Diagnostics& found)
      : l_(launch), k_(*launch.kernel), where_(index), limits_(limits), found_(found) {}

  void check() {
    sizes();
    memory();
    if (l_.arguments.size() != k_.parameter_bytes) {
      add("arguments", std::to_string(k_.parameter_bytes) + " bytes",
          std::to_string(l_.arguments.size()) + " bytes");
    }
  }

 private:
  void add(const char* field, const std::string& wanted, const std::string& got) {
    found_.add({.code = "E-LAUNCH",
                .op = k_.name,
                .field = field,
                .wanted = wanted,
                .got = got,
                .where = "/launches/" + std::to_string(where_)});
  }

  void sizes() {
    // Each factor is below 2^32, but a product of three may not fit in 64 bits.
    const bool fits = is_whole(l_.grid) && l_.grid.x <= kMostCtas && l_.grid.y <= kMostCtas &&
                      l_.grid.z <= kMostCtas && l_.grid.count() <= kMostCtas;
    if (!fits) add("grid", "1 to " + std::to_string(kMostCtas) + " CTAs", text(l_.grid));
    const bool block_fits = is_whole(l_.block) && l_.block.x <= kMostThreads &&
                            l_.block.y <= kMostThreads && l_.block.z <= kMostThreads &&
                            l_.block.count() <= kMostThreads;
    if (!block_fits) add("block", "1 to 1024 threads", text(l_.block));
    const bool cluster_fits = is_whole(l_.cluster) && l_.cluster.x <= kMostCluster &&
                              l_.cluster.y <= kMostCluster && l_.cluster.z <= kMostCluster &&
                              l_.cluster.count() <= kMostCluster;
    if (!cluster_fits) {
      add("cluster", "1 to 16 CTAs", text(l_.cluster));
    } else if (l_.grid.x % l_.cluster.x != 0 || l_.grid.y % l_.cluster.y != 0 ||
               l_.grid.z % l_.cluster.z != 0) {
      add("cluster", "a divisor of the grid, " + text(l_.grid), text(l_.cluster));
    }
    against(k_.required_cluster, l_.cluster, "cluster");
    against(k_.required_threads, l_.block, "block");
    const Grid3 most{k_.max_threads[0], k_.max_threads[1], k_.max_threads[2]};
    if (most.x != 0 && block_fits && l_.block.count() > most.count()) {
      add("block", "at most " + text(most) + " threads (.maxntid)", text(l_.block));
    }
  }

  void against(const uint32_t* wanted, const Grid3& got, const char* field) {
    const Grid3 w{wanted[0], wanted[1], wanted[2]};
    if (w.x != 0 && (w.x != got.x || w.y != got.y || w.z != got.z)) {
      add(field, text(w) + ", as the kernel says", text(got));
    }
  }

  void memory() {
    const uint64_t shared = k_.shared_bytes + l_.dynamic_shared;
    if (shared > limits_.shared_bytes) {
      add("dynamic_shared", "at most " + std::to_string(limits_.shared_bytes) + " bytes in all",
          std::to_string(shared));
    }
    if (!is_whole(l_.block) || l_.block.count() > kMostThreads) return;
    const uint64_t warps = (l_.block.count() + 31) / 32;
    const uint64_t cta = shared + warps * (uint64_t{k_.words} * 4 + 32 * k_.local_bytes);
    const uint64_t ctas = std::max<uint64_t>(limits_.resident_ctas, kMostCluster);
    if (cta > limits_.memory_bytes / ctas) {
      add("kernel",
          "at most " + std::to_string(limits_.memory_bytes / ctas) +
              " bytes of registers, local and shared memory a CTA",
          std::to_string(cta));
    }
  }

  const Launch& l_;
  const Kernel& k_;
  size_t where_;
  const RunLimits& limits_;
  base::Diagnostics& found_;
};

}  // namespace

void check_launches(const RunInput& input, base::Diagnostics& found) {
  for (const Buffer& b : input.buffers) {
    if (b.bytes.size() >> kBufferShift == 0) continue;
    found.add({.code = "E-LAUNCH", .field = b.name, .wanted = "less than 2^36 bytes"});
  }
  for (size_t i = 0; i < input.launches.size(); ++i) {
    if (input.launches[i].kernel == nullptr) {
      found.add({.code = "E-LAUNCH",
                 .field = "kernel",
                 .wanted = "a kernel",
                 .where = "/launches/" + std::to_string(i)});
      continue;
    }
    Checker(input.launches[i], i, input.limits, found).check();
  }
}

}  // namespace cohort::emu
