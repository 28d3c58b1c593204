// Runs the conformance list on the engines, and demands that it covers the op records.
#include <bit>
#include <cstdio>
#include <map>

#include "engine/run_case.h"
#include "ir/graph.h"
#include "ir/op_record.h"

namespace cohort::test::conformance {
namespace {

using Kind = ir::FieldValue::Kind;

// ---- engines

/// How an engine runs one graph. A new engine is one more of these.
struct Runner {
  std::string engine;
  Device device = Device::cpu();
};
enum class Outcome : uint8_t { done, declined };

const std::vector<Runner>& runners() {
  static const std::vector<Runner> all{{"reference"}};
  return all;
}

// Plans, fills, runs and checks; `spoil` may change the outputs before the check.
Outcome run(const Runner& runner, Case& c, const Graph& graph, std::string& failure,
            const std::function<void(Tensors&)>& spoil = {}) {
  const Result<Plan> plan = make_plan(graph, runner.device, {.engine = runner.engine});
  if (!plan) return Outcome::declined;
  failure = run_case(c, graph, *plan, {.spoil = spoil});
  return Outcome::done;
}

std::string label(const Entry& e) { return e.op + "." + e.name; }

const std::vector<Entry>& sorted_entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> list = entries();
    std::sort(list.begin(), list.end(),
              [](const Entry& a, const Entry& b) { return label(a) < label(b); });
    return list;
  }();
  return all;
}

class Conformance : public ::testing::TestWithParam<std::tuple<Runner, Entry>> {};

TEST_P(Conformance, Case) {
  const auto& [runner, entry] = GetParam();
  int ran = 0;
  for (const Situation s : kSituations) {
    SCOPED_TRACE(std::string(name(s)));
    Prepared p(entry, s);
    if (p.made.skipped()) continue;
    const Graph graph = p.made.finish();
    std::string failure;
    if (run(runner, p.made, graph, failure) == Outcome::declined) continue;
    EXPECT_EQ("", failure);
    ++ran;
  }
  RecordProperty("situations", ran);
  if (ran == 0) GTEST_SKIP() << runner.engine << " declines " << label(entry);
}

INSTANTIATE_TEST_SUITE_P(List, Conformance,
                         ::testing::Combine(::testing::ValuesIn(runners()),
                                            ::testing::ValuesIn(sorted_entries())),
                         [](const auto& at) {
                           const Entry& e = std::get<1>(at.param);
                           return std::get<0>(at.param).engine + "_" + e.op + "_" + e.name;
                         });

// ---- what the list covers

// "d_glu result dprob"; the main result has no name.
std::string result_of(const ir::OpRecord& op, size_t port) {
  return std::string(op.name) + " result " + op.results[port].name;
}

// Everything that some case covers: "op", "op.field given", "op.field=word", "op.field as role",
// "op: situation", and facts about inputs and outputs. A case covers its own op only.
class Coverage {
 public:
  Coverage() {
    for (const Entry& e : sorted_entries()) {
      for (const Situation s : kSituations) {
        Prepared p(e, s);
        if (p.made.skipped()) continue;
        const Graph graph = p.made.finish();
        const ir::Graph& g = *detail::Access::graph(graph);
        bool holds = false;
        for (const ir::Node& n : g.nodes) {
          if (n.op->name != e.op) continue;
          holds = true;
          node(g, n);
        }
        EXPECT_TRUE(holds) << label(e) << " holds no " << e.op;
        EXPECT_FALSE(p.made.expected().empty()) << label(e) << " expects nothing";
        add(e.op + ": " + std::string(name(s)));
        stored(g);
      }
    }
  }
  [[nodiscard]] bool has(const std::string& what) const { return all_.count(what) != 0; }
  [[nodiscard]] size_t size() const { return all_.size(); }

 private:
  void add(const std::string& what) { all_.insert(what); }

