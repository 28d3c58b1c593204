// A conformance case proves what it would notice. Every field of its op gets every other legal
// value that the graph has room for; the result must differ, or the graph must be refused. What
// neither happens to is listed with its reason.
#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "engine/run_case.h"
#include "fuzz/damage.h"

namespace cohort::test {
namespace {

using conformance::Case;
using conformance::Entry;
using conformance::Situation;

// Other values that change nothing, and why that is right.
struct Exception {
  const char* op;
  const char* field;
  bool (*applies)(const Json& node, const Json& other);
  const char* reason;
};

bool is_one_of(const Json& word, const std::set<std::string>& words) {
  return word.is_string() && words.contains(word.get<std::string>());
}
bool has_e2m1(const Json& node) { return is_one_of(node["to"], {"mxfp4", "nvfp4"}); }
bool has_e8m0(const Json& node) {
  return is_one_of(node["to"], {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"});
}
// One of the two is absent, the other one says what absent means.
bool is_default(const Json& now, const Json& other, const std::string& word) {
  return now == Json() ? other == word : now == word && other == Json();
}
bool is_default_element(const Json& node, const Json& other) {
  const bool e5m2 = node["to"] == "mxfp8_e5m2";
  return is_default(node["element"], other, has_e2m1(node) ? "e2m1" : e5m2 ? "e5m2" : "e4m3");
}
bool is_default_layout(const Json& node, const Json& other) {
  const bool f32 = !has_e8m0(node) && node["to"] != "nvfp4";
  return is_default(node["row_layout"], other, f32 ? "linear" : "tiled_128x4");
}

const Exception kExceptions[] = {
    {"glu", "act",
     [](const Json& node, const Json& other) {
       return node["act"] == "swiglu" && other == "geglu" && !node["limit"].is_null();
     },
     "the two differ in their defaults only, and all parameters are given"},
    {"d_glu", "act",
     [](const Json& node, const Json& other) {
       return node["act"] == "swiglu" && other == "geglu" && !node["limit"].is_null();
     },
     "as glu"},
    {"quantize", "element", is_default_element, "absent means that word"},
    {"quantize", "row_layout", is_default_layout, "absent means that word"},
    {"quantize", "axes", [](const Json&, const Json& other) { return other == "both"; },
     "the result that is added is no output"},
    {"quantize", "col_storage",
     [](const Json& node, const Json& other) { return has_e2m1(node) && other == "as_rows"; },
     "columns of e2m1 are kept as transposed"},
    {"quantize", "reciprocal",
     [](const Json& node, const Json& other) { return has_e2m1(node) && other == "approx"; },
     "differs at ties of e2m1 only: approximate_reciprocal has some"},
};

bool is_exception(const Subject& s, const std::string& field, const Json& other,
                  std::set<const Exception*>& used) {
  for (const Exception& e : kExceptions) {
    if (s.op->name != std::string(e.op) || field != e.field) continue;
    if (!e.applies(s.graph["nodes"][s.node], other)) continue;
    used.insert(&e);
    return true;
  }
  return false;
}

using Memory = std::map<std::string, std::vector<uint8_t>>;

// The matrices that the pointers of a discrete output point to.
std::vector<std::span<uint8_t>> pointed(const ir::Graph& g, const ir::Output& o,
                                        const std::vector<uint8_t>& pointers) {
  const ir::Value& v = g.values[static_cast<size_t>(o.value)];
  const int64_t bytes = v.shape[1].bound * v.shape[2].bound * bits(o.dtype) / 8;
  std::vector<std::span<uint8_t>> all;
  for (size_t at = 0; at < pointers.size(); at += sizeof(uint8_t*)) {
    uint8_t* p = nullptr;
    std::memcpy(&p, pointers.data() + at, sizeof p);
    all.emplace_back(p, static_cast<size_t>(bytes));
  }
  return all;
}

// The outputs of a graph that has some of the inputs of the case; nothing when it does not run.
Memory outputs_of(const Graph& graph, const Memory& inputs, int64_t rows) {
  const Result<Plan> plan = make_plan(graph, Device::cpu());
  if (!plan) return {};
  std::vector<Size> sizes;
  if (graph.json().find("{\"name\":\"T\",") != std::string_view::npos) sizes = {{"T", rows}};
  Tensors tensors(graph, *plan, sizes);
  Memory outputs;
  for (int32_t i = 0; i < graph.tensor_count(); ++i) {
    const std::string name(graph.tensor_name(i));
    if (!tensors.infos()[static_cast<size_t>(i)].is_output) tensors.set(name, inputs.at(name));
  }
  const ir::Graph& g = *detail::Access::graph(graph);
  for (const ir::Output& o : g.outputs) {
    if (!o.discrete) continue;
    tensors.set(o.name, inputs.at(o.name));
    for (const auto m : pointed(g, o, inputs.at(o.name))) std::fill(m.begin(), m.end(), kPoison);
  }
  const Result<Execution> e = plan->bind(graph, sizes, tensors.all());
  if (!e) return {};
  Workspace workspace(e->workspace_bytes());
  if (!e->run(workspace.data())) return {};
  for (int32_t i = 0; i < graph.tensor_count(); ++i) {
    const std::string name(graph.tensor_name(i));
    if (tensors.infos()[static_cast<size_t>(i)].is_output) outputs[name] = tensors.raw(name);
  }
  for (const ir::Output& o : g.outputs) {
    if (!o.discrete) continue;
    std::vector<uint8_t>& bytes = outputs[o.name];
    for (const auto m : pointed(g, o, inputs.at(o.name))) {
      bytes.insert(bytes.end(), m.begin(), m.end());
    }
  }
  return outputs;
}

// What can be written where a handle stands: inputs, results of earlier nodes.
std::vector<std::string> handles(const Subject& s) {
  std::vector<std::string> all;
  for (const Json& i : s.graph["inputs"]) all.push_back(i["name"]);
  for (size_t n = 0; n < s.node; ++n) {
    const ir::OpRecord* op = ir::find_op(s.graph["nodes"][n]["op"].get<std::string>());
    for (const ir::ResultRecord& r : op->results) {
      const std::string port = *r.name == 0 ? "" : "." + std::string(r.name);
      all.push_back("%" + std::to_string(n) + port);
    }
  }
  return all;
}

// Other values for a field; most of them legal.
std::vector<Json> others(const Subject& s, const ir::FieldRecord& f) {
  const Json& now = s.graph["nodes"][s.node][f.name];
  std::vector<Json> all;
  if (!f.is_required) all.emplace_back(nullptr);
  switch (f.kind) {
    case Kind::choice:
      for (int w = 0; w < 64; ++w) {
        if (!f.word(w).empty()) all.emplace_back(std::string(f.word(w)));
      }
      break;
    case Kind::flag:
      all.emplace_back(!now.get<bool>());
      break;
    case Kind::integer:
      for (const int64_t i : {0, 1, 2, 3, 4}) all.emplace_back(i);
      break;
    case Kind::real:
      for (const double x : {0.375, 2.0, -0.5}) all.emplace_back(x);
      break;
    case Kind::number:
      for (const double x : {0.375, 3.25, -2.0}) all.emplace_back(x);
      for (const std::string& h : handles(s)) all.push_back(Json::object({{"value", h}}));
      break;
    default:
      for (const std::string& h : handles(s)) all.emplace_back(h);
  }
  std::erase_if(all, [&](const Json& j) { return j == now; });
  return all;
}

// A case with what it reads and writes.
struct Proof {
  explicit Proof(const Entry& entry) : prepared(entry, Situation::usual) {
    const Graph graph = prepared.made.finish();
    const Plan plan = *make_plan(graph, Device::cpu());
    Tensors tensors(graph, plan, conformance::sizes_of(prepared.made));
    prepared.made.fill(tensors);
    for (int32_t i = 0; i < graph.tensor_count(); ++i) {
      const std::string name(graph.tensor_name(i));
      inputs[name] = tensors.raw(name);
    }
    rows = prepared.made.tokens()->rows;
    outputs = outputs_of(graph, inputs, rows);
    EXPECT_FALSE(outputs.empty());
    subject = {ir::find_op(entry.op), entry.op + "." + entry.name, Json::parse(graph.json()), 0};
    for (size_t n = 0; n < subject.graph["nodes"].size(); ++n) {
      if (subject.graph["nodes"][n]["op"] == entry.op) subject.node = n;
    }
  }
  /// Whether another value of a field changes what comes out, or is refused.
  [[nodiscard]] bool notices(const std::string& field, const Json& other) const {
    Json changed = subject.graph;
    subject.at(changed)[field] = other;
    drop_unused(changed);
    const Result<Graph> g = parse_json(changed.dump());
    return !g || outputs_of(*g, inputs, rows) != outputs;
  }

  conformance::Prepared prepared;  // holds what pointers point to
  Memory inputs;
  Memory outputs;
  int64_t rows = 0;
  Subject subject;
};

class Fields : public ::testing::TestWithParam<const ir::OpRecord*> {};

TEST_P(Fields, EachMattersInEveryCase) {
  int64_t noticed = 0;
  std::set<const Exception*> used;
  for (const Entry& entry : conformance::entries()) {
    if (entry.op != GetParam()->name) continue;
    const Proof proof(entry);
    const Subject& s = proof.subject;
    for (const ir::FieldRecord& f : s.op->fields) {
      for (const Json& other : others(s, f)) {
        if (proof.notices(f.name, other)) {
          ++noticed;
        } else if (!is_exception(s, f.name, other, used)) {
          ADD_FAILURE() << s.label << ": " << f.name << " " << s.graph["nodes"][s.node][f.name]
                        << " -> " << other << " changes nothing";
        }
      }
    }
  }
  RecordProperty("noticed", static_cast<int>(noticed));
  EXPECT_GT(noticed, 0);
  for (const Exception& e : kExceptions) {
    if (GetParam()->name != std::string(e.op)) continue;
    EXPECT_TRUE(used.contains(&e)) << e.op << "." << e.field << " needs none: " << e.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Fields,
                         ::testing::ValuesIn(ir::all_ops().begin(), ir::all_ops().end()),
                         [](const auto& at) { return std::string(at.param->name); });

}  // namespace
}  // namespace cohort::test
