#include "validate/validate.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/utf8.h"
#include "ir/op_record.h"
#include "ir/parts.h"
#include "ir/stored.h"
#include "validate/output_rules.h"
#include "validate/part_names.h"
#include "validate/unused.h"

namespace cohort::validate {

using ir::kNone;

namespace {

class Checker {
 public:
  Checker(ir::Recording& recording, Where where)
      : recording_(recording), g_(recording.graph()), where_(where) {}

  void run() {
    name();
    symbol_names();
    for (size_t i = 0; i < g_.outputs.size(); ++i) output(static_cast<int64_t>(i));
    names();
    names_in_files();
    if (g_.outputs.empty()) {
      fail({"outputs", -1, where_}, "", "E-OUTPUT", g_.name, "outputs", "one output or more",
           "none", "the graph has no output: nothing would be computed");
      return;
    }
    // Beyond the findings that are kept, references to nothing are not remembered.
    if (recording_.missed().size() < base::kMaxFindings) unused();
  }

 private:
  void fail(const ir::Place& place, std::string_view key, std::string_view code, std::string op,
            std::string field, std::string wanted, std::string got, std::string message,
            std::string hint = {}) {
    recording_.fail(place, key,
                    {.code = code,
                     .op = std::move(op),
                     .field = std::move(field),
                     .wanted = std::move(wanted),
                     .got = std::move(got),
                     .message = std::move(message),
                     .hint = std::move(hint)});
  }

  void name() {
    if (g_.name.size() <= ir::kMaxName && base::is_clean_utf8(g_.name)) return;
    fail({"name", -1, where_}, "", g_.name.size() > ir::kMaxName ? "E-LIMIT" : "E-NAME", "graph",
         "name", "at most 256 bytes of printable UTF-8", std::to_string(g_.name.size()) + " bytes",
         "the name of the graph has " + std::to_string(g_.name.size()) +
             " bytes, or some that are no printable UTF-8");
  }

  static bool same_item(const ir::TensorPart& a, const ir::TensorPart& b) {
    return a.index == b.index && a.is_output == b.is_output;
  }

  // Names that no tensor has: slots are two others, form whole is none.
  [[nodiscard]] std::vector<ir::TensorPart> names_without_tensors(GroupForm form) const {
    std::vector<ir::TensorPart> all;
    for (size_t i = 0; i < g_.inputs.size(); ++i) {
      const ir::Value& v = g_.values[static_cast<size_t>(g_.inputs[i].value)];
      if (v.role != Role::groups || v.form != form) continue;
      all.push_back({g_.inputs[i].name, false, static_cast<int32_t>(i)});
    }
    return all;
  }

  // Every tensor that a run binds is named: "x", "x.scale". All names are apart, those of inputs
  // without a tensor too: a text refers to them.
  void names() {
    g_.freeze();
    find_most_groups();
    std::unordered_map<std::string_view, const ir::TensorPart*> seen;
    seen.reserve(g_.tensors.size());
    const ir::TensorPart* reported = nullptr;
    const auto take = [&](const ir::TensorPart& part) {
      if (part.name.empty()) return;  // there is a finding about it
      const auto [other, is_new] = seen.emplace(part.name, &part);
      if (is_new || (reported != nullptr && same_item(*reported, part))) return;
      const ir::TensorPart& before = *other->second;
      if (same_item(before, part)) return;
      reported = &part;
      same_name(part, before);
    };
    const std::vector<ir::TensorPart> slots = names_without_tensors(GroupForm::slots);
    const std::vector<ir::TensorPart> whole = names_without_tensors(GroupForm::whole);
    auto slot = slots.begin();
    for (const ir::TensorPart& part : g_.tensors) {
      if (!part.name.empty()) check_size(part);
      // An output may be said to be groups, which is another finding.
      if (part.kind == ir::TensorPart::Kind::begin && !part.is_output) take(*slot++);
      take(part);
    }
    for (const ir::TensorPart& part : whole) take(part);
  }

