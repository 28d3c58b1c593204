#include "fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "ir/op_record.h"

namespace cohort::test {

namespace {

constexpr std::array kLists{"dims", "inputs", "nodes", "outputs"};

// Every word that a field of an op can hold, and some of inputs.
const std::vector<std::string>& words() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list{"row", "col", "k", "n", "leave", "zero", "", "%", "%0", "nan"};
    const auto add = [&](auto first) {
      for (int i = 0; i < 64; ++i) {
        const std::string_view w = name(static_cast<decltype(first)>(i));
        if (!w.empty()) list.emplace_back(w);
      }
    };
    add(DType{});
    add(Format{});
    add(ScaleLayout{});
    add(GroupForm{});
    add(Role{});
    for (const ir::OpRecord* op : ir::all_ops()) {
      list.emplace_back(op->name);
      for (const ir::FieldRecord& f : op->fields) {
        for (int w = 0; f.kind == ir::FieldValue::Kind::choice && w < 64; ++w) {
          if (!f.word(w).empty()) list.emplace_back(f.word(w));
        }
      }
    }
    return list;
  }();
  return all;
}

// "" as often as all named results together, ".row", ".dprob" and the like of every op.
const std::vector<std::string>& ports() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list;
    for (const ir::OpRecord* op : ir::all_ops()) {
      for (const ir::ResultRecord& r : op->results) {
        const std::string port = "." + std::string(r.name);
        const bool is_new = std::find(list.begin(), list.end(), port) == list.end();
        if (port != "." && is_new) list.push_back(port);
      }
    }
    list.resize(2 * list.size());
    return list;
  }();
  return all;
}

// The sum, or what is left of it in 64 bits.
int64_t wrapped(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

}  // namespace

std::string Mutator::damaged(const std::string& text, const std::string& other) {
  Json graph = Json::parse(text);
  const Json from = Json::parse(other);
  for (size_t n = 1 + below(3); n > 0; --n) change(graph, from);
  std::string result = graph.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (below(32) == 0) change_bytes(result);
  return result;
}

void Mutator::change(Json& graph, const Json& other) {
  // Nodes are what there is most to say about.
  constexpr std::array kWeighted{0, 1, 1, 1, 2, 2, 2, 2, 2, 3};
  if (below(64) == 0) {
    graph.erase(kLists[below(kLists.size())]);
    return;
  }
  const auto list = graph.find(kLists[static_cast<size_t>(kWeighted[below(kWeighted.size())])]);
  if (list == graph.end() || !list->is_array()) return;
  change_item(*list, graph, other);
}

void Mutator::change_item(Json& list, Json& graph, const Json& other) {
  const size_t at = below(list.size());
  if (list.empty() || below(24) == 0) {
    const Json& from = other[kLists[below(kLists.size())]];
    if (!from.empty()) list.push_back(from[below(from.size())]);
    return;
  }
  if (below(24) == 0) {
    list.erase(list.begin() + static_cast<int64_t>(at));
    return;
  }
  if (below(24) == 0) {
    std::swap(list[at], list[below(list.size())]);
    return;
  }
  Json& item = list[at];
  if (!item.is_object() || item.empty()) return;
  auto member = item.begin();
  for (size_t n = below(item.size()); n > 0; --n) ++member;
  const std::string key = member.key();
  if (below(24) == 0) {
    item.erase(key);
    return;
  }
  change_value(key, item[key], graph, other);
}

void Mutator::change_value(const std::string& key, Json& value, const Json& graph,
                           const Json& other) {
  switch (below(8)) {
    case 0:
      value = any_value(graph);
      return;
    case 1:
    case 2: {
      const Json* from = same_key(key, below(2) == 0 ? graph : other);
      if (from != nullptr) value = *from;
      return;
    }
    case 3:
      value = any_reference(graph);
      return;
    default:
      break;
  }
  if (value.is_number_integer()) {
    const auto x = value.get<int64_t>();
    constexpr std::array<int64_t, 4> kSteps{-1, 1, 2, 16};
    value = below(4) == 0 ? any_number() : Json(wrapped(x, kSteps[below(kSteps.size())]));
  } else if (value.is_number()) {
    value = any_number();
  } else if (value.is_string()) {
    value = words()[below(words().size())];
  } else if (value.is_array() && !value.empty()) {
    const size_t at = below(value.size());
    if (below(6) == 0) {
      value.erase(value.begin() + static_cast<int64_t>(at));
    } else if (below(6) == 0) {
      value.push_back(value[at]);
    } else {
      change_value(key, value[at], graph, other);
    }
  } else {
    value = any_value(graph);
  }
}

Mutator::Json Mutator::any_number() {
  static const std::vector<Json> all{0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     8,
                                     15,
                                     16,
                                     17,
                                     31,
                                     32,
                                     33,
                                     64,
                                     127,
                                     128,
                                     129,
                                     4096,
                                     -1,
                                     -2,
                                     0.5,
                                     -0.0,
                                     1e-45,
                                     1e300,
                                     int64_t{1} << 31,
                                     int64_t{1} << 47,
                                     int64_t{1} << 48,
                                     (int64_t{1} << 48) + 1,
                                     std::numeric_limits<int64_t>::max(),
                                     std::numeric_limits<int64_t>::min()};
  return all[below(all.size())];
}

Mutator::Json Mutator::any_value(const Json& graph) {
  switch (below(8)) {
    case 0:
      return nullptr;
    case 1:
      return below(2) == 0;
    case 2:
      return Json::array({any_number()});
    case 3:
      return Json::object({{"value", any_reference(graph)}});
    case 4:
      return words()[below(words().size())];
    case 5:
      return Json::array();
    default:
      return any_number();
  }
}

Mutator::Json Mutator::any_reference(const Json& graph) {
  const auto nodes = graph.find("nodes");
  const auto inputs = graph.find("inputs");
  if (below(2) == 0 && inputs != graph.end() && inputs->is_array() && !inputs->empty()) {
    const Json& i = (*inputs)[below(inputs->size())];
    return i.is_object() && i.contains("name") ? i["name"] : Json("x");
  }
  const size_t count = nodes != graph.end() && nodes->is_array() ? nodes->size() : 0;
  return "%" + std::to_string(below(count + 1)) + ports()[below(ports().size())];
}

const Mutator::Json* Mutator::same_key(const std::string& key, const Json& graph) {
  for (int tries = 0; tries < 8; ++tries) {
    const auto list = graph.find(kLists[below(kLists.size())]);
    if (list == graph.end() || !list->is_array() || list->empty()) continue;
    const Json& item = (*list)[below(list->size())];
    if (item.is_object() && item.contains(key)) return &item[key];
  }
  return nullptr;
}

void Mutator::change_bytes(std::string& text) {
  constexpr std::string_view kBytes = "0123456789-+.eE\"{}[],:nulltrue%\\\x80\xFF ";
  const size_t at = below(text.size());
  switch (below(3)) {
    case 0:
      text[at] = kBytes[below(kBytes.size())];
      return;
    case 1:
      text.erase(at, 1 + below(8));
      return;
    default:
      text.insert(at, 1, kBytes[below(kBytes.size())]);
  }
}

}  // namespace cohort::test