  void node(const ir::Graph& g, const ir::Node& n) {
    const std::string op = n.op->name;
    add(op);
    for (size_t p = 0; p < n.op->results.size(); ++p) {
      if (g.values[static_cast<size_t>(n.first_result) + p].uses > 0) add(result_of(*n.op, p));
    }
    for (size_t f = 0; f < n.op->fields.size(); ++f) {
      const ir::FieldRecord& record = n.op->fields[f];
      const ir::FieldValue& v = g.fields[static_cast<size_t>(n.first_field) + f];
      const std::string field = op + "." + record.name;
      if (v.kind == Kind::none) {
        add(field + " absent");
        continue;
      }
      if (v.kind == Kind::choice) {
        add(field + "=" + std::string(record.word(static_cast<int>(v.integer))));
      } else if (v.kind == Kind::flag) {
        add(field + (v.integer != 0 ? "=true" : "=false"));
      } else if (v.kind == Kind::value) {
        const ir::Value& operand = g.values[static_cast<size_t>(v.value)];
        const std::string as = field + " as " + std::string(name(operand.role));
        add(as);
        if (operand.scaled && operand.role != Role::value) {
          add(as + " " + std::string(name(operand.scaled->format)));
        }
      } else if (v.kind == Kind::number) {
        add(field + " by value");
      }
      if (record.must_give || !(v == record.initial)) add(field + " given");
    }
  }

  void stored(const ir::Graph& g) {
    for (const ir::Input& i : g.inputs) {
      const ir::Value& v = g.values[static_cast<size_t>(i.value)];
      const std::string role(name(v.role));
      add(role + " of " + std::string(name(v.dtype)));
      if (v.strides.rank() > 0) add(role + " with strides");
      if (v.role == Role::groups) {
        add("groups " + std::string(name(v.form)) + " " + std::string(name(v.dtype)));
      }
      if (v.role == Role::weights || v.role == Role::weight_pointers) {
        add(role + " " + std::string(name(v.major)) + "-major");
      }
      if (!v.scaled) continue;
      add(role + " " + std::string(name(v.scaled->format)));
      add(role + " " + std::string(name(v.scaled->layout)));
      add(role + " " + std::string(name(v.scaled->axis)) + " blocks " +
          std::string(name(v.scaled->storage)));
    }
    for (const ir::Output& o : g.outputs) {
      add("output tail " + std::string(name(o.tail)));
      add("output of " + std::string(name(o.dtype)));
      if (o.strides.rank() > 0) add("output with strides");
      if (o.discrete) add("output discrete of " + std::string(name(o.dtype)));
      if (o.scatter == ir::kNone) continue;
      add("output scattered, tail " + std::string(name(o.tail)));
      add(o.slot == ir::kNone ? "output scattered without slot" : "output scattered with slot");
      if (o.top_k > 1) add("output scattered with top_k");
    }
  }

  std::set<std::string> all_;
};

const Coverage& coverage() {
  static const Coverage c;
  return c;
}

bool is_refused(const std::string& op, const std::string& field, const std::string& word) {
  for (const RefusedWords& r : refused_words()) {
    if (r.op != op || r.field != field) continue;
    if ((" " + r.words + " ").find(" " + word + " ") != std::string::npos) return true;
  }
  return false;
}

// Whether operands of that role have scales in that field. Gradients are added to plain numbers:
// WgradScaled.Findings.
bool is_quantised(const std::string& field, Role role) {
  return field != "grouped_wgrad.accumulate" &&
         (role == Role::scaled_tensor || role == Role::weights || role == Role::weight_pointers);
}