  void same_name(const ir::TensorPart& part, const ir::TensorPart& before) {
    const auto index = static_cast<size_t>(part.index);
    // Nobody can mean it by its name: that it is unused is no second mistake.
    if (!part.is_output) g_.values[static_cast<size_t>(g_.inputs[index].value)].uses += 1;
    const Where where = part.is_output ? g_.outputs[index].where : g_.inputs[index].where;
    fail({part.is_output ? "outputs" : "inputs", part.index, where}, "name", "E-NAME", part.name,
         "name", "a name of its own", part.name,
         "a tensor named '" + part.name + "' exists already: " +
             (before.is_output ? "output " : "input ") + std::to_string(before.index));
  }

  // Files give names to parts of tensors: "w.0" and "w.0.scale" to matrices behind pointers,
  // "y.init" to the first content of an output. A tensor of such a name could not be told from the
  // part.
  void names_in_files() {
    const PartNames parts(g_);
    const ir::TensorPart* reported = nullptr;
    for (const ir::TensorPart& part : g_.tensors) {
      const std::string_view meaning = parts.meaning(part.name);
      if (meaning.empty() || (reported != nullptr && same_item(*reported, part))) continue;
      reported = &part;
      const auto index = static_cast<size_t>(part.index);
      const Where where = part.is_output ? g_.outputs[index].where : g_.inputs[index].where;
      fail({part.is_output ? "outputs" : "inputs", part.index, where}, "name", "E-NAME", part.name,
           "name", "a name of its own", part.name,
           "'" + part.name + "' is how files name " + std::string(meaning));
    }
  }

  // The memory that a run binds has a size, scales and strides included.
  void check_size(const ir::TensorPart& part) {
    const auto index = static_cast<size_t>(part.index);
    const ir::Value& v = ir::part_value(g_, part);
    const Strides& strides = part.is_output ? g_.outputs[index].strides : v.strides;
    if (v.faulty || v.absent || (strides.rank() == 0 && !may_overflow(v))) return;
    std::vector<int64_t> bounds;
    for (const ir::Symbol& s : g_.symbols) bounds.push_back(s.bound);
    try {
      (void)ir::tensor_info(g_, static_cast<int32_t>(&part - g_.tensors.data()), bounds);
    } catch (const base::FindingsError& e) {
      const Where where = part.is_output ? g_.outputs[index].where : g_.inputs[index].where;
      const Finding& f = e.findings[0];
      fail({part.is_output ? "outputs" : "inputs", part.index, where},
           part.is_output ? "value" : "shape", f.code, part.name,
           part.is_output ? "value" : "shape", std::string(f.wanted), std::string(f.got),
           std::string(f.message));
    }
  }

  // False when the size is small for certain: padding of scales and of groups is below these.
  [[nodiscard]] bool may_overflow(const ir::Value& v) const {
    double bits = 64.0 * (1024 + static_cast<double>(most_groups_));
    for (int d = 0; d < v.shape.rank; ++d) bits *= static_cast<double>(v.shape[d].bound) + 256;
    return bits > 0x1p60;
  }

  void find_most_groups() {
    for (const ir::Input& in : g_.inputs) {
      const ir::Value& v = g_.values[static_cast<size_t>(in.value)];
      if (v.role == Role::groups && v.shape.rank == 1) {
        most_groups_ = std::max(most_groups_, v.shape[0].bound);
      }
    }
  }

  // The value of an output when it is sound; null otherwise, with its finding.
  const ir::Value* output_value(const ir::Place& place, const ir::Output& o) {
    if (o.value == kNone) return nullptr;
    const ir::Value& v = g_.values[static_cast<size_t>(o.value)];
    if (v.faulty) return nullptr;
    if (v.node == kNone) {
      fail(place, "value", "E-OUTPUT", o.name, "value", "a computed value", ir::value_text(g_, v),
           "an input cannot be an output: it is there already");
      return nullptr;
    }
    if (!v.absent) return &v;
    fail(place, "value", "E-OUTPUT", o.name, "value", "a result that its op was asked for",
         ir::reference_text(g_, v), "result " + ir::reference_text(g_, v) + " was not asked for",
         "axes of quantize says which of row and col are made");
    return nullptr;
  }

