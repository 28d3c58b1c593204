// One text for one graph: C++ -> JSON -> graph -> JSON, for every op and attribute.
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cohort/cohort.h>

#include "fixtures/every_graph.h"
#include "fixtures/findings.h"

namespace cohort {
namespace {

TEST(RoundTrip, EveryOpAndAttributeValue) {
  std::set<std::string> read;  // op.field=value of the graphs that were valid
  int valid = 0;
  std::string refused;
  for (const std::string& text : test::every_graph()) {
    const Result<Graph> first = parse_json(text);
    if (!first) {
      refused += std::string(first.findings().text()) + "\n";
      continue;
    }
    ++valid;
    const std::string json(first->json());
    const Result<Graph> second = parse_json(json);
    ASSERT_TRUE(second) << json << second.findings().text();
    EXPECT_EQ(second->json(), json);
    EXPECT_EQ(second->key(), first->key());
    const size_t node = json.rfind("{\"op\":\"");
    std::string line = json.substr(node, json.find('\n', node) - node);
    const std::string op = line.substr(7, line.find('"', 7) - 7);
    for (const ir::FieldRecord& f : ir::find_op(op)->fields) {
      const std::string key = "\"" + std::string(f.name) + "\":";
      const size_t at = line.find(key);
      ASSERT_NE(at, std::string::npos) << line;
      const size_t from = at + key.size();
      const std::string value = line.substr(from, line.find_first_of(",}", from) - from);
      read.insert(op + "." + f.name + "=" + value);
    }
  }
  // An n-major b needs as many rows as features, which the generated graphs do not have.
  Builder square("square");
  auto matrix = square.input("m", {32, 32}, DType::bf16);
  square.output("y", square.add(Matmul{.a = matrix, .b = matrix, .b_major = Major::n}));
  const Result<Graph> n_major = std::move(square).finish();
  ASSERT_TRUE(n_major) << n_major.findings().text();
  EXPECT_NE(n_major->json().find("\"b_major\":\"n\""), std::string_view::npos);
  EXPECT_EQ(parse_json(n_major->json())->json(), n_major->json());
  read.insert("matmul.b_major=\"n\"");
  // A packing is of halves only: two fields change at once.
  for (const Packing packing : {Packing::interleaved, Packing::bands8, Packing::bands32}) {
    Builder halves("halves");
    const auto ends = halves.groups("ends", 2, GroupForm::ends);
    const auto x = halves.add(Load{.x = halves.input("x", {32, 64}, DType::bf16), .groups = ends});
    halves.output("y", x.then(Amax{.per = AmaxPer::expert_half, .packing = packing}));
    const Result<Graph> g = std::move(halves).finish();
    ASSERT_TRUE(g) << g.findings().text();
    const std::string word = "\"" + std::string(name(packing)) + "\"";
    EXPECT_NE(g->json().find("\"packing\":" + word), std::string_view::npos);
    EXPECT_EQ(parse_json(g->json())->json(), g->json());
    read.insert("amax.packing=" + word);
  }
  // Every word of every attribute stands in a valid graph, save what no graph can have, and what is
  // written as a default left out: test/json/spellings_test.cpp.
  std::string missing;
  for (const ir::OpRecord* op : ir::all_ops()) {
    for (const ir::FieldRecord& f : op->fields) {
      if (f.kind != ir::FieldValue::Kind::choice) continue;
      for (int w = 0; w < 64; ++w) {
        const std::string word(f.word(w));
        const std::string item = std::string(op->name) + "." + f.name + "=\"" + word + "\"";
        if (!word.empty() && read.count(item) == 0) missing += item + " ";
      }
    }
  }
  EXPECT_EQ(missing,
            "cast.to=\"e3m2\" cast.to=\"e2m3\" cast.to=\"e2m1\" cast.to=\"e8m0\" cast.to=\"i32\" "
            "cast.to=\"i64\" hadamard.axis=\"both\" hadamard.round_through=\"f32\" "
            "hadamard.round_through=\"e4m3\" hadamard.round_through=\"e5m2\" "
            "hadamard.round_through=\"e3m2\" hadamard.round_through=\"e2m3\" "
            "hadamard.round_through=\"e2m1\" hadamard.round_through=\"e8m0\" "
            "hadamard.round_through=\"i32\" hadamard.round_through=\"i64\" "
            "quantize.element=\"f32\" quantize.element=\"f16\" "
            "quantize.element=\"bf16\" quantize.element=\"e4m3\" quantize.element=\"e3m2\" "
            "quantize.element=\"e2m3\" "
            "quantize.element=\"e2m1\" quantize.element=\"e8m0\" quantize.element=\"i32\" "
            "quantize.element=\"i64\" quantize.row_layout=\"tiled_128x4\" "
            "quantize.row_layout=\"per_group\" "
            "quantize.row_layout=\"global\" quantize.col_layout=\"tiled_128x4\" "
            "quantize.col_layout=\"linear\" quantize.col_layout=\"shifted_128\" "
            "quantize.col_layout=\"padded_128\" ")
      << refused;
  EXPECT_GT(valid, 40) << refused;
}

std::string quantized(const std::string& norm, const std::string& qmax) {
  test::OneOp one(*ir::find_op("quantize"));
  one.set(static_cast<size_t>(ir::find_op("quantize")->field_index("norm")), norm);
  one.set(static_cast<size_t>(ir::find_op("quantize")->field_index("qmax")), qmax);
  return one.text();
}

// A text in the order in which it is written is read item by item, any other as a whole.
TEST(RoundTrip, InAnyOrderOfListsKeysAndLines) {
  using Ordered = nlohmann::ordered_json;
  int valid = 0;
  for (const std::string& text : test::every_graph()) {
    const Result<Graph> first = parse_json(text);
    if (!first) continue;
    ++valid;
    const Ordered given = Ordered::parse(first->json());
    Ordered turned;  // lists and keys from last to first
    for (auto list = given.end(); list != given.begin();) {
      --list;
      Ordered& to = turned[list.key()] = *list;
      if (!list->is_array()) continue;
      for (size_t i = 0; i < to.size(); ++i) {
        Ordered item;
        const Ordered& of = (*list)[i];
        for (auto key = of.end(); key != of.begin();) {
          --key;
          item[key.key()] = *key;
        }
        to[i] = item;
      }
    }
    for (const std::string& other : {turned.dump(), turned.dump(1), given.dump(), given.dump(2)}) {
      const Result<Graph> second = parse_json(other);
      ASSERT_TRUE(second) << other << second.findings().text();
      EXPECT_EQ(second->json(), first->json());
    }
  }
  EXPECT_GT(valid, 200);
}

TEST(Numbers, AreTheShortestThatReadBack) {
  const std::pair<const char*, const char*> norms[] = {
      {"1.0", "1"},
      {"0.1000000000000000055", "0.1"},
      {"1E2", "100"},
      {"1.00000000000000022", "1.0000000000000002"},
      {"9223372036854775807", "9.223372036854776e+18"},
  };
  for (const auto& [given, written] : norms) {
    const Result<Graph> g = parse_json(quantized(given, "6"));
    ASSERT_TRUE(g) << given << g.findings().text();
    EXPECT_TRUE(test::has(g->json(), "\"norm\":" + std::string(written) + ",")) << g->json();
    const Result<Graph> again = parse_json(g->json());
    ASSERT_TRUE(again) << given << again.findings().text();
    EXPECT_EQ(again->json(), g->json());
  }
  // What is out of its range was read as the number that it says.
  const std::pair<const char*, const char*> refused[] = {
      {"-0.0", "-0.0"},       {"\"inf\"", "\"inf\""}, {"\"-inf\"", "\"-inf\""},
      {"\"nan\"", "\"nan\""}, {"5e-324", "5e-324"},
  };
  for (const auto& [given, written] : refused) {
    const Result<Graph> g = parse_json(quantized(given, "6"));
    ASSERT_FALSE(g) << given;
    const Findings findings = g.findings();
    EXPECT_EQ(test::only(findings).code, "E-ATTRIBUTE") << given;
    EXPECT_EQ(findings[0].got, written) << given;
  }
  const std::pair<const char*, const char*> maxima[] = {
      {"0.1", "0.1"},
      {"16777217", "16777216"},
      {"0.10000000149011612", "0.1"},
      {"3.4028235e38", "3.4028235e+38"},
      // just above the middle of two f32: rounded twice it would be 1
      {"1.000000059604644775390626", "1.0000001"}};
  for (const auto& [given, written] : maxima) {
    const Result<Graph> g = parse_json(quantized("1", given));
    ASSERT_TRUE(g) << given << g.findings().text();
    EXPECT_TRUE(test::has(g->json(), "\"qmax\":" + std::string(written) + ",")) << g->json();
  }
  for (const char* bad : {"0", "-1", "1e39", "\"inf\"", "\"nan\"", "\"6\"", "true", "[]"}) {
    const Result<Graph> g = parse_json(quantized("1", bad));
    ASSERT_FALSE(g) << bad;
    EXPECT_EQ(test::only(g.findings()).where, "/nodes/1/qmax") << bad;
  }
}

TEST(Schema, EqualsTheFileInDocs) {
  const std::string path = std::string(COHORT_SOURCE_DIR) + "/docs/graph.schema.json";
  if (std::getenv("COHORT_UPDATE") != nullptr) {
    std::ofstream(path, std::ios::binary) << json_schema();
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(json_schema().empty());
  EXPECT_TRUE(text.str() == json_schema())
      << "docs/graph.schema.json is old: run this test with COHORT_UPDATE=1";
}

}  // namespace
}  // namespace cohort
