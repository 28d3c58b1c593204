#include "fuzz/verdict.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <set>
#include <vector>

#include <cohort/cohort.h>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "ir/canonical.h"
#include "ir/graph.h"
#include "ir/op_record.h"

namespace cohort::test {

namespace {

constexpr int64_t kMostBytes = 1 << 20;

// The keys that an item of "inputs", "nodes", "outputs" or "dims" may have.
std::set<std::string, std::less<>> keys_of(std::string_view section) {
  if (section == "dims") return {"name", "bound"};
  if (section == "nodes") {
    std::set<std::string, std::less<>> keys{"op", "in"};
    for (const ir::OpRecord* op : ir::all_ops()) {
      for (const ir::FieldRecord& f : op->fields) keys.emplace(f.name);
    }
    return keys;
  }
  std::set<std::string, std::less<>> keys{"name", section == "inputs" ? "role" : "value"};
  if (section == "outputs") {
    for (const ir::OutputKey k : ir::output_keys()) keys.emplace(ir::name(k));
    return keys;
  }
  for (int role = 0; !name(static_cast<Role>(role)).empty(); ++role) {
    for (const ir::InputKey k : ir::input_keys(static_cast<Role>(role))) keys.emplace(ir::name(k));
  }
  return keys;
}

// Whether something stands where a finding points to, or a key that may stand there is missing.
bool leads_somewhere(const nlohmann::json& text, const std::string& path) {
  if (path == "/") return true;
  const nlohmann::json::json_pointer place(path);
  if (text.contains(place)) return true;
  const auto parent = place.parent_pointer();
  if (!text.contains(parent) || !text.at(parent).is_object()) return false;
  const std::string key = place.back();
  if (parent.empty()) return true;
  // Findings are text: of a long key they show the beginning, and what a terminal would act on as
  // "\\x09".
  constexpr size_t kShown = 64;
  for (const auto& [given, value] : text.at(parent).items()) {
    std::string shown = given;
    base::make_printable(shown);
    if (shown == key || (given.size() > kShown && shown.starts_with(key))) return true;
  }
  return keys_of(path.substr(1, path.find('/', 1) - 1)).contains(key);
}

// Findings that say nothing are as bad as none.
std::string findings_problem(const Findings& findings, std::string_view json) {
  const auto read = nlohmann::json::parse(json, nullptr, false);
  if (findings.total() < 1 || findings.size() < 1) return "refused without a finding";
  for (const Finding& f : findings) {
    const std::string text(f.message);
    const bool is_syntax = findings.kind() == ErrorKind::file;
    if (f.code.substr(0, 2) != "E-") return "a finding without a code: " + text;
    if (f.code == "E-INTERNAL" || f.code == "E-MEMORY") return std::string(f.code) + ": " + text;
    if (text.empty()) return "a finding without a message: " + std::string(f.code);
    if (f.got.empty()) return "a finding that does not say what it got: " + text;
    if (is_syntax) continue;
    if (f.wanted.empty()) return "a finding that does not say what is wanted: " + text;
    if (f.where.empty() || f.where[0] != '/') return "a finding without a path: " + text;
    if (!read.is_discarded() && !leads_somewhere(read, std::string(f.where))) {
      return "a finding about nothing in the text: " + std::string(f.where) + ": " + text;
    }
  }
  return {};
}

const ir::Value& value_of(const ir::Graph& g, int32_t number) {
  return g.values[static_cast<size_t>(number)];
}

// What an operand of a chain must have in common with the piped value, whatever the op.
std::string operand_problem(const ir::Value& v, const ir::Value& in) {
  switch (v.role) {
    case Role::row_vec:
      return v.shape[0] == in.shape[0] ? "" : ": rows differ";
    case Role::col_vec:
      return v.shape[0] == in.shape[1] ? "" : ": columns differ";
    case Role::group_mat:
      return v.shape[1] == in.shape[1] ? "" : ": columns of a group matrix differ";
    case Role::value:
      if (!(v.shape[0] == in.shape[0])) return ": rows of a value differ";
      return v.groups == ir::kNone || in.groups == ir::kNone || v.groups == in.groups
                 ? ""
                 : ": groups differ";
    default:
      return {};
  }
}

// Relations that follow from roles alone, whatever the op: looked at apart from the shape rules.
std::string extents_problem(const ir::Graph& g) {
  for (const ir::Value& v : g.values) {
    if (v.faulty) return "a faulty value in a finished graph";
    for (int d = 0; d < v.shape.rank; ++d) {
      const ir::Extent& e = v.shape[d];
      if (e.bound < 0 || e.bound > ir::kMaxExtent) return "an extent out of range";
      const bool known = e.symbol == ir::kNone || e.symbol < static_cast<int>(g.symbols.size());
      if (!known ||
          (e.symbol != ir::kNone && g.symbols[static_cast<size_t>(e.symbol)].bound != e.bound)) {
        return "an extent of no dim";
      }
    }
    if (v.role == Role::value && v.shape.rank != 2) return "a value that is no matrix";
  }
  for (const ir::Node& n : g.nodes) {
    const std::string op = n.op->name;
    int32_t groups = ir::kNone;
    for (size_t f = 0; f < n.op->fields.size(); ++f) {
      const ir::FieldRecord& record = n.op->fields[f];
      const ir::FieldValue& field = g.fields[static_cast<size_t>(n.first_field) + f];
      const std::string name = op + "." + record.name;
      if (field.kind == ir::FieldValue::Kind::none && record.is_required) return name + " absent";
      if (field.kind != ir::FieldValue::Kind::value) continue;
      const ir::Value& v = value_of(g, field.value);
      if (v.node != ir::kNone && v.node >= static_cast<int>(&n - g.nodes.data())) {
        return name + " of a later node";
      }
      if ((record.roles & ir::role_bit(v.role)) == 0) return name + " has a role it may not have";
      if (v.absent) return name + " is a result that was not asked for";
      if (n.in == ir::kNone) continue;
      const ir::Value& in = value_of(g, n.in);
      const std::string problem = operand_problem(v, in);
      if (!problem.empty()) return name + problem;
      if (v.role != Role::value || v.groups == ir::kNone) continue;
      // Two operands may have groups where the piped value has none.
      if (groups != ir::kNone && groups != v.groups) return name + ": groups of operands differ";
      groups = v.groups;
    }
  }
  return {};
}

// Where pointers point to: a matrix of a small graph has less than 2^20 elements of 4 bytes.
void* block_of_any_matrix(bool is_output) {
  alignas(4096) static std::byte blocks[2][4 << 20];
  return blocks[is_output ? 1 : 0];
}

// Memory for all tensors of a graph.
class Arena {
 public:
  Arena(const Graph& graph, const Plan& plan, Sizes sizes, uint64_t seed, int64_t rows)
      : random_(seed) {
    const ir::Graph& g = *detail::Access::graph(graph);
    for (int32_t i = 0; i < graph.tensor_count() && good_; ++i) {
      const Result<TensorInfo> info = plan.tensor(i, graph, sizes);
      good_ = info && info->bytes <= kMostBytes;
      if (!good_) return;
      // Exactly as many bytes as promised, so that a sanitizer sees one too many.
      const auto bytes = static_cast<size_t>(info->bytes);
      void* memory = nullptr;
      if (bytes > 0 && ::posix_memalign(&memory, 4096, bytes) != 0) throw std::bad_alloc();
      buffers_.emplace_back(memory);
      TensorView v;
      v.data = buffers_.back().p;
      v.dtype = info->dtype;
      v.rank = info->rank;
      std::memcpy(v.shape, info->shape, sizeof v.shape);
      std::memcpy(v.strides, info->strides, sizeof v.strides);
      fill(g, i, v, static_cast<int64_t>(bytes), rows);
      tensors.push_back({graph.tensor_name(i), v});
    }
  }
  [[nodiscard]] bool good() const { return good_; }
  std::vector<NamedTensor> tensors;

