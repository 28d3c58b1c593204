// Damages the inputs that the fields of an op refer to: rank, each extent, element type.
#include <cstdio>
#include <map>
#include <string>

#include "fuzz/damage.h"

namespace cohort::test {
namespace {

// Rows that an index picks and experts that groups share may be more or fewer.
bool picks(const Subject& s) {
  for (const ir::FieldRecord& f : s.op->fields) {
    const bool by_data = (f.roles & (ir::role_bit(Role::index) | ir::role_bit(Role::groups))) != 0;
    if (by_data && !s.graph["nodes"][s.node][f.name].is_null()) return true;
  }
  return false;
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
  std::map<std::string, int> free;
  std::map<std::string, int> refused;
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
          const Json g = with_other_input(s, f.name, [&](Json& input, Json& graph) {
            Json& e = input["shape"][d];
            if (input.contains("strides")) input["strides"] = nullptr;
            if (e.is_number()) {
              e = e.get<int64_t>() + step;
              one_for_all = rank == 1 && e == 1;
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
            EXPECT_TRUE(follows || picks(s) || one_for_all) << s.label << " " << about << "\n"
                                                            << g.dump();
            ++free[about + (follows ? " and the result follows" : "")];
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
          if (named) ++refused[about];
        }
      }
    }
  }
  EXPECT_GT(refused.size(), ir::all_ops().size());
  for (const auto& [about, n] : free) {
    std::printf("free: %s, %d times\n", about.c_str(), n);
  }
}

// Every element type that the role does not have is refused, at the input.
TEST(Damage, EveryElementType) {
  for (const Subject& s : subjects()) {
    for (const ir::FieldRecord& f : s.op->fields) {
      if (f.roles == 0 || input_of(s, s.graph, f.name).empty()) continue;
      for (int t = 0; !name(static_cast<DType>(t)).empty(); ++t) {
        const std::string word(name(static_cast<DType>(t)));
        std::string before;
        const Json g = with_other_input(s, f.name, [&](Json& input, Json&) {
          before = input["dtype"].get<std::string>();
          input["dtype"] = word;
        });
        const Result<Graph> graph = parse_json(g.dump());
        const auto is_integer = [](const std::string& w) { return w == "i32" || w == "i64"; };
        if (graph) {
          EXPECT_EQ(is_integer(word), is_integer(before))
              << s.label << "." << f.name << " " << word;
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
