#include "plan/unconsumed.h"

#include <algorithm>
#include <string>

#include "ir/canonical.h"
#include "ir/op_record.h"
#include "ir/stored.h"

namespace cohort::plan {

namespace {

using engine::Claim;
using engine::Reason;
using ir::InputKey;
using ir::OutputKey;

/// Whether an engine that never heard of a key does right by what stands there.
enum class Need : uint8_t {
  none,  ///< It does: the key is at its default, or a promise of the caller.
  set,   ///< It does not, but would at the default.
  any,   ///< Every engine decides about the key: it has no default, or the default binds too.
};

constexpr int64_t kUsualAlignment = 16;

Need set_unless(bool is_default) { return is_default ? Need::none : Need::set; }

Need need(const ir::Value& v, InputKey key) {
  // Every member by its name: with a new one this compiles when somebody has thought of it here.
  const auto& [role, dtype, shape, scaled, major, form, row_alignment, strides, alignment, groups,
               experts, accumulator, node, port, input, faulty, rows_known, absent, uses] = v;
  switch (key) {
    case InputKey::shape:
    case InputKey::dtype:
    case InputKey::form:
      return Need::any;
    case InputKey::format:
      return scaled ? Need::any : Need::none;
    case InputKey::layout:
      return set_unless(!scaled ||
                        scaled->layout == ir::default_layout(scaled->format, scaled->axis));
    case InputKey::axis:
      return set_unless(!scaled || scaled->axis == Axes::row);
    case InputKey::storage:
      return set_unless(!scaled || scaled->storage == ColStorage::as_rows);
    case InputKey::major:
      return set_unless(major == Major::k);
    case InputKey::row_alignment:
      return Need::none;
    case InputKey::strides:
      return set_unless(strides.rank() == 0);
    case InputKey::alignment:
      return set_unless(alignment >= kUsualAlignment);
  }
  return Need::any;
}

Need need(const ir::Output& o, OutputKey key) {
  // As above.
  const auto& [name, value, dtype, tail, strides, alignment, discrete, scatter, slot, top_k, rows,
               has_dtype, broken, where] = o;
  switch (key) {
    case OutputKey::value:
    case OutputKey::dtype:
    case OutputKey::tail:  // `leave` binds: whole tiles past a group would break it
      return Need::any;
    case OutputKey::strides:
      return set_unless(strides.rank() == 0);
    case OutputKey::alignment:
      return set_unless(alignment >= kUsualAlignment);
    case OutputKey::discrete:
      return set_unless(!discrete);
    case OutputKey::scatter:
      return set_unless(scatter == ir::kNone);
    case OutputKey::slot:
      return set_unless(slot == ir::kNone);
    case OutputKey::top_k:
      return set_unless(top_k == 1);
    case OutputKey::rows:
      return set_unless(!rows);
  }
  return Need::any;
}

// `keys`: all of an item; `has`: those that the engine consumed.
template <class Keys, class Has, class NeedOf, class Text>
void add_item(const std::string& item, const Keys& keys, Has&& has, NeedOf&& need_of, Text&& text,
              std::vector<Reason>& reasons) {
  if (std::none_of(keys.begin(), keys.end(), has)) {
    reasons.push_back({item, "consumed", "not consumed"});
    return;
  }
  for (const auto key : keys) {
    const Need n = need_of(key);
    if (n == Need::none || has(key)) continue;
    reasons.push_back({item + "." + std::string(ir::name(key)),
                       n == Need::any ? "consumed" : "its default", text(key) + ", not consumed"});
  }
}

bool is_default(const ir::FieldRecord& record, const ir::FieldValue& value) {
  return !record.must_give && value == record.initial;
}

}  // namespace

void add_unconsumed(const ir::Graph& g, const Claim& claim, std::vector<Reason>& reasons) {
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    const ir::Value& v = g.values[static_cast<size_t>(g.inputs[i].value)];
    add_item(
        "input " + std::to_string(i), ir::input_keys(v.role),
        [&](InputKey k) { return claim.has_input(i, k); }, [&](InputKey k) { return need(v, k); },
        [&](InputKey k) { return ir::key_text(g, g.inputs[i], k); }, reasons);
    for (const ir::InputTrait trait : ir::input_traits()) {
      if (claim.has_input(i, trait)) continue;
      const std::string text = ir::trait_text(g, g.inputs[i], trait);
      if (text.empty()) continue;
      reasons.push_back({"input " + std::to_string(i) + "." + std::string(ir::name(trait)), "none",
                         text + ", not consumed"});
    }
  }
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    const ir::Output& o = g.outputs[i];
    add_item(
        "output " + std::to_string(i), ir::output_keys(),
        [&](OutputKey k) { return claim.has_output(i, k); },
        [&](OutputKey k) { return need(o, k); }, [&](OutputKey k) { return ir::key_text(g, o, k); },
        reasons);
  }
  for (const ir::Node& n : g.nodes) {
    for (size_t f = 0; f < n.op->fields.size(); ++f) {
      const size_t at = static_cast<size_t>(n.first_field) + f;
      if (claim.has_field(at) || is_default(n.op->fields[f], g.fields[at])) continue;
      reasons.push_back({std::string(n.op->name) + "." + n.op->fields[f].name, "its default",
                         "a value that the engine does not consume"});
    }
  }
}

}  // namespace cohort::plan
