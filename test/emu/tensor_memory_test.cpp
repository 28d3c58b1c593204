// tcgen05 on tensor memory by warps: alloc, dealloc, ld, st, wait.
#include "emu/recording.h"
#include "emu/tensor_fixture.h"

namespace cohort::emu::test {
namespace {

// Fills columns 0 to 63 of the quarter: cell (lane, column) holds lane << 16 | column.
const std::string kFill = [] {
  std::string code = "shl.b32 %r70, %i, 16;\n";
  for (int c = 0; c < 64; ++c) {
    code += "or.b32 %r" + std::to_string(c) + ", %r70, " + std::to_string(c) + ";\n";
  }
  return code + "tcgen05.st.sync.aligned.32x32b.x64.b32 [%q], " + registers(0, 64) +
         ";\ntcgen05.wait::st.sync.aligned;\n";
}();

std::string load(const std::string& form, uint32_t first, uint32_t count,
                 const std::string& after = "") {
  return "tcgen05.ld.sync.aligned." + form + ".b32 " + registers(first, count) + ", [%q]" + after +
         ";\ntcgen05.wait::ld.sync.aligned;\n" + store_words(first, count);
}

void expect_cells(const TensorRun& r, uint32_t count,
                  const std::function<std::pair<uint32_t, uint32_t>(uint32_t, uint32_t)>& cell) {
  ASSERT_TRUE(r.completed) << r.text();
  EXPECT_TRUE(r.faults.empty()) << r.text();
  for (uint32_t thread = 0; thread < 128; ++thread) {
    for (uint32_t reg = 0; reg < count; ++reg) {
      const auto [lane, column] = cell(thread % 32, reg);
      EXPECT_EQ(r.out[thread * 128 + reg], (thread / 32 * 32 + lane) << 16 | column)
          << thread << " " << reg;
    }
  }
}

TEST(TensorMemory, IsStoredAndLoadedByLanes) {
  for (const ScheduleSpec& s : some_schedules()) {
    TensorOptions o;
    o.schedule = s;
    const auto r = run_tensor(tensor_kernel(kFill + load("32x32b.x8", 80, 8)), {}, o);
    expect_cells(r, 8, [](uint32_t t, uint32_t i) { return std::pair{t, i}; });
  }
}

// The maps as the text's figures draw them: which lane and column a register of a thread holds.
TEST(TensorMemory, IsLoadedInAllShapes) {
  expect_cells(run_tensor(tensor_kernel(kFill + load("16x64b.x2", 80, 2))), 2,
               [](uint32_t t, uint32_t i) {
                 return std::pair{t % 2 * 8 + t / 4, t / 2 % 2 + 2 * i};
               });
  expect_cells(run_tensor(tensor_kernel(kFill + load("16x128b.x2", 80, 4))), 4,
               [](uint32_t t, uint32_t i) {
                 return std::pair{t / 4 + 8 * (i % 2), t % 4 + 4 * (i / 2)};
               });
  expect_cells(run_tensor(tensor_kernel(kFill + load("16x256b.x2", 80, 8))), 8,
               [](uint32_t t, uint32_t i) {
                 return std::pair{t / 4 + 8 * (i / 2 % 2), 2 * (t % 4) + i % 2 + 8 * (i / 4)};
               });
  expect_cells(run_tensor(tensor_kernel(kFill + load("16x32bx2.x4", 80, 4, ", 20"))), 4,
               [](uint32_t t, uint32_t i) {
                 return std::pair{t % 16, i + t / 16 * 20};
               });
  // The upper sixteen lanes of the quarter.
  expect_cells(
      run_tensor(tensor_kernel(kFill + "add.u32 %q, %q, 0x100000;\n" + load("16x64b.x2", 80, 2))),
      2, [](uint32_t t, uint32_t i) {
        return std::pair{16 + t % 2 * 8 + t / 4, t / 2 % 2 + 2 * i};
      });
}

TEST(TensorMemory, StoresAreTheInverseOfLoads) {
  for (const std::string form : {"16x64b.x4", "16x128b.x2", "16x256b.x1"}) {
    const auto r = run_tensor(
        tensor_kernel(kFill + "tcgen05.ld.sync.aligned." + form + ".b32 " + registers(80, 4) +
                      ", [%q];\ntcgen05.wait::ld.sync.aligned;\n"
                      "tcgen05.st.sync.aligned." +
                      form + ".b32 [%q+64], " + registers(80, 4) +
                      ";\ntcgen05.wait::st.sync.aligned;\nadd.u32 %q, %q, 64;\n" +
                      load(form, 84, 4) + store_words(80, 0)));
    const auto want = run_tensor(tensor_kernel(kFill + load(form, 84, 4)));
    EXPECT_TRUE(r.faults.empty()) << r.text();
    EXPECT_EQ(r.out, want.out) << form;
  }
}

TEST(TensorMemory, PacksHalves) {
  const auto r = run_tensor(
      tensor_kernel(kFill +
                    "tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {%r80, %r81}, [%q];\n"
                    "tcgen05.wait::ld.sync.aligned;\n"
                    "tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [%q+8], {%r80, %r81};\n"
                    "tcgen05.wait::st.sync.aligned;\nadd.u32 %q, %q, 8;\n" +
                    load("32x32b.x4", 82, 4) + "st.global.u32 [%to+16], %r81;\n"));
  ASSERT_TRUE(r.faults.empty()) << r.text();
  EXPECT_EQ(r.out[4], 2u | 3u << 16);
  for (uint32_t c = 0; c < 4; ++c) EXPECT_EQ(r.out[128 * 5 + c], c);
}

TEST(TensorMemory, LoadsAreReportedThatAreUsedBeforeTheWait) {
  const std::string code = kFill +
                           "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r80, %r81}, [%q];\n"
                           "add.u32 %r82, %r80, 0;\n"
                           "tcgen05.wait::ld.sync.aligned;\n" +
                           store_words(82, 1);
  for (const ScheduleSpec& s : some_schedules()) {
    TensorOptions o;
    o.schedule = s;
    const auto strict = run_tensor(tensor_kernel(code), {}, o);
    EXPECT_TRUE(strict.has(FaultCode::load_register)) << strict.text();
    // The dependency holds all the same.
    EXPECT_EQ(strict.out[128 * 7], 7u << 16);
    o.rules.register_use_completes_load = true;
    const auto practice = run_tensor(tensor_kernel(code), {}, o);
    EXPECT_TRUE(practice.faults.empty()) << practice.text();
    EXPECT_EQ(practice.out[128 * 7], 7u << 16);
  }
  // An instruction that overwrites such a register is one that uses it.
  std::string over = code;
  over.replace(over.find("add.u32 %r82, %r80, 0"), 21, "mov.u32 %r81, 5;    ");
  EXPECT_TRUE(run_tensor(tensor_kernel(over)).has(FaultCode::load_register));
}

TEST(TensorMemory, StoresAreToBeWaitedFor) {
  std::string fill = kFill;
  fill.erase(fill.find("tcgen05.wait::st"));
  const auto r = run_tensor(tensor_kernel(fill + load("32x32b.x8", 80, 8)));
  EXPECT_TRUE(r.has(FaultCode::incomplete) || r.has(FaultCode::race) ||
              r.has(FaultCode::uninitialised))
      << r.text();
}

TEST(TensorMemory, ColumnsThatNobodyWroteAreReported) {
  const auto r = run_tensor(tensor_kernel(load("32x32b.x8", 80, 8)));
  EXPECT_TRUE(r.has(FaultCode::uninitialised)) << r.text();
}

TEST(TensorMemory, QuartersAndColumnsAreChecked) {
  const auto other =
      run_tensor(tensor_kernel(kFill + "xor.b32 %q, %q, 0x200000;\n" + load("32x32b.x8", 80, 8)));
  EXPECT_TRUE(other.has(FaultCode::tensor_lanes)) << other.text();
  const auto beyond =
      run_tensor(tensor_kernel(kFill + "add.u32 %q, %q, 60;\n" + load("32x32b.x8", 80, 8), 64));
  EXPECT_TRUE(beyond.has(FaultCode::tensor_bounds)) << beyond.text();
  EXPECT_FALSE(beyond.completed);
}

// A kernel of one warp with these instructions.
TensorRun one_warp(const std::string& code) {
  TensorOptions o;
  o.threads = 32;
  return run_tensor(std::string(kHeader) +
                        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                        ".shared .align 4 .b8 slot[8];\n.reg .b32 %t, %r<4>;\n" +
                        code + "ret;\n}\n",
                    {}, o);
}
std::string alloc(const std::string& columns, const std::string& slot = "slot") {
  return "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [" + slot + "], " + columns +
         ";\nbar.warp.sync -1;\nld.shared.u32 %t, [" + slot + "];\n";
}
std::string dealloc(const std::string& columns, const std::string& address = "%t") {
  return "tcgen05.dealloc.cta_group::1.sync.aligned.b32 " + address + ", " + columns + ";\n";
}
const std::string kRelinquish = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n";

TEST(TensorAlloc, IsCheckedByTheTextsRules) {
  const auto r = one_warp(alloc("64") + "mov.u32 %r0, %t;\n" + alloc("32", "slot+4") + kRelinquish +
                          dealloc("32") + dealloc("64", "%r0"));
  EXPECT_TRUE(r.completed);
  EXPECT_TRUE(r.faults.empty()) << r.text();
  const std::vector<std::string> wrong = {
      alloc("48"),
      alloc("16"),
      alloc("1024"),
      alloc("32") + alloc("64", "slot+4"),
      kRelinquish + alloc("32"),
      alloc("64") + dealloc("32"),
      alloc("64") + "add.u32 %t, %t, 32;\n" + dealloc("32"),
      alloc("64") + dealloc("64") + dealloc("64"),
  };
  for (const std::string& code : wrong) {
    const auto bad = one_warp(code);
    EXPECT_TRUE(bad.has(FaultCode::tensor_alloc)) << code;
    EXPECT_FALSE(bad.completed);
  }
}

TEST(TensorAlloc, LeaksAreReported) {
  const auto r = one_warp(alloc("64"));
  EXPECT_TRUE(r.completed);
  ASSERT_EQ(r.faults.size(), 1u) << r.text();
  EXPECT_EQ(r.faults[0].code, FaultCode::tensor_leak);
}

TEST(TensorAlloc, WaitsForColumnsThatOthersGiveBack) {
  // Two warps take all columns; nobody gives back: the second one waits for ever.
  const auto kernel = [](const std::string& after) {
    return std::string(kHeader) +
           ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.shared .align 4 .b8 "
           "slot[8];\n.reg .b32 %t, %r<4>;\nmov.u32 %r0, %tid.x;\nshr.u32 %r0, %r0, 5;\n"
           "mov.u32 %r1, slot;\nmad.lo.u32 %r1, %r0, 4, %r1;\n" +
           alloc("512", "%r1") + after + "ret;\n}\n";
  };
  TensorOptions o;
  o.threads = 64;
  const auto sound = run_tensor(kernel(dealloc("512")), {}, o);
  EXPECT_TRUE(sound.completed);
  EXPECT_FALSE(sound.has(FaultCode::deadlock)) << sound.text();
  const auto stuck = run_tensor(kernel(""), {}, o);
  EXPECT_TRUE(stuck.has(FaultCode::deadlock)) << stuck.text();
}

TEST(TensorAlloc, ExclusiveFormTakesMultiplesOfThirtyTwo) {
  const std::string take =
      "tcgen05.alloc.exclusive.cta_group::1.sync.aligned.shared::cta.b32 [slot], ";
  const std::string rest =
      ";\nbar.warp.sync -1;\nld.shared.u32 %t, [slot];\n"
      "tcgen05.dealloc.exclusive.cta_group::1.sync.aligned.b32 %t, ";
  EXPECT_TRUE(one_warp(take + "96" + rest + "96;\n").faults.empty());
  // 576 are there on sm_107 alone.
  EXPECT_TRUE(one_warp(take + "576" + rest + "576;\n").has(FaultCode::tensor_alloc));
}

TEST(TensorMemory, TellsWhatItTouches) {
  Recording events;
  RunInput in = simple(
      tensor_kernel(kFill + load("32x32b.x8", 80, 8)), "k",
      {buffer_of(std::vector<uint32_t>(1)), buffer_of(std::vector<uint32_t>(kOutWords))}, 128);
  in.events = &events;
  in.schedule.kind = ScheduleKind::in_order;
  run_input(std::move(in));
  // A store and a load of each warp, each drained.
  EXPECT_EQ(events.of_kind("begin").size(), 8u);
  EXPECT_EQ(events.of_kind("drain").size(), 8u);
  EXPECT_EQ(events.of_kind("end o").size(), 8u);
  EXPECT_EQ(events.of_kind("box o").size(), 8u);
  EXPECT_EQ(events.of_kind("box w0 0 512").size(), 2u);  // allocate, free
}

}  // namespace
}  // namespace cohort::emu::test
