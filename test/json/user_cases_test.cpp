// What readers of other libraries stumbled over, as reports say.
#include <string>

#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include "fixtures/findings.h"

namespace cohort {
namespace {

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string sum_of_two(const std::string& by = "0.5") {
  Builder g("sum");
  const Dim t = g.dynamic("T", 64);
  const auto a = g.input("a", {t, 8}, DType::f32, {.strides = {int64_t{1} << 40, 1}});
  const auto b = g.input("b", {t, 8}, DType::f32);
  g.output("y", g.add(Load{.x = a})
                    .then(Add{.c = g.add(Load{.x = b})})
                    .then(Binary{.mode = BinaryMode::mul, .by = 0.5}));
  const Result<Graph> graph = std::move(g).finish();
  EXPECT_TRUE(graph) << graph.findings().text();
  return with(std::string(graph->json()), "\"by\":0.5", "\"by\":" + by);
}

// cudnn-frontend#280, #992: names that are there twice or not at all, references to nothing, what
// is unknown, missing, cut or endless: a finding each, with its place; numbers as they were
// written.
TEST(UserCases, GraphFilesOfOthers) {
  struct {
    const char* from;
    const char* to;
    const char* code;
    const char* where;
  } const bad[] = {
      {"\"name\":\"b\"", "\"name\":\"a\"", "E-NAME", "/inputs/1/name"},
      {"\"name\":\"b\"", "\"name\":\"\"", "E-NAME", "/inputs/1/name"},
      {"\"name\":\"y\"", "\"name\":\"a\"", "E-NAME", "/outputs/0/name"},
      {"\"x\":\"b\"", "\"x\":\"c\"", "E-REFERENCE", "/nodes/1/x"},
      {"\"c\":\"%1\"", "\"c\":\"%9\"", "E-REFERENCE", "/nodes/2/c"},
      {"\"op\":\"add\"", "\"op\":\"conv\"", "E-OP", "/nodes/2/op"},
      {"\"cohort\":1", "\"cohort\":9", "E-VERSION", "/cohort"},
      {"\"role\":\"tensor\",", "", "E-KEY", "/inputs/0/role"},
  };
  for (const auto& b : bad) {
    const Result<Graph> g = parse_json(with(sum_of_two(), b.from, b.to));
    ASSERT_FALSE(g) << b.to;
    bool found = false;
    for (const Finding& f : g.findings()) found = found || (f.code == b.code && f.where == b.where);
    EXPECT_TRUE(found) << b.to << "\n" << g.findings().text();
  }
  EXPECT_FALSE(parse_json(sum_of_two().substr(0, 300)));
  EXPECT_FALSE(parse_json(std::string(10'000'000, '[')));
  // 2^53 + 1 is no double: it comes back as it was written.
  const Findings large =
      parse_json(with(sum_of_two(), "\"bound\":64", "\"bound\":9007199254740993")).findings();
  EXPECT_EQ(large[0].got, "9007199254740993") << large.text();
  const auto parsed = parse_json(sum_of_two());
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(test::has(parsed->json(), "\"strides\":[1099511627776,1]")) << parsed->json();
  for (const char* number : {"-0.0", "\"nan\"", "\"inf\"", "1e-45", "16777216", "0.1"}) {
    const Result<Graph> g = parse_json(sum_of_two(number));
    ASSERT_TRUE(g) << number << g.findings().text();
    EXPECT_TRUE(test::has(g->json(), "\"by\":" + std::string(number) + ",")) << g->json();
  }
}

}  // namespace
}  // namespace cohort
