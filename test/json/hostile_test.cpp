// Texts that are wrong, cut, huge or hostile.
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <cohort/cohort.h>

#include "fixtures/every_graph.h"
#include "fixtures/findings.h"

namespace cohort {
namespace {

std::string sample() {
  Builder g("fc1");
  const Dim T = g.dynamic("T", 4096);
  const auto x = g.scaled_input("x", {T, 256}, Format::mxfp8_e4m3);
  const auto w = g.scaled_weights("w", {4, 128, 256}, Format::mxfp8_e4m3);
  const auto ends = g.groups("ends", 4, GroupForm::ends);
  const auto prob = g.row_input("prob", T);
  const auto y = g.add(GroupedGemm{.a = x, .b = w, .groups = ends})
                     .then(ReluSquared{})
                     .then(RowGate{.by = prob})
                     .then(Quantize{.to = Format::mxfp8_e4m3, .axes = Axes::both});
  g.output("y", y.row);
  g.output("y_t", y.col);
  const Result<Graph> graph = std::move(g).finish();
  EXPECT_TRUE(graph) << graph.findings().text();
  return std::string(graph->json());
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

struct Bad {
  const char* from;
  const char* to;
  const char* code;
  const char* where;
};

TEST(Refused, EachWithItsPath) {
  const Bad table[] = {
      {"\"cohort\":1", "\"cohort\":2", "E-VERSION", "/cohort"},
      {"\"cohort\":1,\n", "", "E-VERSION", "/cohort"},
      {"\"cohort\":1", "\"cohort\":1,\"extra\":2", "E-KEY", "/extra"},
      {"\"cohort\":1", "\"cohort\":1,\"cohort\":1", "E-KEY", "/cohort"},
      {"\"dims\":", "\"dims\":[],\"dims\":", "E-KEY", "/dims"},
      {"\"role\":\"row_vec\"", "\"role\":\"row_vector\"", "E-WORD", "/inputs/3/role"},
      {"\"role\":\"row_vec\"", "\"role\":\"value\"", "E-ROLE", "/inputs/3/role"},
      {"\"form\":", "\"from\":", "E-KEY", "/inputs/2/from"},
      {"\"op\":\"relu_squared\"", "\"op\":\"relu_squares\"", "E-OP", "/nodes/1/op"},
      {"\"clamp\":null", "\"clamp\":null,\"clamp\":null", "E-KEY", "/nodes/1/clamp"},
      {"\"clamp\":null", "\"clamp\":null,\"clap\":1", "E-KEY", "/nodes/1/clap"},
      {"\"clamp\":null", "\"clamp\":\"x\"", "E-JSON", "/nodes/1/clamp"},
      {"\"clamp\":null", "\"clamp\":-1", "E-ATTRIBUTE", "/nodes/1/clamp"},
      {"\"in\":\"%0\"", "\"in\":\"%1\"", "E-REFERENCE", "/nodes/1/in"},
      {"\"in\":\"%0\"", "\"in\":\"%3.row\"", "E-REFERENCE", "/nodes/1/in"},
      {"\"in\":\"%0\"", "\"in\":\"%00\"", "E-REFERENCE", "/nodes/1/in"},
      {"\"in\":\"%0\"", "\"in\":\"%0.row\"", "E-REFERENCE", "/nodes/1/in"},
      {"\"in\":\"%0\"", "\"in\":\"%18446744073709551616\"", "E-REFERENCE", "/nodes/1/in"},
      {"\"in\":\"%0\"", "\"in\":7", "E-JSON", "/nodes/1/in"},
      {"\"by\":\"prob\"", "\"by\":\"prop\"", "E-REFERENCE", "/nodes/2/by"},
      {"\"by\":\"prob\"", "\"by\":\"ends\"", "E-ROLE", "/nodes/2/by"},
      {"\"a\":\"x\"", "\"a\":null", "E-JSON", "/nodes/0/a"},
      {"\"a\":\"x\",", "", "E-KEY", "/nodes/0/a"},
      {"\"bound\":4096", "\"bound\":-1", "E-SHAPE", "/dims/0/bound"},
      {"\"bound\":4096", "\"bound\":281474976710657", "E-LIMIT", "/dims/0/bound"},
      {"\"bound\":4096", "\"bound\":9223372036854775808", "E-JSON", "/dims/0/bound"},
      {"\"bound\":4096", "\"bound\":99999999999999999999", "E-JSON", "/dims/0/bound"},
      {"\"bound\":4096", "\"bound\":4096.0", "E-JSON", "/dims/0/bound"},
      {"\"bound\":4096", "\"bound\":1e999", "E-JSON", "/dims/0/bound"},
      {"[\"T\",256]", "[\"S\",256]", "E-REFERENCE", "/inputs/0/shape"},
      {"[\"T\",256]", "[\"T\",257]", "E-SHAPE", "/nodes/0/b"},
      {"[\"T\",256]", "[1,1,1,1,1,1,1,1,1]", "E-LIMIT", "/inputs/0/shape"},
      {"[\"T\",256]", "[[1],2]", "E-JSON", "/inputs/0/shape"},
      {"\"alignment\":16", "\"alignment\":null", "E-JSON", "/inputs/0/alignment"},
      {"\"alignment\":16", "\"alignment\":3", "E-ALIGNMENT", "/inputs/0/alignment"},
      {"\"strides\":null", "\"strides\":[256]", "E-STRIDE", "/inputs/0/strides"},
      {"\"name\":\"prob\"", "\"name\":\"prob\\u0001\"", "E-NAME", "/inputs/3/name"},
      {"\"name\":\"y_t\"", "\"name\":\"y\"", "E-NAME", "/outputs/1/name"},
      {"\"tail\":\"leave\"", "\"tail\":\"keep\"", "E-WORD", "/outputs/0/tail"},
      {"\"axes\":\"both\"", "\"axes\":\"row\"", "E-OUTPUT", "/outputs/1/value"},
      {"\"dtype\":\"i32\"", "\"dtype\":\"e8m0\"", "E-DTYPE", "/inputs/2/dtype"},
      {"\"shape\":[4]", "\"shape\":[0]", "E-GROUPS", "/inputs/2/shape"},
      {"\"shape\":[4]", "\"shape\":[3]", "E-GROUPS", "/nodes/0/groups"},
  };
  for (const Bad& bad : table) {
    const Result<Graph> g = parse_json(with(sample(), bad.from, bad.to));
    ASSERT_FALSE(g) << bad.to;
    const Findings findings = g.findings();
    EXPECT_EQ(findings[0].code, bad.code) << bad.to << "\n" << findings.text();
    EXPECT_EQ(findings[0].where, bad.where) << bad.to << "\n" << findings.text();
    // A renamed key is both unknown and missing, a name that is no name also dangles.
    const bool two = std::string_view(bad.to) == "\"from\":" || test::has(bad.to, "\\u0001");
    if (!two) {
      EXPECT_EQ(findings.total(), 1) << bad.to << "\n" << findings.text();
    }
  }
}

TEST(Refused, RangesAreNumbersOfTheType) {
  const Findings f = parse_json(with(sample(), "\"clamp\":null", "\"clamp\":0.1e-40")).findings();
  EXPECT_EQ(test::only(f).wanted, "1.1754944e-38 .. 3.4028235e+38");
  EXPECT_EQ(test::only(f).got, "1e-41");
}

// Slots are two tensors under names of their own.
TEST(Refused, OutputsThatAreGroups) {
  for (const char* form : {"slots", "counts"}) {
    std::string text =
        with(sample(), "\"form\":\"ends\"", "\"form\":\"" + std::string(form) + "\"");
    text = with(text, "\"value\":\"%3.col\"", "\"value\":\"ends\"");
    const Result<Graph> graph = parse_json(text);
    ASSERT_FALSE(graph) << form;
    EXPECT_NE(graph.findings().text().find("/outputs/1/value"), std::string_view::npos)
        << graph.findings().text();
  }
}

TEST(Refused, Hints) {
  const Findings f = parse_json(with(sample(), "\"by\":\"prob\"", "\"by\":\"prop\"")).findings();
  EXPECT_TRUE(test::has(test::only(f).hint, "'prob'")) << f.text();
}

TEST(Refused, WhatStandsBesideTheText) {
  const std::string text = sample();
  const auto code = [](const std::string& t) {
    const Result<Graph> graph = parse_json(t);
    return graph ? std::string() : std::string(test::only(graph.findings()).code);
  };
  EXPECT_EQ(code(text), "");
  EXPECT_EQ(code(text + std::string("\0 garbage", 9)), "E-JSON");
  EXPECT_EQ(code("\xEF\xBB\xBF" + text), "E-JSON") << "a byte order mark";
  EXPECT_EQ(code(with(text, "\"%0\"", "\"%-0\"")), "E-REFERENCE");
}

TEST(Names, OfUpTo256BytesOfUtf8) {
  const auto named = [](const std::string& name) {
    return parse_json(with(sample(), "\"name\":\"fc1\"", "\"name\":\"" + name + "\""));
  };
  EXPECT_TRUE(named(std::string(256, 'a')));
  EXPECT_EQ(test::only(named(std::string(257, 'a')).findings()).code, "E-LIMIT");
  EXPECT_FALSE(named("\xFF"));
  EXPECT_FALSE(named("\xC0\x80"));
  EXPECT_FALSE(named("\xED\xA0\x80"));
  EXPECT_FALSE(named("\\ud800"));
  const Result<Graph> g = named("\\\"\\\\\\u00e9\\/");
  ASSERT_TRUE(g) << g.findings().text();
  EXPECT_EQ(g->name(), "\"\\\xC3\xA9/");
  const Result<Graph> again = parse_json(g->json());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->json(), g->json());
}

TEST(Limits, AreFindings) {
  const std::string text = sample();
  EXPECT_EQ(test::only(parse_json(text, {.max_bytes = 100}).findings()).code, "E-LIMIT");
  const Findings nodes = parse_json(text, {.max_nodes = 3}).findings();
  EXPECT_EQ(test::only(nodes).code, "E-LIMIT");
  EXPECT_EQ(nodes.kind(), ErrorKind::limit);
  EXPECT_EQ(test::only(parse_json(text, {.max_depth = 3}).findings()).code, "E-LIMIT");
  EXPECT_FALSE(parse_json(std::string(10'000'000, '[')));
  EXPECT_FALSE(parse_json("{\"inputs\":" + std::string(10'000'000, '[')));
  EXPECT_FALSE(parse_json("{\"inputs\":[{\"name\":" + std::string(10'000'000, '{')));
}

// The code of the first finding says on which side of a limit a text lies.
std::string first_code(const std::string& text, const JsonLimits& limits = {}) {
  const Result<Graph> graph = parse_json(text, limits);
  return graph ? std::string() : std::string(graph.findings()[0].code);
}

std::string with_items(const std::string& list, int64_t count) {
  std::string text = "{\"cohort\":1,\"name\":\"\",\"" + list + "\":[{}";
  for (int64_t i = 1; i < count; ++i) text += ",{}";
  return text + "]}";
}

TEST(Limits, AsTheyAreWhenNothingElseIsSaid) {
  EXPECT_EQ(first_code(std::string((size_t{64} << 20) + 1, ' ')), "E-LIMIT");
  EXPECT_EQ(first_code(std::string(size_t{64} << 20, ' ')), "E-JSON");
  for (const std::string list : {"dims", "inputs", "nodes", "outputs"}) {
    EXPECT_EQ(first_code(with_items(list, 1'000'001)), "E-LIMIT") << list;
  }
  // The other lists are not there.
  EXPECT_EQ(first_code(with_items("nodes", 1'000'000)), "E-KEY");
}

TEST(Limits, KeysAndEntriesOfAnItem) {
  const auto item = [](const std::string& members) {
    return "{\"cohort\":1,\"name\":\"\",\"dims\":[],\"nodes\":[],\"outputs\":[],\"inputs\":[{" +
           members + "}]}";
  };
  const auto keys = [&](int count) {
    std::string members = "\"k\":0";
    for (int i = 1; i < count; ++i) members += ",\"k" + std::to_string(i) + "\":0";
    return first_code(item(members));
  };
  EXPECT_EQ(keys(64), "E-KEY");
  EXPECT_EQ(keys(65), "E-LIMIT");
  const auto entries = [&](int count) {
    std::string list = "\"strides\":[1";
    for (int i = 1; i < count; ++i) list += ",1";
    return parse_json(item(list + "]")).findings();
  };
  EXPECT_NE(entries(64).kind(), ErrorKind::limit);
  EXPECT_EQ(entries(65).kind(), ErrorKind::limit);
}

TEST(Refused, WhatIsNoObjectIsAnotherKindOfFile) {
  for (const std::string text : {"[]", "[1, 2]", "[{}]", "7", "1.5", "true", "null", "\"x\""}) {
    const Findings f = parse_json(text).findings();
    EXPECT_EQ(test::only(f).code, "E-JSON") << text;
    EXPECT_EQ(f.kind(), ErrorKind::file) << text;
  }
  EXPECT_EQ(parse_json(std::string(1 << 20, '[')).findings().kind(), ErrorKind::file);
  EXPECT_EQ(parse_json("{}").findings().kind(), ErrorKind::invalid_graph);
  EXPECT_EQ(parse_json("{\"dims\":[[]]}").findings().kind(), ErrorKind::invalid_graph);
  EXPECT_EQ(parse_json("{\"dims\":7}").findings().kind(), ErrorKind::invalid_graph);
}

// The format is four deep, so what is deeper stands where nothing may.
TEST(Limits, StructureIsRefusedBeforeDepth) {
  const std::string deep = "{\"inputs\":[{\"shape\":[[[[[[[[1]]]]]]]]}]}";
  for (const int32_t depth : {5, 32}) {
    EXPECT_EQ(first_code(deep, {.max_depth = depth}), "E-JSON") << depth;
  }
  EXPECT_EQ(first_code(deep, {.max_depth = 4}), "E-LIMIT");
}

TEST(Refused, WhatStopsTheReadingIsTheOnlyFinding) {
  // Each stands before a second mistake, an op that there is none of.
  const std::string text = with(sample(), "\"op\":\"relu_squared\"", "\"op\":\"nobody\"");
  for (const auto& [from, to] : {std::pair{"\"name\":\"fc1\"", "\"extra\":2,\"name\":\"fc1\""},
                                 {"\"bound\":4096", "\"bound\":9223372036854775808"},
                                 {"\"bound\":4096", "\"bound\":1e999"},
                                 {"\"cohort\":1", "\"cohort\":2"}}) {
    const Findings stopped = parse_json(with(text, from, to)).findings();
    EXPECT_NE(test::only(stopped).code, "E-OP") << to;
  }
  const Findings both = parse_json(with(text, "\"bound\":4096", "\"bound\":-1")).findings();
  EXPECT_GE(both.total(), 2) << both.text();
}

TEST(Limits, ManyKeysCostNoMoreThanFew) {
  std::string item =
      "{\"cohort\":1,\"name\":\"\",\"dims\":[],\"nodes\":[],\"outputs\":[],\"inputs\":[{";
  for (int i = 0; i < 1'000'000; ++i) item += "\"k" + std::to_string(i) + "\":0,";
  const Findings findings = parse_json(item + "\"z\":0}]}").findings();
  EXPECT_EQ(test::only(findings).code, "E-LIMIT");
}

// A quadratic reader would need minutes and pass the time that ctest gives a test.
TEST(Limits, ManyMistakesAreCounted) {
  std::string text = "{\"cohort\":1,\"name\":\"\",\"dims\":[";
  for (int i = 0; i < 100'000; ++i) {
    text +=
        (i == 0 ? "" : ",") + std::string("{\"name\":\"d") + std::to_string(i) + "\",\"bound\":1}";
  }
  text += "],\"inputs\":[";
  for (int i = 0; i < 1000; ++i) {
    text += (i == 0 ? "" : ",") + std::string("{\"name\":\"some_long_name_") + std::to_string(i) +
            "\",\"role\":\"scalar\",\"shape\":[1],\"dtype\":\"f32\"}";
  }
  text += "],\"nodes\":[";
  for (int i = 0; i < 100'000; ++i) {
    text += (i == 0 ? "" : ",") + std::string("{\"op\":\"load\",\"x\":\"some_lang_name\"}");
  }
  const Findings findings = parse_json(text + "],\"outputs\":[]}").findings();
  EXPECT_EQ(findings.size(), 100);
  EXPECT_GE(findings.total(), 100'000);
}

TEST(Truncated, AtEveryByteIsRefused) {
  const std::string text = sample();
  const size_t end = text.find_last_not_of('\n') + 1;
  for (size_t n = 0; n < end; ++n) {
    const Result<Graph> g = parse_json(std::string_view(text).substr(0, n));
    ASSERT_FALSE(g) << n;
    ASSERT_GE(g.findings().total(), 1) << n;
  }
  EXPECT_FALSE(parse_json(text + "x"));
}

// Whatever is read is a fixed point: its text reads back as the same text.
TEST(Mutated, TextsAreRefusedOrAreGraphs) {
  std::vector<std::string> texts = test::every_graph();
  texts.push_back(sample());
  std::mt19937_64 random(20260901);
  const std::string_view bytes = "0123456789-+.eE\"{}[],:nulltrue%\\\x80\xFF ";
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string t = texts[random() % texts.size()];
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int c = 0; c < changes; ++c) {
      const size_t at = random() % t.size();
      switch (random() % 4) {
        case 0:
          t[at] = bytes[random() % bytes.size()];
          break;
        case 1:
          t.erase(at, 1 + random() % 8);
          break;
        case 2:
          t.insert(at, 1, bytes[random() % bytes.size()]);
          break;
        default:
          t.insert(at, t.substr(random() % t.size(), random() % 24));
      }
      if (t.empty()) t = "x";
    }
    const Result<Graph> g = parse_json(t);
    if (!g) {
      ASSERT_GE(g.findings().total(), 1) << t;
      ASSERT_FALSE(g.findings().text().empty()) << t;
      continue;
    }
    ++accepted;
    const std::string json(g->json());
    const Result<Graph> again = parse_json(json);
    ASSERT_TRUE(again) << t << again.findings().text();
    ASSERT_EQ(again->json(), json) << t;
  }
  EXPECT_GT(accepted, 100);  // otherwise the mutations prove nothing
}

}  // namespace
}  // namespace cohort
