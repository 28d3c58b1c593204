#include "json/input_reader.h"

#include <string>

namespace cohort::json {

using Kind = Value::Kind;

void InputReader::dim(const Item& item) {
  begin("dims", static_cast<int64_t>(g_.symbols.size()), "dim");
  check_keys(item, {"name", "bound"});
  const std::string_view dim_name = text(item, "name");
  const int64_t bound = integer(item, "bound", 0, false);
  symbols_.emplace(dim_name, static_cast<int32_t>(g_.symbols.size()));
  if (good_) {
    r_.add_symbol(dim_name, bound, {nullptr, 0});
  } else {
    g_.symbols.push_back({std::string(dim_name), 0, {nullptr, 0}, true});
  }
}

void InputReader::shape(const Item& item, ir::Value& value) {
  ir::Extents& shape = value.shape;
  const Value* v = member(item, "shape", Kind::list, "a list of extents");
  if (v == nullptr) return;
  if (v->count > kMaxRank) {
    fail("shape", "E-LIMIT", "at most 8 extents", std::to_string(v->count));
    return;
  }
  for (const Value& e : d_.of(*v)) {
    if (!extent("shape", e, shape[shape.rank++], value.faulty)) return;
  }
  is_shape_read_ = true;
}

void InputReader::note_dims(const Item& item, ir::Extents& shape) {
  shape = {};
  const Value* v = find(item, "shape");
  if (v == nullptr) return;
  const auto note = [&](const Value& e) {
    const auto it = e.kind == Kind::string ? symbols_.find(e.text) : symbols_.end();
    if (it != symbols_.end() && shape.rank < kMaxRank) shape[shape.rank++].symbol = it->second;
  };
  note(*v);
  if (v->kind != Kind::list) return;
  for (const Value& e : d_.of(*v)) note(e);
}

bool InputReader::extent(std::string_view key, const Value& e, ir::Extent& extent, bool& faulty) {
  if (e.kind == Kind::integer) {
    extent.bound = e.integer;
    return true;
  }
  const auto it = e.kind == Kind::string ? symbols_.find(e.text) : symbols_.end();
  if (it == symbols_.end()) {
    const bool named = e.kind == Kind::string;
    fail(key, named ? "E-REFERENCE" : "E-JSON", "an integer or the name of a dim", describe(e));
    return false;
  }
  const ir::Symbol& symbol = g_.symbols[static_cast<size_t>(it->second)];
  extent = {symbol.bound, it->second};
  faulty = faulty || symbol.faulty;
  return true;
}

void InputReader::input(const Item& item) {
  begin("inputs", static_cast<int64_t>(g_.inputs.size()), "input");
  const std::string_view input_name = text(item, "name");
  if (!input_name.empty()) title_ = input_name;
  ir::Value v;
  is_shape_read_ = false;
  v.role = choice(item, "role", Role::tensor);
  const auto keys = ir::input_keys(v.role);
  if (good_ && keys.empty()) fail("role", "E-ROLE", "a role that an input can have", "value");
  if (good_) {
    allowed_.assign({"name", "role"});
    for (ir::InputKey k : keys) allowed_.push_back(ir::name(k));
    check_keys(item, allowed_);
    for (ir::InputKey k : keys) input_key(item, k, v);
  }
  const size_t before = g_.values.size();
  if (good_) {
    r_.add_input(input_name, v, {nullptr, 0});
  } else {
    v.faulty = true;
    if (!is_shape_read_) note_dims(item, v.shape);
    v.input = static_cast<int32_t>(g_.inputs.size());
    g_.values.push_back(v);
    g_.inputs.push_back({std::string(input_name), static_cast<int32_t>(before), {nullptr, 0}});
    g_.values.back().uses = 1;  // one mistake, one finding: it is not also unused
  }
  const auto [first, is_new] = names_.emplace(input_name, static_cast<int32_t>(before));
  // Which of the two a reference means is not known, so no op adds a finding because of it; that
  // the name stands twice is one, made when the graph is whole.
  if (!is_new) g_.values[static_cast<size_t>(first->second)].faulty = true;
}

void InputReader::input_key(const Item& item, ir::InputKey k, ir::Value& v) {
  const bool weights = v.role == Role::weights || v.role == Role::weight_pointers;
  switch (k) {
    case ir::InputKey::shape:
      return shape(item, v);
    case ir::InputKey::dtype:
      v.dtype = choice(item, "dtype", v.dtype);
      return;
    case ir::InputKey::format: {
      const int w = word(
          item, "format", [](int i) { return name(static_cast<Format>(i)); }, weights);
      if (w >= 0) v.scaled = ir::ScaledType{.format = static_cast<Format>(w)};
      return;
    }
    case ir::InputKey::layout:
      scaled_key(item, "layout", v,
                 [&] { v.scaled->layout = choice(item, "layout", v.scaled->layout); });
      return;
    case ir::InputKey::axis:
      scaled_key(item, "axis", v, [&] { v.scaled->axis = choice(item, "axis", v.scaled->axis); });
      return;
    case ir::InputKey::storage:
      scaled_key(item, "storage", v,
                 [&] { v.scaled->storage = choice(item, "storage", v.scaled->storage); });
      return;
    case ir::InputKey::major:
      v.major = choice(item, "major", v.major);
      return;
    case ir::InputKey::form:
      v.form = choice(item, "form", v.form);
      return;
    case ir::InputKey::row_alignment:
      v.row_alignment = integer(item, "row_alignment", 1, true);
      return;
    case ir::InputKey::strides:
      v.strides = strides(item);
      return;
    case ir::InputKey::alignment:
      v.alignment = integer(item, "alignment", 16, true);
      return;
  }
}

}  // namespace cohort::json