  void output(int64_t index) {
    ir::Output& o = g_.outputs[static_cast<size_t>(index)];
    const ir::Place place{"outputs", index, o.where};
    const ir::Value* v = output_value(place, o);
    if (cohort::name(o.tail).empty()) {
      fail(place, "tail", "E-ATTRIBUTE", o.name, "tail", "leave or zero",
           std::to_string(static_cast<int>(o.tail)), "no such tail");
    }
    const bool is_type_good = v == nullptr || output_type(place, o, *v);
    std::vector<ir::StoredFault> faults = output_faults(g_, o, v);
    output_layout_faults(o, v, is_type_good, faults);
    for (const ir::StoredFault& f : faults) {
      if (f.code == "E-ROLE") recording_.miss({.roles = ir::role_bit(Role::index), .name = {}});
      fail(place, f.key, f.code, o.name, std::string(f.key), f.wanted, f.got,
           "wanted " + f.wanted + ", got " + f.got, f.hint);
    }
    if (v != nullptr && is_type_good && faults.empty()) {
      o.strides = ir::kept_strides(ir::stored_shape(g_, o), o.strides);
    }
  }

  bool output_type(const ir::Place& place, const ir::Output& o, const ir::Value& v) {
    using enum DType;
    const bool unrounded = v.dtype == f32 && !v.scaled;
    const bool is_value = v.role == Role::value || v.role == Role::weight_grad;
    const bool good =
        o.dtype == v.dtype || (unrounded && (o.dtype == bf16 || (is_value && o.dtype == f16)));
    if (good) return true;
    const std::string wanted = !unrounded ? std::string(cohort::name(v.dtype))
                               : is_value ? "f32, f16 or bf16"
                                          : "f32 or bf16";
    const std::string got(cohort::name(o.dtype));
    fail(place, "dtype", "E-DTYPE", o.name, "dtype", wanted, got.empty() ? "no type" : got,
         "wanted " + wanted + ", got " + got + ": a value is rounded once",
         unrounded && (o.dtype == e4m3 || o.dtype == e5m2) ? "fp8: use Cast or Quantize" : "");
    return false;
  }

  // What nobody uses, but for what a reference to nothing was meant to use: one mistake, one
  // finding.
  void unused() {
    Unused items;
    for (size_t i = 0; i < g_.inputs.size(); ++i) {
      const ir::Value& v = g_.values[static_cast<size_t>(g_.inputs[i].value)];
      if (v.uses == 0 && !v.faulty) items.push_back({i, true, ir::role_bit(v.role)});
    }
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      const ir::Node& n = g_.nodes[i];
      bool is_used = false;
      ir::RoleSet roles = 0;
      for (size_t p = 0; p < n.op->results.size(); ++p) {
        const ir::Value& v = g_.values[static_cast<size_t>(n.first_result) + p];
        is_used = is_used || v.uses > 0 || v.faulty;
        roles |= ir::role_bit(v.role);
      }
      if (!is_used) items.push_back({i, false, roles});
    }
    drop_missed(g_, recording_.missed(), items);
    for (const UnusedItem& u : items) {
      const auto index = static_cast<int64_t>(u.index);
      if (u.is_input) {
        const ir::Input& in = g_.inputs[u.index];
        fail({"inputs", index, in.where}, "", "E-UNUSED", in.name, "", "a consumer", "none",
             "input '" + in.name + "' is not used");
      } else {
        const ir::Node& n = g_.nodes[u.index];
        fail({"nodes", index, n.where}, "", "E-UNUSED", n.op->name, "", "a consumer or an output",
             "none", "no result of %" + std::to_string(u.index) + " reaches an output");
      }
    }
    for (size_t i = 0; i < g_.nodes.size(); ++i) idle_fields(i);
    symbols();
  }

