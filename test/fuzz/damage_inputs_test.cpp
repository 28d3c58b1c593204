// Damages the inputs that the fields of an op refer to: rank, each extent, element type.
#include <iterator>
#include <set>
#include <string>

#include "fuzz/damage.h"

namespace cohort::test {
namespace {

// Extents that no other operand has and no result follows, and the field whose presence makes them
// so: rows that an index picks, entries that groups divide, terms of a sum.
struct FreeExtent {
  const char* extent;
  const char* by;
};
constexpr FreeExtent kFree[] = {
    {"combine.rev[1]", "rev"},          {"combine.y[0]", "rev"},
    {"d_combine.groups[0]", "groups"},  {"d_combine.weights[0]", "koff"},
    {"d_combine_weights.y[0]", "rev"},  {"grouped_gemm.a[0]", "gather"},
    {"grouped_wgrad.a[0]", "gather_a"}, {"grouped_wgrad.b[0]", "gather_b"},
    {"load.groups[0]", "groups"},
};

// Extents of which another operand or a result of the op has the new value.
constexpr const char* kFollowed[] = {
    "combine.koff[0]",
    "combine.rev[0]",
    "combine.y[1]",
    "d_combine.d_out[1]",
    "d_combine.scat[0]",
    "d_combine_weights.rev[0]",
    "d_combine_weights.rev[1]",
    "grouped_gemm.a[0]",
    "grouped_gemm.b[1]",
    "grouped_gemm.gather[0]",
    "grouped_wgrad.a[1]",
    "grouped_wgrad.b[1]",
    "grouped_wgrad.groups[0]",
    "load.x[0]",
    "load.x[1]",
    "matmul.a[0]",
    "matmul.b[0]",
    "matmul.b[1]",
};

// Whether the op takes the extent `about` at any value, or at this one.
bool is_free(const Subject& s, const std::string& about, const Json& extent) {
  const Json& node = s.graph["nodes"][s.node];
  for (const FreeExtent& f : kFree) {
    if (about == f.extent) return !node[f.by].is_null();
  }
  if (about != "grouped_gemm.b[0]") return false;
  // Group g uses expert g mod E.
  for (const Json& i : s.graph["inputs"]) {
    if (i["name"] == node["groups"])
      return i["shape"][0].get<int64_t>() % extent.get<int64_t>() == 0;
  }
  return false;
}

// Types that an input of that role can have, of its format when it has one.
std::set<std::string> types_of(const Json& input) {
  const std::string role = input["role"];
  if (role == "groups" || role == "index") return {"i32", "i64"};
  if (role == "scalar") return {"f32", "bf16", "i32", "i64"};
  if (!input.contains("format") || input["format"].is_null()) return {"f32", "f16", "bf16"};
  const std::string format = input["format"];
  if (format.rfind("fp8_", 0) == 0) return {"e4m3", "e5m2"};
  return {format == "mxfp8_e4m3" ? "e4m3" : format == "mxfp8_e5m2" ? "e5m2" : "e2m1"};
}

// An input of another rank is no input of its role, or no operand of this op.
TEST(Damage, RankOneMoreAndOneLess) {
  for (const Subject& s : subjects()) {
    for (const ir::FieldRecord& f : s.op->fields) {
      if (f.roles == 0 || input_of(s, s.graph, f.name).empty()) continue;
      for (const bool more : {false, true}) {
        const Json g = with_other_input(s, f.name, [&](Json& input, Json&) {
          Json& shape = input["shape"];
          if (more) {
            shape.push_back(4);
          } else {
            shape.erase(shape.end() - 1);
          }
          if (input.contains("strides")) input["strides"] = nullptr;
        });
        const Result<Graph> graph = parse_json(g.dump());
        // An index of one row a token may have one extent or two.
        if (graph && (f.roles & ir::role_bit(Role::index)) != 0) continue;
        ASSERT_FALSE(graph) << s.label << "." << f.name << " of another rank\n" << g.dump();
        bool named = false;
        for (const Finding& x : graph.findings()) {
          named = named || (x.code == "E-RANK" && (x.op == "other" || x.op == s.op->name));
        }
        EXPECT_TRUE(named) << s.label << "." << f.name << ": " << graph.findings().text();
      }
    }
  }
}

// An extent that differs is a finding with a dimension about the op (or about the input that cannot
// be so), or it is free: then the op's result, or the op that uses it, follows.
TEST(Damage, EveryExtentOneMoreAndOneLess) {
  std::set<std::string> free;
  std::set<std::string> followed;
  std::set<std::string> refused;
  for (const Subject& s : subjects()) {
    const Result<Graph> whole = parse_json(s.graph.dump());
    ASSERT_TRUE(whole) << s.label;
    for (const ir::FieldRecord& f : s.op->fields) {
      const std::string name = f.roles == 0 ? "" : input_of(s, s.graph, f.name);
      if (name.empty()) continue;
      size_t rank = 0;
      for (const Json& i : s.graph["inputs"]) {
        if (i["name"] == name) rank = i["shape"].size();
      }
      for (size_t d = 0; d < rank; ++d) {
        for (const int step : {-1, 1}) {
          bool one_for_all = false;  // a single number is one for every group
          Json extent;
          const Json g = with_other_input(s, f.name, [&](Json& input, Json& graph) {
            Json& e = input["shape"][d];
            if (input.contains("strides")) input["strides"] = nullptr;
            if (e.is_number()) {
              e = e.get<int64_t>() + step;
              one_for_all = rank == 1 && e == 1;
              extent = e;
              return;
            }
            // Another name is another extent, whatever its bound.
            graph["dims"].push_back({{"name", "Other"}, {"bound", 4096}});
            e = "Other";
          });
          const std::string about =
              s.op->name + std::string(".") + f.name + "[" + std::to_string(d) + "]";
          const Result<Graph> graph = parse_json(g.dump());
          if (graph) {
            const bool follows = result_text(*graph, s.node) != result_text(*whole, s.node);
            EXPECT_TRUE(follows || one_for_all || is_free(s, about, extent))
                << s.label << " " << about << "\n"
                << g.dump();
            (follows ? followed : free).insert(about);
            continue;
          }
          bool named = false;
          bool elsewhere = false;
          for (const Finding& x : graph.findings()) {
            const bool dimension = x.dimension >= 0 || x.code == "E-GROUPS" || x.code == "E-RANK";
            const bool about_op = x.where.rfind("/nodes/" + std::to_string(s.node) + "/", 0) == 0;
            named = named || ((about_op || x.op == "other") && dimension);
            const auto later = [&](size_t n) {
              return x.where.rfind("/nodes/" + std::to_string(n) + "/", 0) == 0;
            };
            elsewhere = elsewhere || x.where.rfind("/outputs/", 0) == 0;
            for (size_t n = s.node + 1; n < s.graph["nodes"].size(); ++n) {
              elsewhere = elsewhere || later(n);
            }
          }
          EXPECT_TRUE(named || elsewhere)
              << s.label << " " << about << ": " << graph.findings().text();
          if (named) refused.insert(about);
        }
      }
    }
  }
  EXPECT_GT(refused.size(), ir::all_ops().size());
  // The lists say no more than there is: an exemption that nothing needs hides a mistake later.
  std::set<std::string> wanted{"binary.by[0]", "grouped_gemm.b[0]"};
  for (const FreeExtent& f : kFree) wanted.insert(f.extent);
  EXPECT_EQ(free, wanted);
  EXPECT_EQ(followed, std::set<std::string>(std::begin(kFollowed), std::end(kFollowed)));
}

// Every element type that the role does not have is refused, at the input. What the role has may be
// refused by the op: both operands of a product have one, a seed is i64.
TEST(Damage, EveryElementType) {
  for (const Subject& s : subjects()) {
    for (const ir::FieldRecord& f : s.op->fields) {
      if (f.roles == 0 || input_of(s, s.graph, f.name).empty()) continue;
      for (int t = 0; !name(static_cast<DType>(t)).empty(); ++t) {
        const std::string word(name(static_cast<DType>(t)));
        std::string before;
        std::set<std::string> of_role;
        const Json g = with_other_input(s, f.name, [&](Json& input, Json&) {
          before = input["dtype"].get<std::string>();
          of_role = types_of(input);
          input["dtype"] = word;
        });
        const Result<Graph> graph = parse_json(g.dump());
        const auto is_integer = [](const std::string& w) { return w == "i32" || w == "i64"; };
        if (graph) {
          EXPECT_TRUE(of_role.contains(word)) << s.label << "." << f.name << " " << word;
          EXPECT_EQ(is_integer(word), is_integer(before))
              << s.label << "." << f.name << " " << word;
          const std::string field = f.name;
          const bool is_plain_factor = (field == "a" || field == "b") && of_role.contains("bf16");
          EXPECT_TRUE(!is_plain_factor || word == before)
              << s.label << "." << f.name << " " << word;
          continue;
        }
        if (!of_role.contains(word)) {
          bool at_input = false;
          for (const Finding& x : graph.findings()) {
            at_input = at_input || (x.op == "other" && x.code == "E-DTYPE");
          }
          EXPECT_TRUE(at_input) << s.label << "." << f.name << " " << word << ": "
                                << graph.findings().text();
          continue;
        }
        bool named = false;
        for (const Finding& x : graph.findings()) {
          named = named ||
                  ((x.op == "other" || x.op == s.op->name) &&
                   (x.code == "E-DTYPE" || x.code == "E-LAYOUT" || x.code == "E-SHAPE" ||
                    x.code == "E-ATTRIBUTE" || x.code == "E-GROUPS" || x.code == "E-ALIGNMENT"));
        }
        EXPECT_TRUE(named) << s.label << "." << f.name << " " << word << ": "
                           << graph.findings().text();
      }
    }
  }
}

}  // namespace
}  // namespace cohort::test
