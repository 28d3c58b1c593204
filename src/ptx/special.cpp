#include "ptx/special.h"

#include <algorithm>

namespace cohort::ptx {

namespace {

// PTX ISA 9.2, section 10. Sorted.
constexpr std::string_view kNames[] = {
    "%aggr_smem_size",
    "%clock",
    "%clock64",
    "%clock_hi",
    "%cluster_ctaid",
    "%cluster_ctarank",
    "%cluster_nctaid",
    "%cluster_nctarank",
    "%clusterid",
    "%ctaid",
    "%current_graph_exec",
    "%dynamic_smem_size",
    "%globaltimer",
    "%globaltimer_hi",
    "%globaltimer_lo",
    "%gridid",
    "%is_explicit_cluster",
    "%laneid",
    "%lanemask_eq",
    "%lanemask_ge",
    "%lanemask_gt",
    "%lanemask_le",
    "%lanemask_lt",
    "%nclusterid",
    "%nctaid",
    "%nsmid",
    "%ntid",
    "%nwarpid",
    "%reserved_smem_offset_begin",
    "%reserved_smem_offset_cap",
    "%reserved_smem_offset_end",
    "%smid",
    "%tid",
    "%total_smem_size",
    "%warpid",
};
static_assert(std::is_sorted(std::begin(kNames), std::end(kNames)));

struct Family {
  std::string_view name;
  std::string_view tail;
  int count;
};
constexpr Family kFamilies[] = {
    {"%envreg", "", 32}, {"%pm", "", 8}, {"%pm", "_64", 8}, {"%reserved_smem_offset_", "", 2}};

}  // namespace

bool is_special_register(std::string_view name) {
  if (std::binary_search(std::begin(kNames), std::end(kNames), name)) return true;
  for (const Family& f : kFamilies) {
    if (!name.starts_with(f.name) || !name.ends_with(f.tail)) continue;
    if (name.size() <= f.name.size() + f.tail.size()) continue;
    const std::string_view digits =
        name.substr(f.name.size(), name.size() - f.name.size() - f.tail.size());
    if (digits.size() > 2 || (digits.size() == 2 && digits[0] == '0')) continue;
    int n = 0;
    for (const char c : digits) n = c >= '0' && c <= '9' ? n * 10 + (c - '0') : f.count;
    if (n < f.count) return true;
  }
  return false;
}

}  // namespace cohort::ptx