  // The results that read a field, by their records: one that is added to a result is read by that
  // alone.
  static std::vector<size_t> readers_of(const ir::OpRecord& op, std::string_view field) {
    std::vector<size_t> readers;
    for (size_t p = 0; p < op.results.size(); ++p) {
      const ir::ResultRecord& r = op.results[p];
      if (r.added_to == field) return {p};
      if (std::find(r.unread.begin(), r.unread.end(), field) == r.unread.end()) {
        readers.push_back(p);
      }
    }
    return readers;
  }

  // Fields that no result reads which somebody uses. A reference to nothing may have meant one of
  // the others.
  void idle_fields(size_t index) {
    const ir::Node& n = g_.nodes[index];
    if (n.op->results.size() == 1) return;
    const auto result = [&](size_t p) -> const ir::Value& {
      return g_.values[static_cast<size_t>(n.first_result) + p];
    };
    bool is_used = false;
    for (size_t p = 0; p < n.op->results.size(); ++p) is_used = is_used || result(p).uses > 0;
    if (!is_used || result(0).faulty || !recording_.missed().empty()) return;
    for (size_t f = 0; f < n.op->fields.size(); ++f) {
      const ir::FieldRecord& field = n.op->fields[f];
      if (field.is_required && field.must_give) continue;
      if (g_.fields[static_cast<size_t>(n.first_field) + f] == field.initial) continue;
      if ((n.usual >> f & 1) != 0) continue;
      const std::vector<size_t> readers = readers_of(*n.op, field.name);
      const auto used = [&](size_t p) { return result(p).uses > 0; };
      if (std::any_of(readers.begin(), readers.end(), used)) continue;
      std::string who;
      for (const size_t p : readers) {
        const std::string name = n.op->results[p].name;
        who += (who.empty() ? "" : " or ") + (name.empty() ? "the main result" : name);
      }
      std::string message = "only " + who;
      message.append(" reads ").append(field.name).append(", and nothing uses it");
      std::string hint = "make " + who;
      hint.append(" an output, or leave ").append(field.name).append(" out");
      fail({"nodes", static_cast<int64_t>(index), n.where}, field.name, "E-UNUSED", n.op->name,
           field.name, "a consumer of " + who, "none", std::move(message), std::move(hint));
    }
  }

  void symbol_names() {
    std::unordered_map<std::string_view, size_t> seen;
    for (size_t i = 0; i < g_.symbols.size(); ++i) {
      ir::Symbol& s = g_.symbols[i];
      if (s.faulty || seen.emplace(s.name, i).second) continue;
      s.faulty = true;
      fail({"dims", static_cast<int64_t>(i), s.where}, "name", "E-NAME", s.name, "name",
           "a name of its own", s.name, "a dynamic extent of this name exists already");
    }
  }

  void symbols() {
    std::vector<bool> used(g_.symbols.size(), false);
    for (const ir::Input& in : g_.inputs) {
      const ir::Extents& shape = g_.values[static_cast<size_t>(in.value)].shape;
      for (int d = 0; d < shape.rank && d < kMaxRank; ++d) {
        if (shape[d].symbol != kNone) used[static_cast<size_t>(shape[d].symbol)] = true;
      }
    }
    for (const ir::Output& o : g_.outputs) {
      if (o.rows && o.rows->symbol != kNone) used[static_cast<size_t>(o.rows->symbol)] = true;
    }
    for (size_t i = 0; i < used.size(); ++i) {
      if (used[i] || g_.symbols[i].faulty) continue;
      fail({"dims", static_cast<int64_t>(i), g_.symbols[i].where}, "", "E-UNUSED",
           g_.symbols[i].name, "", "an input that has it", "none",
           "dynamic extent '" + g_.symbols[i].name + "' is not used");
    }
  }

  ir::Recording& recording_;
  ir::Graph& g_;
  Where where_;
  int64_t most_groups_ = 1;
};

}  // namespace

void check_whole(ir::Recording& recording, Where where) { Checker(recording, where).run(); }

}  // namespace cohort::validate