// What the op records demand of the list.
std::vector<std::string> demands_of_ops() {
  std::vector<std::string> all;
  for (const ir::OpRecord* op : ir::all_ops()) {
    const std::string name = op->name;
    all.push_back(name);
    for (size_t p = 0; p < op->results.size(); ++p) all.push_back(result_of(*op, p));
    for (const Situation s : kSituations) {
      all.push_back(name + ": " + std::string(conformance::name(s)));
    }
    for (const ir::FieldRecord& f : op->fields) {
      const std::string field = name + "." + f.name;
      if (!f.is_required) all.push_back(field + " absent");
      all.push_back(field + (f.kind == Kind::flag ? "=true" : " given"));
      if (f.kind == Kind::flag) all.push_back(field + "=false");
      if (f.kind == Kind::number) all.push_back(field + " by value");
      for (int w = 0; f.kind == Kind::choice && w < 64; ++w) {
        const std::string word(f.word(w));
        if (!word.empty() && !is_refused(name, f.name, word)) all.push_back(field + "=" + word);
      }
      for (int r = 0; !cohort::name(static_cast<Role>(r)).empty(); ++r) {
        const bool may = (f.roles & ir::role_bit(static_cast<Role>(r))) != 0;
        const std::string as = std::string(cohort::name(static_cast<Role>(r)));
        const bool takes_handles = f.kind == Kind::value || f.kind == Kind::number;
        if (may && takes_handles) all.push_back(field + " as " + as);
        if (may && is_quantised(field, static_cast<Role>(r))) {
          for (int x = 0; !cohort::name(static_cast<Format>(x)).empty(); ++x) {
            all.push_back(field + " as " + as + " " +
                          std::string(cohort::name(static_cast<Format>(x))));
          }
        }
      }
    }
  }
  return all;
}

// What the vocabulary of types.h demands.
std::vector<std::string> demands_of_types() {
  std::vector<std::string> all{
      "output tail leave",    "output tail zero",        "output with strides",
      "tensor with strides",  "weights k-major",         "weights n-major",
      "weights with strides", "weight_pointers k-major", "weight_pointers n-major"};
  for (const char* output :
       {"discrete of f32", "discrete of bf16", "scattered, tail leave", "scattered, tail zero",
        "scattered with slot", "scattered without slot", "scattered with top_k"}) {
    all.push_back("output " + std::string(output));
  }
  for (int i = 0; !name(static_cast<GroupForm>(i)).empty(); ++i) {
    for (const char* type : {" i32", " i64"}) {
      const auto form = static_cast<GroupForm>(i);
      if (form == GroupForm::whole && std::string_view(type) == " i64") continue;  // no integers
      all.push_back("groups " + std::string(name(form)) + type);
    }
  }
  for (int i = 0; !name(static_cast<Format>(i)).empty(); ++i) {
    for (const char* role : {"scaled_tensor ", "weights ", "weight_pointers "}) {
      all.push_back(role + std::string(name(static_cast<Format>(i))));
    }
  }
  for (int i = 0; !name(static_cast<ScaleLayout>(i)).empty(); ++i) {
    all.push_back("scaled_tensor " + std::string(name(static_cast<ScaleLayout>(i))));
  }
  for (const char* layout : {"linear", "tiled_128x4"})
    all.push_back("weights " + std::string(layout));
  for (const char* s :
       {"row blocks as_rows", "col blocks as_rows", "col blocks transposed", "col blocks ragged"}) {
    all.push_back("scaled_tensor " + std::string(s));
  }
  for (const char* type : {"f32", "f16", "bf16"}) {
    for (const char* role : {"tensor of ", "weights of ", "output of ", "row_vec of ",
                             "col_vec of ", "group_vec of ", "group_mat of "}) {
      all.push_back(role + std::string(type));
    }
  }
  for (const char* type : {"e4m3", "e5m2"}) {
    for (const char* role : {"output of ", "scaled_tensor of ", "weights of "}) {
      all.push_back(role + std::string(type));
    }
  }
  for (const char* type : {"f32", "bf16"}) {
    all.push_back("scalar of " + std::string(type));
  }
  for (const char* type : {"index of i32", "index of i64", "scalar of i64"}) all.push_back(type);
  return all;
}

TEST(ConformanceList, CoversEveryOpFieldRoleWordAndSituation) {
  std::vector<std::string> demands = demands_of_ops();
  int missing = 0;
  for (const std::string& d : demands) {
    if (coverage().has(d)) continue;
    ++missing;
    ADD_FAILURE() << "no case covers: " << d;
  }
  std::printf("%zu demands of the op records, %d without a case\n", demands.size(), missing);
}

