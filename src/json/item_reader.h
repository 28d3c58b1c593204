// Reads the members of one item, with a finding for each that is not as it should be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/recording.h"
#include "json/tree.h"

namespace cohort::json {

/// An op that takes little memory in a graph, and has an input, so that a node of it can be faulty.
[[nodiscard]] const ir::OpRecord* smallest_op();

/// The item that is being read: where it stands, and whether it has been sound so far.
class ItemReader {
 protected:
  ItemReader(const Document& document, ir::Recording& recording) : d_(document), r_(recording) {}

  /// The item at `index` of a list begins; `title` names it in findings.
  void begin(std::string_view list, int64_t index, std::string_view title);
  void fail(std::string_view key, std::string_view code, std::string wanted, std::string got,
            std::string hint = {});
  /// A hint, or nothing. It costs an edit distance a word: not for findings that only are counted.
  std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& words);
  /// Every key of the item must be one of `allowed`.
  void check_keys(const Item& item, const std::vector<std::string_view>& allowed);

  /// The member of that name, or null.
  const Value* find(const Item& item, std::string_view key);
  /// The member of that name, of that kind. Null, with a finding, otherwise; with `may_miss`, one
  /// that is left out or null is null without a finding.
  const Value* member(const Item& item, std::string_view key, Value::Kind kind,
                      std::string_view wanted, bool may_miss = false);
  std::string_view text(const Item& item, std::string_view key);
  int64_t integer(const Item& item, std::string_view key, int64_t otherwise, bool may_miss);
  /// One of the words of an enum; -1 when it is absent or, with a finding, unknown.
  int word(const Item& item, std::string_view key, std::string_view (*name_of)(int), bool may_miss);
  int word_of(const Value& v, std::string_view key, std::string_view (*name_of)(int));
  Strides strides(const Item& item);
  /// A number, or a word for one; false when it is neither.
  static bool real(const Value& v, double& x, bool allow_nan);

  template <class E>
  E choice(const Item& item, std::string_view key, E otherwise, bool may_miss = false) {
    const int w = word(
        item, key, [](int i) { return name(static_cast<E>(i)); }, may_miss);
    return w < 0 ? otherwise : static_cast<E>(w);
  }

  const Document& d_;
  ir::Recording& r_;
  ir::Place place_;
  std::string_view title_;  ///< A piece of the document, or a word.
  size_t next_ = 0;         ///< Where the next member stands in a text in canonical order.
  bool good_ = true;
};

}  // namespace cohort::json
