// A whole kernel of nvcc: stages of shared memory, products, accumulators, all roles at once.
#include <bit>

#include "emu/fixture.h"
#include "emu/tensor_fixture.h"

namespace cohort::emu::test {
namespace {

constexpr uint32_t kM = 256;
constexpr uint32_t kN = 192;
constexpr uint32_t kK = 192;

int a_value(uint32_t m, uint32_t k) { return static_cast<int>((m * 7 + k * 3 + m * k) % 7) - 3; }
int b_value(uint32_t n, uint32_t k) { return static_cast<int>((n * 5 + k * 2 + n * k) % 5) - 2; }

std::vector<uint16_t> matrix(uint32_t rows, int (*value)(uint32_t, uint32_t)) {
  std::vector<uint16_t> all;
  for (uint32_t r = 0; r < rows; ++r) {
    for (uint32_t k = 0; k < kK; ++k) {
      const auto f = static_cast<float>(value(r, k));
      all.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(f) >> 16));
    }
  }
  return all;
}

const std::vector<float>& wanted() {
  static const std::vector<float> all = [] {
    std::vector<float> d(size_t{kM} * kN);
    for (uint32_t m = 0; m < kM; ++m) {
      for (uint32_t n = 0; n < kN; ++n) {
        int sum = 0;
        for (uint32_t k = 0; k < kK; ++k) sum += a_value(m, k) * b_value(n, k);
        d[size_t{m} * kN + n] = static_cast<float>(sum);
      }
    }
    return d;
  }();
  return all;
}

struct GemmRun {
  bool completed = false;
  bool right = false;
  std::vector<Fault> faults;
  [[nodiscard]] bool has(FaultCode code) const {
    return std::any_of(faults.begin(), faults.end(),
                       [&](const Fault& f) { return f.code == code; });
  }
};

GemmRun gemm(const std::shared_ptr<const Kernel>& kernel, const ScheduleSpec& schedule,
             const Rules& rules = {}) {
  static const std::vector<uint16_t> a = matrix(kM, a_value);
  static const std::vector<uint16_t> b = matrix(kN, b_value);
  FaultList list;
  const auto checker = race::make_checker(rules, list);
  RunInput in;
  in.buffers = {buffer_of(a), buffer_of(b), buffer_of(std::vector<float>(size_t{kM} * kN))};
  Launch l;
  l.kernel = kernel;
  l.grid = {2, 1, 1};
  l.block = {192, 1, 1};
  l.arguments = Arguments().buffer(0).buffer(1).buffer(2).add(kM).add(kN).add(kK).bytes();
  in.launches.push_back(std::move(l));
  in.schedule = schedule;
  in.rules = rules;
  in.events = checker.get();
  in.faults = &list;
  // A fault may be that the kernel waits for ever.
  in.limits.idle_instructions = 1 << 17;
  Outcome o = run_input(std::move(in));
  GemmRun r;
  r.completed = o.result.completed;
  r.right = r.completed && values_of<float>(o.result.buffers.at(2)) == wanted();
  r.faults = list.faults();
  return r;
}

std::string words_of(const GemmRun& r) {
  std::string all;
  for (const Fault& f : r.faults) {
    all += std::string(code_of(f.code)) + " at " + std::to_string(f.now.pc) + " after " +
           std::to_string(f.earlier.pc) + " " + f.note + "\n";
  }
  return all;
}

TEST(Gemm, RunsWithoutAFindingAndIsRight) {
  const auto kernel = kernel_of(file("gemm.ptx"), "gemm");
  for (ScheduleSpec s : some_schedules()) {
    const auto r = gemm(kernel, s);
    EXPECT_TRUE(r.completed);
    EXPECT_TRUE(r.faults.empty()) << words_of(r);
    EXPECT_TRUE(r.right);
  }
}

// The text without each (or the n-th) line that begins so.
std::string without_lines(const std::string& text, const std::string& begin, int which = -1) {
  std::string all;
  size_t at = 0;
  int seen = 0;
  while (at < text.size()) {
    const size_t end = text.find('\n', at) + 1;
    const std::string line = text.substr(at, end - at);
    const size_t first = line.find_first_not_of(" \t");
    const bool is_one = first != std::string::npos && line.compare(first, begin.size(), begin) == 0;
    if (!is_one || (which >= 0 && seen != which)) all += line;
    seen += is_one ? 1 : 0;
    at = end;
  }
  EXPECT_GT(seen, which) << begin;
  EXPECT_NE(all, text) << begin;
  return all;
}

TEST(Gemm, IsReportedWithoutAnyOfItsLinks) {
  const std::string text = file("gemm.ptx");
  const std::vector<std::string> links = {
      "fence.proxy.async",
      "tcgen05.wait::ld",
      "tcgen05.fence::after_thread_sync",
      "tcgen05.fence::before_thread_sync",
      "tcgen05.dealloc",
      "bar.sync",
  };
  for (const std::string& link : links) {
    const auto kernel = kernel_of(without_lines(text, link), "gemm");
    for (ScheduleSpec s : some_schedules()) {
      const auto r = gemm(kernel, s);
      EXPECT_FALSE(r.faults.empty()) << link << " " << static_cast<int>(s.kind);
    }
  }
  // Somebody waits for ever.
  for (const std::string link : {"tcgen05.commit", "mbarrier.arrive"}) {
    const auto kernel = kernel_of(without_lines(text, link), "gemm");
    for (const ScheduleSpec& s : some_schedules()) {
      const auto r = gemm(kernel, s);
      EXPECT_FALSE(r.faults.empty()) << link;
      EXPECT_FALSE(r.completed) << link;
    }
  }
}

TEST(Gemm, NeedsNoTensorFenceInPractice) {
  const std::string text = file("gemm.ptx");
  const auto kernel = kernel_of(without_lines(text, "tcgen05.fence"), "gemm");
  const auto r = gemm(kernel, {}, practice_rules());
  EXPECT_TRUE(r.faults.empty()) << words_of(r);
  EXPECT_TRUE(r.right);
}

}  // namespace
}  // namespace cohort::emu::test