TEST(ConformanceList, CoversEveryFormatLayoutGroupFormAndTail) {
  for (const std::string& d : demands_of_types()) {
    EXPECT_TRUE(coverage().has(d)) << "no case covers: " << d;
  }
}

// A demand that is not met would be noticed.
TEST(ConformanceList, NoticesWhatIsMissing) {
  EXPECT_FALSE(coverage().has("alpha.by as row_vec"));
  EXPECT_FALSE(coverage().has("unary.mode=no_such_word"));
  EXPECT_FALSE(coverage().has("glu result dprob"));
  EXPECT_GT(demands_of_ops().size(), ir::all_ops().size() * 6);
}

// The words that a file says no graph holds are refused in every case of the op, or left out.
TEST(ConformanceList, RefusedWordsAreRefused) {
  std::set<std::string> left_out;
  for (const RefusedWords& r : refused_words()) {
    const ir::OpRecord* op = ir::find_op(r.op);
    ASSERT_NE(nullptr, op) << r.op;
    const int f = op->field_index(r.field);
    ASSERT_GE(f, 0) << r.op << "." << r.field;
    for (const Entry& e : sorted_entries()) {
      if (e.op != r.op) continue;
      Prepared p(e, Situation::usual);
      if (p.made.skipped()) continue;
      const std::string json(p.made.finish().json());
      const size_t node = json.find("\"op\":\"" + r.op + "\"");
      const std::string key = "\"" + r.field + "\":";
      const size_t at = json.find(key, node) + key.size();
      const size_t end = json.find_first_of(",}", at);
      for (size_t from = 0; from < r.words.size();) {
        const size_t to = std::min(r.words.find(' ', from), r.words.size());
        const std::string word = r.words.substr(from, to - from);
        from = to + 1;
        const std::string changed = json.substr(0, at) + "\"" + word + "\"" + json.substr(end);
        const Result<Graph> graph = parse_json(changed);
        if (graph && r.is_left_out) {
          EXPECT_EQ(graph->json().substr(at, 5), "null,") << label(e) << ": " << word;
          left_out.insert(r.field + " " + word);
        } else {
          EXPECT_FALSE(graph) << label(e) << ": " << r.field << " " << word;
        }
      }
    }
  }
  EXPECT_EQ(left_out,
            (std::set<std::string>{"element e2m1", "element e4m3", "row_layout tiled_128x4"}));
}

// ---- the list itself can fail

// An engine that writes something else to an output fails the case.
TEST(ConformanceList, EveryCaseLooksAtEveryOutput) {
  for (const Entry& e : sorted_entries()) {
    Prepared first(e, Situation::usual);
    if (first.made.skipped()) continue;
    for (size_t x = 0; x < first.made.expected().size(); ++x) {
      Prepared p(e, Situation::usual);
      const Graph graph = p.made.finish();
      const std::string output = p.made.expected()[x].name;
      std::string failure;
      run(runners()[0], p.made, graph, failure, [&](Tensors& t) {
        if (t.view(output).dtype == DType::i64) {  // what the last pointer points to
          const int64_t last = t.values<int64_t>(output).back();
          *std::bit_cast<uint8_t*>(last) ^= 0x41;
          return;
        }
        auto* data = t.data<uint8_t>(output);
        for (int64_t b = 0; b < t.bytes(output); ++b) data[b] ^= 0x41;
      });
      EXPECT_NE(failure.find(output), std::string::npos)
          << label(e) << " does not look at " << output << ": " << failure;
    }
  }
}

TEST(ConformanceList, CountsWhatIsDeclined) {
  for (const Runner& r : runners()) {
    int declined = 0;
    int total = 0;
    for (const Entry& e : sorted_entries()) {
      Prepared p(e, Situation::usual);
      ++total;
      if (!make_plan(p.made.finish(), r.device, {.engine = r.engine})) ++declined;
    }
    std::printf("%s: %d of %d cases declined\n", r.engine.c_str(), declined, total);
    if (r.engine == "reference") {
      EXPECT_EQ(0, declined);
    }
  }
}

}  // namespace
}  // namespace cohort::test::conformance
