// race_check from its public header: reports of clean and faulty kernels, and what is refused.
#include <cohort/emulate.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cohort::test {
namespace {

constexpr const char* kHead =
    ".version 9.0\n.target sm_90a\n.address_size 64\n.file 1 \"tile.cu\"\n";

// Threads of two warps store, and read what a thread of the other warp stored.
std::string tile(const std::string& sync) {
  return std::string(kHead) +
         ".visible .entry tile(.param .u64 .ptr .align 16 out, .param .u32 add)\n{\n"
         ".shared .align 4 .b8 line[256];\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n"
         "ld.param.u64 %rd1, [out];\nld.param.u32 %r7, [add];\nmov.u32 %r1, %tid.x;\n"
         "mov.u32 %r2, line;\nmad.lo.u32 %r3, %r1, 4, %r2;\n.loc 1 7 3\n"
         "st.shared.u32 [%r3], %r1;\n" +
         sync +
         "xor.b32 %r4, %r1, 32;\nmad.lo.u32 %r5, %r4, 4, %r2;\n.loc 1 9 3\n"
         "ld.shared.u32 %r6, [%r5];\nadd.u32 %r6, %r6, %r7;\n"
         "mad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], %r6;\nret;\n}\n";
}

struct Case {
  std::string ptx;
  std::vector<EmulatedBuffer> buffers{
      {.name = "out", .type = ElementType::u32, .elements = 64, .contents = Contents::nothing}};
  std::vector<KernelArgument> arguments{KernelArgument::pointer("out"),
                                        KernelArgument::number(uint32_t{100})};
  KernelLaunch launch{.kernel = "tile", .block = {64, 1, 1}};
  std::vector<ExpectedContents> expected;
  RaceOptions options;

