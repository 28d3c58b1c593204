// Damages what an operand is loaded from: "%N" of a load reads a copy whose input is changed.
#include <map>
#include <optional>
#include <string>

#include "fuzz/damage.h"

namespace cohort::test {
namespace {

// The fields of a node that can hold a value.
std::vector<std::string> value_fields(const Subject& s) {
  std::vector<std::string> all;
  if (!s.op->is_root) all.emplace_back("in");
  for (const ir::FieldRecord& f : s.op->fields) {
    if ((f.roles & ir::role_bit(Role::value)) != 0) all.emplace_back(f.name);
  }
  return all;
}

// The node whose result a text names, when it is the only one of that node.
std::optional<size_t> node_of(const std::string& text) {
  if (text.size() < 2 || text[0] != '%') return {};
  if (text.find_first_not_of("0123456789", 1) != std::string::npos) return {};
  return std::stoul(text.substr(1));
}

// The load that a field reads.
std::optional<size_t> load_of(const Subject& s, const std::string& field) {
  const Json& node = s.graph["nodes"][s.node];
  if (!node.contains(field)) return {};
  const Json& v = node[field].is_object() ? node[field]["value"] : node[field];
  const std::optional<size_t> n = v.is_string() ? node_of(v.get<std::string>()) : std::nullopt;
  return n && s.graph["nodes"][*n]["op"] == "load" ? n : std::nullopt;
}

// Adds `by` to every number of a node from `first` on.
void renumber(Json& j, size_t first, int by) {
  if (j.is_structured()) {
    for (Json& inner : j) renumber(inner, first, by);
  } else if (j.is_string() && j.get<std::string>().starts_with('%')) {
    const std::string text = j.get<std::string>();
    const size_t dot = std::min(text.find('.'), text.size());
    const size_t n = std::stoul(text.substr(1, dot - 1));
    if (n >= first) j = "%" + std::to_string(static_cast<int64_t>(n) + by) + text.substr(dot);
  }
}

struct Damaged {
  Json graph;
  size_t node = 0;
};

// A graph in which the field reads a load of its own, of a changed copy of the input.
template <class F>
Damaged with_other_load(const Subject& s, const std::string& field, size_t load, F&& change) {
  Json g = s.graph;
  Json node = g["nodes"][load];
  Json input;
  for (const Json& i : g["inputs"]) {
    if (i["name"] == node["x"]) input = i;
  }
  input["name"] = "other";
  if (input.contains("strides")) input["strides"] = nullptr;
  change(input, g);
  g["inputs"].push_back(input);
  node["x"] = "other";
  size_t at = s.node;
  renumber(g["nodes"], at, 1);
  renumber(g["outputs"], at, 1);
  g["nodes"].insert(g["nodes"].begin() + static_cast<int64_t>(at), node);
  Json& value = g["nodes"][at + 1][field];
  (value.is_object() ? value["value"] : value) = "%" + std::to_string(at);
  const std::string now = "\"%" + std::to_string(load) + "\"";
  if ((g["nodes"].dump() + g["outputs"].dump()).find(now) == std::string::npos) {
    g["nodes"].erase(g["nodes"].begin() + static_cast<int64_t>(load));
    renumber(g["nodes"], load, -1);
    renumber(g["outputs"], load, -1);
    --at;
  }
  drop_unused(g);
  return {std::move(g), at + 1};
}

template <class F>
void for_each_load(F&& visit) {
  for (const Subject& s : subjects()) {
    for (const std::string& field : value_fields(s)) {
      if (const std::optional<size_t> load = load_of(s, field)) visit(s, field, *load);
    }
  }
}

// Ops whose result has neither the rows nor the columns of what they read, in a dimension.
bool sums_over(const Subject& s, const std::string& field, size_t dimension) {
  const std::string about = std::string(s.op->name) + "." + field;
  return about == "amax.in" || (about == "d_bias.in" && dimension == 0) ||
         (about == "combine.y" && dimension == 0) || about == "d_combine_weights.y";
}

// Whether a finding is about this node, about the changed input or its load, or about what comes
// after the node: then its result followed.
struct Named {
  bool here = false;
  bool later = false;
};
Named named(const Findings& findings, const Damaged& d) {
  Named n;
  const auto is_at = [](const Finding& x, size_t node) {
    return x.where.starts_with("/nodes/" + std::to_string(node) + "/");
  };
  for (const Finding& x : findings) {
    n.here = n.here || is_at(x, d.node) || is_at(x, d.node - 1) || x.op == "other";
    n.later = n.later || x.where.starts_with("/outputs/");
    for (size_t k = d.node + 1; k < d.graph["nodes"].size(); ++k) {
      n.later = n.later || is_at(x, k);
    }
  }
  return n;
}

TEST(DamageLoads, CopiesThatAreNotChangedAreAccepted) {
  int count = 0;
  for_each_load([&](const Subject& s, const std::string& field, size_t load) {
    const Damaged d = with_other_load(s, field, load, [](Json&, Json&) {});
    const Result<Graph> g = parse_json(d.graph.dump());
    EXPECT_TRUE(g) << s.label << "." << field << ": " << g.findings().text() << d.graph.dump();
    if (!g) return;
    EXPECT_EQ(result_text(*g, d.node), result_text(*parse_json(s.graph.dump()), s.node)) << s.label;
    ++count;
  });
  EXPECT_GT(count, 50);
}

TEST(DamageLoads, EveryExtentOneMoreOneLessAndAnother) {
  std::map<std::string, int> refused;
  int followed = 0;
  for_each_load([&](const Subject& s, const std::string& field, size_t load) {
    const std::string whole = result_text(*parse_json(s.graph.dump()), s.node);
    for (size_t dimension = 0; dimension < 2; ++dimension) {
      for (const int step : {-1, 0, 1}) {
        const Damaged d = with_other_load(s, field, load, [&](Json& input, Json& graph) {
          Json& e = input["shape"][dimension];
          if (e.is_number() && step != 0) {
            e = e.get<int64_t>() + step;
            return;
          }
          graph["dims"].push_back({{"name", "Other"}, {"bound", 4096}});
          e = "Other";
        });
        const std::string about =
            s.label + "." + field + "[" + std::to_string(dimension) + "] " + std::to_string(step);
        const Result<Graph> g = parse_json(d.graph.dump());
        if (g) {
          const bool follows = result_text(*g, d.node) != whole;
          EXPECT_TRUE(follows || sums_over(s, field, dimension)) << about << "\n" << d.graph.dump();
          followed += follows ? 1 : 0;
          continue;
        }
        const Named n = named(g.findings(), d);
        EXPECT_TRUE(n.here || n.later) << about << ": " << g.findings().text();
        if (n.here) ++refused[std::string(s.op->name) + "." + field];
      }
    }
  });
  EXPECT_GT(followed, 100);
  // Every second operand of an op is held to the first.
  for (const char* field : {"add.c", "binary.by", "compare.by", "select.if_true", "unary.x",
                            "d_glu.c", "d_relu_squared.c"}) {
    EXPECT_GT(refused[field], 0) << field;
  }
}

TEST(DamageLoads, EveryElementType) {
  for_each_load([&](const Subject& s, const std::string& field, size_t load) {
    for (int t = 0; !name(static_cast<DType>(t)).empty(); ++t) {
      const std::string word(name(static_cast<DType>(t)));
      const Damaged d =
          with_other_load(s, field, load, [&](Json& input, Json&) { input["dtype"] = word; });
      const Result<Graph> g = parse_json(d.graph.dump());
      if (g) {
        EXPECT_TRUE(word == "f32" || word == "f16" || word == "bf16")
            << s.label << "." << field << " " << word;
        continue;
      }
      const Named n = named(g.findings(), d);
      EXPECT_TRUE(n.here || n.later)
          << s.label << "." << field << " " << word << ": " << g.findings().text();
    }
  });
}

}  // namespace
}  // namespace cohort::test
