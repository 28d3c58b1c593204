// `cohort race`: exit codes, the report, launch files and what is refused of them.
#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace cohort::test {
namespace {

using Race = Command;

constexpr const char* kLaunch =
    R"({"cohort_launch":1,"buffers":[{"name":"out","type":"u32","shape":[8,8]}],)"
    R"("launches":[{"kernel":"tile","grid":[1],"block":[64],"arguments":[{"buffer":"out"}]}],)"
    R"("expected":[{"buffer":"out","ramp":{"first":0,"step":1}}]})";

// Writes thread numbers by way of shared memory.
std::string tile(const std::string& sync) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry tile(.param .u64 out)\n"
         "{\n.shared .align 4 .b8 line[256];\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n"
         "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, line;\n"
         "xor.b32 %r3, %r1, 32;\nmad.lo.u32 %r4, %r3, 4, %r2;\nst.shared.u32 [%r4], %r3;\n" +
         sync +
         "mad.lo.u32 %r5, %r1, 4, %r2;\nld.shared.u32 %r6, [%r5];\n"
         "mad.wide.u32 %rd2, %r1, 4, %rd1;\nst.global.u32 [%rd2], %r6;\nret;\n}\n";
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST_F(Race, TellsCleanFromFaulty) {
  const std::string launch = write("l.json", kLaunch);
  const std::string good = write("good.ptx", tile("bar.sync 0;\n"));
  const std::string bad = write("bad.ptx", tile(""));
  const Said clean = cohort("race " + good + " --launch " + launch + " --outputs " + path("o"));
  EXPECT_EQ(clean.exit, 0) << clean.err;
  EXPECT_EQ(clean.out,
            "output out: as expected\n"
            "clean: 0 findings in 10 schedules (profile strict, seeds from 1)\n");
  fails("race " + bad + " --launch " + launch, 1, "--profile strict --schedules 1 --seed 1");
  const Said faulty = cohort("race " + bad + " --launch " + launch + " --json --schedules 3");
  const auto j = nlohmann::json::parse(faulty.out);
  EXPECT_FALSE(j["ok"].get<bool>());
  EXPECT_EQ(j["schedules"], 3);
  EXPECT_NE(faulty.out.find("K-RACE"), std::string::npos);
  // What was stored is what is expected the next time.
  const std::string next = write(
      "next.json", changed(changed(kLaunch, R"("ramp":{"first":0,"step":1})", R"("file":"o")"),
                           R"("shape":[8,8])", R"("file":"o")"));
  EXPECT_EQ(cohort("race " + good + " --launch " + next).exit, 0);
  const std::string small =
      write("small.json", changed(kLaunch, R"("shape":[8,8])", R"("shape":[8,9],"file":"o")"));
  fails("race " + good + " --launch " + small, 1,
        "E-LAUNCH out.shape: wanted 288 bytes, got 256 bytes in the file [/buffers/0/shape]");
}

TEST_F(Race, NamesWhatIsWrongInALaunchFile) {
  const std::string ptx = write("k.ptx", tile("bar.sync 0;\n"));
  const auto refused = [&](const std::string& from, const std::string& to, int exit,
                           const std::string& with) {
    fails("race " + ptx + " --launch " + write("l.json", changed(kLaunch, from, to)), exit, with);
  };
  refused(R"("shape":)", R"("shap":)", 1,
          "E-KEY buffer.shap: wanted a known key, got 'shap' "
          "[/buffers/0/shap]; did you mean 'shape'?");
  refused(R"("cohort_launch":1)", R"("cohort_launch":2)", 1, "[/cohort_launch]");
  refused(R"("type":"u32")", R"("type":"u33")", 1, "[/buffers/0/type]; did you mean");
  refused(R"("grid":[1])", R"("grid":["a"])", 1, "wanted an integer, got 'a'");
  refused(R"("grid":[1])", R"("grid":[1,1,1,1])", 1, "wanted 1 to 3 numbers");
  refused(R"({"buffer":"out"}])", R"({"u32":-1}])", 1, "wanted a number of this type, got -1");
  refused(R"({"buffer":"out"}])", R"({"u32":1,"f32":1}])", 1, "got 2 of them");
  refused(R"({"buffer":"out"}])", R"({"bytes":"0g"}])", 1, "hexadecimal digits");
  refused(R"({"buffer":"out"}])", R"({"u64":1,"u64":2}])", 1, "E-KEY");
  refused(R"("kernel":"tile")", R"("kernel":"tiel")", 1, "did you mean 'tile'?");
  refused("]}", "]", 2, "E-JSON");
  refused(R"("ramp":{"first":0,"step":1})", R"("file":"none.safetensors")", 2, "E-FILE");
  fails("race " + ptx + " --launch " + path("none"), 2, "E-FILE");
  fails("race " + ptx, 2, "E-USAGE");
}

}  // namespace
}  // namespace cohort::test
