// `cohort run --random`: inputs that suit the graph at any size, and what few rows come to.
#include <cohort/cohort.h>
#include <cohort/safetensors.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace cohort::test {
namespace {

using Json = nlohmann::json;

class RandomRun : public Command {
 protected:
  /// Output y, f32, of a run of 64 rows.
  [[nodiscard]] std::vector<float> made(const Result<Graph>& graph, int seed) const {
    const std::string file_name = write("made.json", std::string(graph->json()));
    const Said s = cohort("run " + file_name + " --size T=64 --random " + std::to_string(seed) +
                          " --outputs " + path("y.st"));
    EXPECT_EQ(0, s.exit) << s.err;
    if (s.exit != 0) return {};
    const TensorFile file = *TensorFile::read(path("y.st"));
    const TensorView v = file.view(file.find("y"));
    EXPECT_EQ(DType::f32, v.dtype);
    const auto* first = static_cast<const float*>(v.data);
    return {first, first + v.shape[0] * v.shape[1]};
  }
};

TEST_F(RandomRun, EverySampleTakesFewRows) {
  const std::string pairs = "E-SHAPE T.size: size: wanted an even number, got ";
  const std::map<std::string, std::string> refused_when_odd{
      {"hadamard_nvfp4", pairs}, {"quantize_nvfp4", pairs}, {"wgrad_nvfp4", pairs}};
  for (const Json& s : Json::parse(cohort("sample --json").out)) {
    const std::string name = s["name"];
    const std::string g = sample(name);
    const std::string dim = name == "matmul_relu" ? "M" : "T";
    for (const std::string rows : {"0", "1", "3"}) {
      // Its weights take seconds to make; EverySampleChecksRunsAndReplays has some of its rows.
      if (name == "fc1_mxfp8" && rows != "0") continue;
      std::string arguments = "run " + g + " --random 1 --size ";
      arguments += dim;
      arguments += "=" + rows;
      const auto odd = refused_when_odd.find(name);
      if (odd != refused_when_odd.end() && rows != "0") {
        fails(arguments, 1, odd->second + rows);
        continue;
      }
      const Said run = cohort(arguments);
      EXPECT_EQ(0, run.exit) << name << " " << rows << "\n" << run.err;
    }
  }
}

// Rows that an index names are gone with what it names, unless somebody asks for them.
TEST_F(RandomRun, IndicesIntoNoRowsAreNone) {
  const std::string g = sample("gather");
  const Json none = Json::parse(cohort("run --json --random 1 --size T=0 " + g).out);
  EXPECT_EQ(0, none["sizes"]["R"]);
  const Json some = Json::parse(cohort("run --json --random 1 --size T=1 " + g).out);
  EXPECT_EQ(256, some["sizes"]["R"]);
  fails("run --random 1 --size T=0 --size R=2 " + g, 1,
        "E-INDEX token.values: entry 0 is -1, wanted no entries");
}

// What an op wants of groups that promise nothing themselves.
TEST_F(RandomRun, GroupsSuitWhatThePlanWants) {
  const auto column = [](const char* name, const char* format, const char* dtype,
                         const char* layout, const char* storage) {
    return Json{{"name", name},   {"role", "scaled_tensor"}, {"shape", {"T", 48}},
                {"dtype", dtype}, {"format", format},        {"layout", layout},
                {"axis", "col"},  {"storage", storage}};
  };
  const auto graph = [](const Json& inputs, const Json& nodes, const std::string& form) {
    Json g{{"cohort", 1},
           {"name", "aligned"},
           {"dims", {{{"name", "T"}, {"bound", 512}}}},
           {"inputs", inputs},
           {"nodes", nodes},
           {"outputs", {{{"name", "y"}, {"value", "%" + std::to_string(nodes.size() - 1)}}}}};
    if (nodes.size() > 1) g["outputs"][0]["tail"] = "zero";
    g["inputs"].push_back(
        {{"name", "g"}, {"role", "groups"}, {"shape", {4}}, {"dtype", "i32"}, {"form", form}});
    return g;
  };
  const Json wgrad{{{"op", "grouped_wgrad"}, {"a", "a"}, {"b", "b"}, {"groups", "g"}}};
  for (const std::string form : {"ends", "starts", "slots", "counts", "boundaries"}) {
    std::vector<Json> graphs;
    for (const auto& [format, dtype, layout, storage] :
         {std::array{"mxfp8_e4m3", "e4m3", "global", "as_rows"},
          std::array{"mxfp4", "e2m1", "global", "transposed"},
          std::array{"nvfp4", "e2m1", "per_group", "ragged"}}) {
      graphs.push_back(graph({column("a", format, dtype, layout, storage),
                              column("b", format, dtype, layout, storage)},
                             wgrad, form));
    }
    graphs.push_back(
        graph({{{"name", "x"}, {"role", "tensor"}, {"shape", {"T", 48}}, {"dtype", "f32"}}},
              {{{"op", "load"}, {"x", "x"}, {"groups", "g"}},
               {{"op", "hadamard"}, {"in", "%0"}, {"axis", "col"}}},
              form));
    for (size_t i = 0; i < graphs.size(); ++i) {
      const std::string path = write("g.json", graphs[i].dump());
      for (const std::string seed : {"1", "2", "77"}) {
        const Said s = cohort("run " + path + " --compare reference --random " + seed);
        EXPECT_EQ(0, s.exit) << form << " " << i << "\n" << s.err;
        EXPECT_EQ("", s.err) << form << " " << i;
      }
    }
  }
}

TEST_F(RandomRun, NoGroupsAtAll) {
  const Said s =
      cohort("run --json --random 1 --size T=0 --size R=5 " + sample("combine_variable"));
  EXPECT_EQ(0, s.exit) << s.err;
}

// Groups of 256 rows do not fit into 32: nobody owns a row, and 0 of 0 wrong proves nothing.
TEST_F(RandomRun, NothingComparedIsSaid) {
  const std::string run =
      "run " + sample("srelu_fc2") + " --random 3 --compare reference --size T=";
  const Said none = cohort(run + "32");
  EXPECT_EQ(0, none.exit) << none.err;
  EXPECT_EQ(0u, none.err.rfind("nothing was compared", 0)) << none.err;
  EXPECT_NE(std::string::npos, none.out.find("nothing was compared with reference:\ny: 0 of 0"))
      << none.out;
  const Said json = cohort(run + "32 --json");
  EXPECT_EQ(0u, json.err.rfind("nothing was compared", 0)) << json.err;
  EXPECT_EQ(0, Json::parse(json.out)["compared_elements"]);
  const Said some = cohort(run + "256 --json");
  EXPECT_EQ("", some.err);
  EXPECT_LT(0, Json::parse(some.out)["compared_elements"]);
  EXPECT_EQ("reference", Json::parse(some.out)["compared"]);
  EXPECT_EQ(Json::array(), Json::parse(some.out)["different"]);
}

// The sum of no rows is 0, and that of any others is not.
TEST_F(RandomRun, OneGroupIsEmptyInEveryForm) {
  for (const GroupForm form : {GroupForm::starts, GroupForm::ends, GroupForm::boundaries,
                               GroupForm::counts, GroupForm::slots}) {
    for (const int seed : {1, 2, 77}) {
      Builder g("sums");
      const Tensor x = g.input("x", {g.dynamic("T", 512), 8}, DType::f32);
      const Groups groups = g.groups("g", 4, form);
      g.output("y", g.add(Load{.x = x, .groups = groups}).then(DBias{}));
      const std::vector<float> y = made(std::move(g).finish(), seed);
      ASSERT_EQ(32u, y.size());
      std::vector<int> empty;
      for (int i = 0; i < 4; ++i) {
        if (std::count(y.begin() + 8 * i, y.begin() + 8 * i + 8, 0.0f) == 8) empty.push_back(i);
      }
      EXPECT_EQ(std::vector<int>{2}, empty) << name(form) << " " << seed;
    }
  }
}

TEST_F(RandomRun, DataAreOfUnitScale) {
  const auto check = [&](const std::string& what, const auto& input) {
    Builder g("data");
    g.output("y", g.add(Load{.x = input(g, g.dynamic("T", 512))}));
    double sum = 0;
    for (const float v : made(std::move(g).finish(), 1)) sum += v * v;
    EXPECT_GT(std::sqrt(sum / (64 * 256)), 0.5) << what;
    EXPECT_LT(std::sqrt(sum / (64 * 256)), 2) << what;
  };
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    check(std::string(name(dtype)), [&](Builder& g, const Dim& t) {
      return g.input("x", {t, 256}, dtype);
    });
  }
  for (const Format format : {Format::mxfp8_e4m3, Format::mxfp8_e5m2, Format::mxfp4, Format::nvfp4,
                              Format::fp8_tensor, Format::fp8_row, Format::fp8_block128}) {
    check(std::string(name(format)), [&](Builder& g, const Dim& t) {
      return g.scaled_input("x", {t, 256}, format);
    });
  }
}

TEST_F(RandomRun, WithoutCompareNothingIsSaidOfIt) {
  const Said s = cohort("run --json --random 3 --size M=2 " + sample("matmul_relu"));
  EXPECT_EQ("", s.err);
  for (const char* key : {"compared", "compared_elements", "different"}) {
    ASSERT_TRUE(Json::parse(s.out).contains(key)) << key;
    EXPECT_TRUE(Json::parse(s.out)[key].is_null()) << key;
  }
}

}  // namespace
}  // namespace cohort::test
