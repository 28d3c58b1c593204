// Dims and inputs of a text.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/canonical.h"
#include "json/reference_reader.h"

namespace cohort::json {

class InputReader : protected ReferenceReader {
 protected:
  using ReferenceReader::ReferenceReader;

  void dim(const Item& item);
  void input(const Item& item);
  /// An integer or the name of a dim. False, with a finding, when it is neither.
  bool extent(std::string_view key, const Value& e, ir::Extent& extent, bool& faulty);

  std::vector<std::string_view> allowed_;  ///< Keys of the item being read.

 private:
  void shape(const Item& item, ir::Value& value);
  /// The dims that the shape of a faulty input names: they are used, whatever is wrong.
  void note_dims(const Item& item, ir::Extents& shape);
  void input_key(const Item& item, ir::InputKey k, ir::Value& v);
  /// A key that only quantised tensors have: null otherwise.
  template <class F>
  void scaled_key(const Item& item, std::string_view key, const ir::Value& v, F&& set) {
    if (v.scaled) return set();
    const Value* given = find(item, key);
    if (given == nullptr || given->kind == Value::Kind::null || !good_) return;
    fail(key, "E-ATTRIBUTE", "null: there is no format", describe(*given));
  }

  std::unordered_map<std::string_view, int32_t> symbols_;
  bool is_shape_read_ = false;  ///< That of the input being read, whole.
};

}  // namespace cohort::json