 private:
  struct Buffer {
    explicit Buffer(void* memory) : p(memory) {}
    Buffer(Buffer&& other) noexcept : p(other.p) { other.p = nullptr; }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer() { std::free(p); }
    void* p;
  };

  static void put(const TensorView& v, int64_t i, int64_t x) {
    if (v.dtype == DType::i64) {
      static_cast<int64_t*>(v.data)[i] = x;
    } else {
      static_cast<int32_t*>(v.data)[i] = static_cast<int32_t>(x);
    }
  }

  void fill(const ir::Graph& g, int32_t index, const TensorView& v, int64_t bytes, int64_t rows) {
    const ir::TensorPart& part = g.tensors[static_cast<size_t>(index)];
    if (bytes == 0) return;
    const auto number = static_cast<size_t>(part.index);
    const bool is_discrete =
        part.is_output ? g.outputs[number].discrete
                       : value_of(g, g.inputs[number].value).role == Role::weight_pointers;
    if (is_discrete) {
      void* const to = block_of_any_matrix(part.is_output);
      for (int64_t e = 0; e < v.shape[0]; ++e) std::memcpy(static_cast<void**>(v.data) + e, &to, 8);
      return;
    }
    if (part.is_output) {
      std::memset(v.data, 0xA5, static_cast<size_t>(bytes));
      return;
    }
    const ir::Value& value = value_of(g, g.inputs[number].value);
    if (value.role == Role::groups) {
      std::memset(v.data, 0, static_cast<size_t>(bytes));
      const bool is_last = value.form != GroupForm::starts && value.form != GroupForm::slots;
      const bool is_used = part.kind == ir::TensorPart::Kind::used;
      if (is_last || is_used) put(v, v.shape[0] - 1, rows);
      return;
    }
    if (v.dtype == DType::i32 || v.dtype == DType::i64) {
      // Each row to a place of its own, as scattering wants it; one row for all is as good a
      // gather.
      const auto is_of = [&](int32_t ir::Output::*member) {
        return std::any_of(g.outputs.begin(), g.outputs.end(), [&](const ir::Output& o) {
          return o.*member == g.inputs[number].value;
        });
      };
      const bool counts =
          is_of(&ir::Output::scatter) || (!is_of(&ir::Output::slot) && (random_() & 1) != 0);
      int64_t elements = 1;
      for (int d = 0; d < v.rank; ++d) elements *= v.shape[d];
      for (int64_t e = 0; e < elements; ++e) put(v, e, counts ? e : 0);
      return;
    }
    auto* p = static_cast<uint8_t*>(v.data);
    for (int64_t b = 0; b < bytes; ++b) p[b] = static_cast<uint8_t>(random_() & 0x3F);
  }

