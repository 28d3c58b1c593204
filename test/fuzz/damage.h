// One node of a valid graph, to be damaged, and what its findings must say.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cohort/cohort.h>

#include "fuzz/seeds.h"
#include "ir/op_record.h"

namespace cohort::test {

using Json = nlohmann::ordered_json;
using Kind = ir::FieldValue::Kind;

// One node of a valid graph, to be damaged.
struct Subject {
  const ir::OpRecord* op = nullptr;
  std::string label;
  Json graph;
  size_t node = 0;

  [[nodiscard]] Json& at(Json& g) const { return g["nodes"][node]; }
  [[nodiscard]] std::string path(const std::string& key) const {
    return "/nodes/" + std::to_string(node) + "/" + key;
  }
};

// Every node of an op in the graphs that are about it.
inline std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const Seed& s : seeds()) {
    Json g = Json::parse(s.json);
    for (size_t i = g["nodes"].size(); i-- > 0;) {
      if (g["nodes"][i]["op"] != s.op) continue;
      all.push_back({ir::find_op(s.op), s.label, std::move(g), i});
      break;
    }
  }
  return all;
}

// What a graph's findings are about a node: those at its path, the first of them.
inline std::string problem(const Json& graph, const Subject& s, const std::string& key,
                           const std::set<std::string>& codes) {
  const Result<Graph> g = parse_json(graph.dump());
  const std::string about = s.label + ", " + s.path(key) + ": ";
  if (g) return about + "accepted\n" + graph.dump();
  const Findings findings = g.findings();
  for (const Finding& f : findings) {
    const bool named = f.op == s.op->name && f.field == key && f.where == s.path(key);
    if (named && codes.contains(std::string(f.code))) return {};
  }
  return about + "no finding names it: " + std::string(findings.text());
}

inline void expect_refused(const Json& graph, const Subject& s, const std::string& key,
                           const std::set<std::string>& codes) {
  EXPECT_EQ(problem(graph, s, key, codes), "");
}

// As expect_refused, with no finding but that one: one mistake, one finding.
inline void expect_refused_once(const Json& graph, const Subject& s, const std::string& key,
                                const std::set<std::string>& codes) {
  expect_refused(graph, s, key, codes);
  const Result<Graph> g = parse_json(graph.dump());
  const Findings findings = g.findings();
  EXPECT_EQ(findings.total(), 1) << s.label << ", " << s.path(key) << "\n" << findings.text();
}

// The name of an input that a field of the node refers to, or nothing.
inline std::string input_of(const Subject& s, const Json& graph, const std::string& field) {
  const Json& value = graph["nodes"][s.node][field];
  const std::string name = value.is_string()   ? value.get<std::string>()
                           : value.is_object() ? value["value"].get<std::string>()
                                               : std::string();
  return name.empty() || name[0] == '%' ? std::string() : name;
}

// The shapes of the results of a node.
inline std::string result_text(const Graph& g, size_t node) {
  std::string s;
  for (int32_t p = 0; p < g.result_count(static_cast<int64_t>(node)); ++p) {
    const ResultInfo r = g.result(static_cast<int64_t>(node), p);
    for (int d = 0; d < r.rank; ++d) {
      s += std::to_string(r.bound[d]) + std::string(r.symbol[d]) + ",";
    }
    s += ";";
  }
  return s;
}

// Takes away inputs and dims that nobody names: they would be findings of their own.
inline void drop_unused(Json& g) {
  const auto drop = [](Json& list, const std::string& users) {
    for (size_t i = list.size(); i-- > 0;) {
      if (users.find(list[i]["name"].dump()) == std::string::npos) {
        list.erase(list.begin() + static_cast<int64_t>(i));
      }
    }
  };
  std::string operands;
  for (const Json& node : g["nodes"]) {
    for (const auto& [key, value] : node.items()) {
      if (key != "op") operands += value.dump() + " ";
    }
  }
  std::string shapes;
  for (const Json& o : g["outputs"]) {
    for (const char* key : {"scatter", "slot"}) operands += o.value(key, Json()).dump() + " ";
    shapes += o.value("rows", Json()).dump() + " ";
  }
  drop(g["inputs"], operands);
  for (const Json& i : g["inputs"]) shapes += i["shape"].dump();
  drop(g["dims"], shapes);
}

// A copy of the graph in which the field refers to a copy of its input that is changed.
template <class F>
Json with_other_input(const Subject& s, const std::string& field, F&& change) {
  Json g = s.graph;
  const std::string name = input_of(s, g, field);
  Json copy;
  for (const Json& i : g["inputs"]) {
    if (i["name"] == name) copy = i;
  }
  copy["name"] = "other";
  change(copy, g);
  Json& value = g["nodes"][s.node][field];
  (value.is_object() ? value["value"] : value) = "other";
  g["inputs"].push_back(copy);
  drop_unused(g);
  return g;
}

}  // namespace cohort::test