  Result<RaceReport> run() {
    launch.arguments = arguments;
    return race_check({.ptx = ptx,
                       .ptx_name = "tile.ptx",
                       .buffers = buffers,
                       .launches = {launch},
                       .expected = expected},
                      options);
  }
  RaceReport report() {
    Result<RaceReport> r = run();
    EXPECT_TRUE(r) << r.findings().text();
    return *r;
  }
  std::string refusal() {
    const Result<RaceReport> r = run();
    return r ? "not refused:\n" + std::string(r->text()) : std::string(r.findings().text());
  }
};

TEST(RaceCheck, FindsNothingInASoundKernel) {
  Case c{.ptx = tile("bar.sync 0;\n")};
  std::vector<uint32_t> wanted(64);
  for (uint32_t i = 0; i < 64; ++i) wanted[i] = (i ^ 32) + 100;
  c.expected = {{.buffer = "out", .data = wanted.data()}};
  const RaceReport r = c.report();
  EXPECT_TRUE(r.good()) << r.text();
  EXPECT_EQ(r.size(), 0);
  EXPECT_EQ(r.schedules(), 10);
  EXPECT_EQ(r.completed(), 10);
  ASSERT_EQ(r.buffer_count(), 1);
  EXPECT_EQ(r.buffer(0).name, "out");
  EXPECT_EQ(r.buffer(0).bytes, 256);
  EXPECT_EQ(static_cast<const uint32_t*>(r.buffer(0).data)[1], 133u);
  EXPECT_EQ(r.output(0).wrong, 0);
  EXPECT_EQ(r.text(),
            "output out: as expected\n"
            "clean: 0 findings in 10 schedules (profile strict, seeds from 1)\n");
  wanted[5] += 1;
  const RaceReport wrong = c.report();
  EXPECT_FALSE(wrong.good());
  EXPECT_EQ(wrong.output(0).wrong, 1);
  EXPECT_EQ(wrong.output(0).index, 5);
  EXPECT_EQ(wrong.output(0).wanted, 138);
  EXPECT_EQ(wrong.output(0).got, 137);
}

TEST(RaceCheck, NamesBothSidesOfARace) {
  const RaceReport r = Case{.ptx = tile("")}.report();
  EXPECT_FALSE(r.good());
  ASSERT_GE(r.size(), 1);
  const auto* const race = std::find_if(&r[0], &r[0] + r.size(),
                                        [](const RaceFinding& f) { return f.code == "K-RACE"; });
  ASSERT_NE(race, &r[0] + r.size()) << r.text();
  // Which came first is the schedule's doing.
  const RaceAccess& read = race->now.does == "reads" ? race->now : race->earlier;
  const RaceAccess& write = race->now.does == "reads" ? race->earlier : race->now;
  EXPECT_EQ(read.instruction, "ld.shared.u32");
  EXPECT_EQ(read.line, 9);
  EXPECT_EQ(write.instruction, "st.shared.u32");
  EXPECT_EQ(write.file, "tile.cu");
  EXPECT_EQ(write.line, 7);
  EXPECT_EQ(write.ptx_line, 16);
  EXPECT_NE(write.agent.find("of CTA (0, 0, 0), lane"), std::string_view::npos) << write.agent;
  EXPECT_EQ(race->place.substr(0, 39), "shared memory of CTA (0, 0, 0), line + ") << race->place;
  EXPECT_NE(race->missing.find("a barrier between the two"), std::string_view::npos);
  EXPECT_NE(r.text().find("writes: st.shared.u32, tile.ptx:16 (tile.cu:7)"), std::string_view::npos)
      << r.text();
  EXPECT_NE(r.json().find("\"code\":\"K-RACE\""), std::string_view::npos);
  // The seed that is told shows it by itself.
  Case again{.ptx = tile("")};
  again.options.schedules = 1;
  again.options.seed = race->seed;
  EXPECT_NE(again.report().text().find("K-RACE"), std::string_view::npos);
}

TEST(RaceCheck, SaysTheSameForAnyNumberOfThreads) {
  Case c{.ptx = tile("")};
  c.options.schedules = 25;
  c.options.threads = 1;
  const RaceReport one = c.report();
  c.options.threads = 4;
  const RaceReport four = c.report();
  EXPECT_EQ(one.json(), four.json());
  EXPECT_EQ(one.text(), four.text());
  c.options.seed = 1000;
  EXPECT_NE(c.report().json(), one.json());
}

TEST(RaceCheck, SaysWhatADeadlockWaitsFor) {
  const RaceReport r = Case{.ptx = tile(".reg .pred %p;\nsetp.lt.u32 %p, %r1, 32;\n@%p bra W;\n"
                                        "bar.sync 0;\nbra G;\nW:\nbar.sync 1;\nG:\n")}
                           .report();
  EXPECT_EQ(r.completed(), 0);
  ASSERT_EQ(r.size(), 1) << r.text();
  EXPECT_EQ(r[0].code, "K-DEADLOCK");
  EXPECT_EQ(r[0].schedules, 10);
  EXPECT_NE(r[0].text.find("warp 1 of CTA (0, 0, 0), lanes 0-31, at bar.sync, tile.ptx:20 "
                           "(tile.cu:7): wait at barrier 0 for all threads"),
            std::string_view::npos)
      << r[0].text;
  EXPECT_NE(r[0].text.find("wait at barrier 1"), std::string_view::npos) << r[0].text;
}

// A code alone does not say which of its rules is broken.
TEST(RaceCheck, SaysWhichRuleIsBroken) {
  Case c{.ptx =
             ".version 9.0\n.target sm_100a\n.address_size 64\n"
             ".visible .entry tile(.param .u64 .ptr .align 16 out, .param .u32 add)\n{\n"
             ".shared .align 4 .b8 line[256];\n.reg .b32 %r<2>;\nmov.u32 %r1, line;\n"
             "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 48;\nret;\n}\n"};
  c.launch.block = {32, 1, 1};
  const RaceReport r = c.report();
  ASSERT_GE(r.size(), 1);
  EXPECT_EQ(r[0].code, "K-TENSORALLOC");
  EXPECT_NE(r[0].detail.find("48"), std::string_view::npos) << r[0].detail;
  EXPECT_NE(r[0].text.find(r[0].detail), std::string_view::npos) << r[0].text;
}

TEST(RaceCheck, StopsWhenTheCallbackSaysSo) {
  Case c{.ptx = tile("bar.sync 0;\n")};
  c.options.threads = 1;
  c.options.progress = [](int64_t done, int64_t, void*) { return done < 3; };
  EXPECT_EQ(c.refusal(), "E-STOPPED: the run was stopped by its progress callback");
}

TEST(RaceCheck, RefusesWhatDoesNotFit) {
  const auto refusal = [](const auto& change) {
    Case c{.ptx = tile("bar.sync 0;\n")};
    change(c);
    return c.refusal();
  };
  EXPECT_EQ(
      refusal([](Case& c) { c.launch.kernel = "tiles"; }),
      "E-LAUNCH launch.kernel: wanted an entry of tile.ptx, got 'tiles' [/launches/0/kernel]; did "
      "you mean 'tile'?");
  EXPECT_EQ(refusal([](Case& c) { c.arguments.pop_back(); }),
            "E-LAUNCH tile.arguments: wanted 2: out (8 bytes), add (4 bytes), got 1 "
            "[/launches/0/arguments]");
  EXPECT_EQ(refusal([](Case& c) { c.arguments[1] = KernelArgument::number(1.0); }),
            "E-LAUNCH tile.add: wanted 4 bytes, got 8 bytes (f64) [/launches/0/arguments/1]");
  EXPECT_EQ(refusal([](Case& c) { c.arguments[0] = KernelArgument::pointer("ouf"); }),
            "E-LAUNCH tile.out: wanted a buffer, got 'ouf' [/launches/0/arguments/0/buffer]; did "
            "you mean 'out'?");
  EXPECT_EQ(refusal([](Case& c) { c.arguments[0].offset = 4; }),
            "E-LAUNCH tile.out: wanted an address that is a multiple of 16, got 'out' + 4 "
            "[/launches/0/arguments/0/offset]");
  EXPECT_EQ(refusal([](Case& c) { c.arguments[0].offset = 512; }),
            "E-LAUNCH tile.out: wanted an offset of 0 to 256 in 'out', got 512 "
            "[/launches/0/arguments/0/offset]");
  EXPECT_EQ(refusal([](Case& c) { c.launch.cluster.x = 2; }),
            "E-LAUNCH tile.cluster: wanted a divisor of the grid, 1 x 1 x 1, got 2 x 1 x 1 "
            "[/launches/0]");
  EXPECT_EQ(refusal([](Case& c) { c.launch.dynamic_shared = 1 << 20; }),
            "E-LAUNCH tile.dynamic_shared: wanted at most 233472 bytes in all, got 1049856 "
            "[/launches/0]");
  EXPECT_EQ(refusal([](Case& c) { c.buffers[0].elements = 0; }).substr(0, 33),
            "E-LAUNCH out.elements: wanted 1 .");
  EXPECT_EQ(refusal([](Case& c) { c.buffers.push_back(c.buffers[0]); }),
            "E-LAUNCH buffer.name: wanted a name of its own, got 'out' again [/buffers/1/name]");
  EXPECT_EQ(refusal([](Case& c) { c.expected = {{.buffer = "x", .contents = Contents::ramp}}; }),
            "E-LAUNCH expected.buffer: wanted a buffer, got 'x' [/expected/0/buffer]; there are "
            "out");
  EXPECT_EQ(refusal([](Case& c) { c.options.schedules = 0; }),
            "E-LAUNCH options.schedules: wanted 1 .. 1000000, got 0");
  EXPECT_EQ(refusal([](Case& c) { c.ptx = "hello"; }).substr(0, 5), "E-PTX");
}

TEST(RaceCheck, NamesAllInstructionsThatAreNotModelled) {
  Case c{.ptx = tile("frobnicate.u32 %r1;\nbar.sync 0;\ntwiddle.b64 %rd1;\n")};
  const std::string said = c.refusal();
  EXPECT_NE(said.find("frobnicate.u32"), std::string::npos) << said;
  EXPECT_NE(said.find("tile.ptx:17"), std::string::npos) << said;
  EXPECT_NE(said.find("twiddle.b64"), std::string::npos) << said;
  EXPECT_NE(said.find("tile.ptx:19"), std::string::npos) << said;
}

// Copies the bytes of a parameter to a buffer.
std::string dump_parameter(int bytes) {
  std::string s = std::string(kHead) + ".visible .entry dump(.param .u64 out, .param .align 64 " +
                  ".b8 p[" + std::to_string(bytes) + "])\n{\n.reg .b64 %rd<3>;\n" +
                  "ld.param.u64 %rd1, [out];\n";
  for (int at = 0; at < bytes; at += 8) {
    const std::string n = std::to_string(at);
    s += "ld.param.b64 %rd2, [p+" + n + "];\nst.global.b64 [%rd1+" + n + "], %rd2;\n";
  }
  return s + "ret;\n}\n";
}

std::vector<uint64_t> dumped(const KernelArgument& a, int bytes) {
  Case c{.ptx = dump_parameter(bytes)};
  c.buffers[0] = {.name = "out", .type = ElementType::u64, .elements = bytes / 8};
  c.buffers.push_back({.name = "x", .elements = 1 << 16, .contents = Contents::ramp});
  c.arguments = {KernelArgument::pointer("out"), a};
  c.launch = {.block = {1, 1, 1}};
  c.options.schedules = 1;
  const RaceReport r = c.report();
  EXPECT_TRUE(r.good()) << r.text();
  const auto* words = static_cast<const uint64_t*>(r.buffer(0).data);
  return {words, words + bytes / 8};
}

TEST(RaceCheck, EncodesArguments) {
  constexpr uint64_t kX = uint64_t{2} << 36;
  const KernelArgument parts[] = {[] {
                                    auto a = KernelArgument::number(1.5f);
                                    a.at = 4;
                                    return a;
                                  }(),
                                  [] {
                                    auto a = KernelArgument::pointer("x", 48);
                                    a.at = 16;
                                    return a;
                                  }()};
  KernelArgument whole;
  whole.kind = KernelArgument::Kind::parts;
  whole.size = 24;
  whole.part = parts;
  whole.part_count = 2;
  EXPECT_EQ(dumped(whole, 24), (std::vector<uint64_t>{uint64_t{0x3FC00000} << 32, 0, kX + 48}));
  // docs/emulator/tensor_map.md: address, then flags and strides / 16.
  const TensorMapDescription map{.buffer = "x",
                                 .offset = 256,
                                 .type = MapElement::bf16,
                                 .rank = 2,
                                 .dims = {64, 32},
                                 .box = {64, 8},
                                 .swizzle = 128};
  const auto words = dumped(KernelArgument::tensor_map(map), 128);
  EXPECT_EQ(words[0], kX + 256);
  EXPECT_EQ(words[1] >> 32, 128u / 16);
  EXPECT_EQ(words[4], uint64_t{31} << 32 | 63);
  TensorMapDescription wrong = map;
  Case c{.ptx = dump_parameter(128)};
  c.launch = {.block = {1, 1, 1}};
  wrong.offset = 8;
  c.arguments[1] = KernelArgument::tensor_map(wrong);
  c.arguments[1].map.buffer = "out";
  EXPECT_NE(c.refusal().find("wanted a multiple of 16, got 'out' + 8"), std::string::npos)
      << c.refusal();
}

// The code of 4 in each type, in the order of ElementType.
constexpr uint64_t kFour[kElementTypes] = {
    4, 4, 4, 4, 4, 4, 4, 4, 0x4400, 0x4080, 0x40800000, 0x4010000000000000, 0x48, 0x44};

TEST(RaceCheck, FillsBuffersOfEveryType) {
  const std::string nothing = std::string(kHead) + ".visible .entry k()\n{\nret;\n}\n";
  for (int32_t t = 0; t < kElementTypes; ++t) {
    const auto type = static_cast<ElementType>(t);
    Case c{.ptx = nothing};
    c.launch = {.block = {1, 1, 1}};
    c.arguments = {};
    c.buffers = {{.name = "a",
                  .type = type,
                  .elements = 9,
                  .contents = Contents::ramp,
                  .first = 4,
                  .step = 2}};
    c.options.schedules = 1;
    // Both are rounded in the same way.
    c.expected = {
        {.buffer = "a", .contents = Contents::ramp, .first = 4, .step = 2, .relative = 0}};
    const RaceReport as_it_was = c.report();
    EXPECT_TRUE(as_it_was.good()) << name(type);
    uint64_t code = 0;
    std::memcpy(&code, as_it_was.buffer(0).data, static_cast<size_t>(element_bytes(type)));
    EXPECT_EQ(code, kFour[t]) << name(type);
    c.expected = {
        {.buffer = "a", .contents = Contents::ramp, .first = 5, .step = 2, .absolute = 0.5}};
    const RaceReport off = c.report();
    EXPECT_EQ(off.output(0).index, 0) << name(type);
    EXPECT_EQ(off.output(0).got, 4) << name(type);
    EXPECT_EQ(off.output(0).wanted, 5) << name(type);
    c.buffers[0].contents = Contents::random;
    c.buffers[0].low = 40;
    c.buffers[0].high = 44;
    c.expected = {{.buffer = "a", .contents = Contents::ramp, .first = 40, .absolute = 4}};
    const RaceReport random = c.report();
    EXPECT_TRUE(random.good()) << random.text();
    const RaceReport same = c.report();
    EXPECT_TRUE(
        std::equal(static_cast<const uint8_t*>(random.buffer(0).data),
                   static_cast<const uint8_t*>(random.buffer(0).data) + random.buffer(0).bytes,
                   static_cast<const uint8_t*>(same.buffer(0).data)));
  }
}

// A tolerance relative to what is infinite would take every number.
TEST(RaceCheck, ComparesWithInfinityAndNan) {
  Case c{.ptx = std::string(kHead) + ".visible .entry k()\n{\nret;\n}\n"};
  c.launch = {.block = {1, 1, 1}};
  c.arguments = {};
  c.options.schedules = 1;
  const float inf = INFINITY;
  const std::vector<float> had{1, inf, -inf, NAN, 101};
  const std::vector<float> wanted{inf, inf, inf, NAN, 100};
  c.buffers = {{.name = "a",
                .type = ElementType::f32,
                .elements = 5,
                .contents = Contents::bytes,
                .data = had.data()}};
  c.expected = {{.buffer = "a", .data = wanted.data(), .relative = 0.5}};
  const RaceReport r = c.report();
  EXPECT_EQ(r.output(0).wrong, 2) << r.text();
  EXPECT_EQ(r.output(0).index, 0);
}

}  // namespace
}  // namespace cohort::test