  std::mt19937_64 random_;
  std::vector<Buffer> buffers_;
  bool good_ = true;
};

// Few enough multiplications for a run of a moment.
bool is_small(const ir::Graph& g) {
  double work = 0;
  int64_t largest = 1;
  for (const ir::Value& v : g.values) {
    double elements = 1;
    for (int d = 0; d < v.shape.rank; ++d) {
      if (v.shape[d].symbol != ir::kNone) continue;
      largest = std::max(largest, v.shape[d].bound);
      elements *= static_cast<double>(std::max<int64_t>(v.shape[d].bound, 1));
    }
    work += elements;
  }
  return work < 1e6 && largest <= 4096;
}

void run(const Graph& graph, const Plan& plan, uint64_t seed, Verdict& verdict) {
  const ir::Graph& g = *detail::Access::graph(graph);
  if (!is_small(g)) return;
  constexpr int64_t kRows[] = {0, 2, 16, 32, 33, 64};
  std::vector<Size> sizes;
  int64_t rows = 0;
  for (const ir::Symbol& s : g.symbols) {
    rows = std::min(s.bound, kRows[seed % std::size(kRows)]);
    sizes.push_back({s.name, rows});
  }
  const Arena arena(graph, plan, sizes, seed, rows);
  if (!arena.good()) return;
  const Result<Execution> execution = plan.bind(graph, sizes, arena.tensors);
  if (!execution) {
    const std::string_view code = execution.findings()[0].code;
    // Named extents may be odd where pairs are packed; all else fits by construction.
    if (code != "E-SHAPE") verdict.problem = std::string(execution.findings().text());
    return;
  }
  const int64_t bytes = execution->workspace_bytes();
  if (bytes > 16 * kMostBytes) return;
  std::vector<std::byte> workspace(static_cast<size_t>(bytes) + 512);
  std::byte* p = workspace.data() + (256 - reinterpret_cast<uintptr_t>(workspace.data()) % 256);
  const Status status = execution->run(p);
  verdict.ran = static_cast<bool>(status);
  if (status) return;
  const Findings findings = status.findings();
  const std::set<std::string_view> known{"E-GROUPS", "E-INDEX", "E-SHAPE"};
  if (!known.contains(findings[0].code)) verdict.problem = std::string(findings.text());
}

}  // namespace

Verdict judge(std::string_view text, uint64_t seed) {
  Verdict v;
  const Result<Graph> graph = parse_json(text);
  if (!graph) {
    v.problem = findings_problem(graph.findings(), text);
    return v;
  }
  v.accepted = true;
  const std::string json(graph->json());
  const Result<Graph> again = parse_json(json);
  if (!again) {
    v.problem = "its own text is refused: " + std::string(again.findings().text());
    return v;
  }
  if (again->json() != json) v.problem = "its own text reads as another graph";
  if (!(again->key() == graph->key())) v.problem = "its own text has another key";
  if (v.problem.empty()) v.problem = extents_problem(*detail::Access::graph(*graph));
  if (!v.problem.empty()) return v;
  const Result<Plan> plan = make_plan(*graph, Device::cpu());
  v.planned = static_cast<bool>(plan);
  if (plan) {
    run(*graph, *plan, seed, v);
  } else if (plan.findings().kind() != ErrorKind::unsupported) {
    v.problem = "planning: " + std::string(plan.findings().text());
  }
  return v;
}

}  // namespace cohort::test
