#include "cli/picture.h"

#include <algorithm>
#include <unordered_set>

namespace cohort::cli {

namespace {

std::string text_of(const Json& j) { return j.is_string() ? j.get<std::string>() : j.dump(); }

std::string shape_text(const Json& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) s += (i > 0 ? ", " : "") + text_of(shape[i]);
  return s + "]";
}

std::string result_text(const Graph& graph, int64_t node, int32_t port) {
  const ResultInfo r = graph.result(node, port);
  std::string s = "[";
  for (int i = 0; i < r.rank; ++i) {
    s += (i > 0 ? ", " : "");
    s += r.symbol[i].empty() ? std::to_string(r.bound[i]) : std::string(r.symbol[i]);
  }
  return s + "]";
}

// Words that say what every reader assumes are left out of a picture.
bool is_usual(const std::string& key, const Json& value) {
  static const Json kUsual{{"axes", "row"},
                           {"scale_rounding", "up"},
                           {"reciprocal", "exact"},
                           {"rounding", "nearest_even"},
                           {"col_layout", "per_group"},
                           {"col_storage", "as_rows"},
                           {"b_major", "k"},
                           {"acc_round", "none"},
                           {"direction", "fwd"},
                           {"swapped", false},
                           {"lower_clip", 0},
                           {"slope", 0},
                           {"norm", 1}};
  if (value.is_null()) return true;
  const auto it = kUsual.find(key);
  return it != kUsual.end() && *it == value;
}

PictureInput input(const Json& j) {
  PictureInput p;
  p.name = j["name"];
  p.role = j["role"];
  const bool scaled = j.contains("format") && !j["format"].is_null();
  p.type = text_of(scaled ? j["format"] : j["dtype"]) + " " + shape_text(j["shape"]);
  if (scaled) p.extra = text_of(j["layout"]) + " scales";
  if (j.contains("form")) p.extra = text_of(j["form"]);
  if (j.contains("major") && j["major"] == "n") p.extra += " n-major";
  return p;
}

PictureNode node(const Graph& graph, const Json& j, int64_t number,
                 const std::unordered_set<std::string>& names) {
  PictureNode p;
  p.op = j["op"];
  p.is_root = !j.contains("in");
  for (const auto& [key, value] : j.items()) {
    if (key == "op") continue;
    const std::string word = value.is_string() ? value.get<std::string>() : "";
    const bool refers =
        value.is_object() || (!word.empty() && (word[0] == '%' || names.contains(word)));
    if (key == "in") {
      p.in = word;
    } else if (refers) {
      p.operands.push_back({key, value.is_object() ? text_of(value["value"]) : word});
    } else if (!is_usual(key, value)) {
      p.attributes.push_back(key + " " + text_of(value));
    }
  }
  for (int32_t port = 0; port < graph.result_count(number); ++port) {
    const std::string name(graph.result(number, port).port);
    p.results.push_back({"%" + std::to_string(number) + (name.empty() ? "" : "." + name),
                         result_text(graph, number, port)});
  }
  p.result = p.results.front().shape;
  return p;
}

std::string output_extra(const Json& o) {
  std::string s = o["tail"] == "zero" ? "tail zero" : "";
  const auto add = [&](const std::string& text) { s += (s.empty() ? "" : ", ") + text; };
  if (o["discrete"].get<bool>()) add("one pointer an expert");
  if (o["scatter"].is_null()) return s;
  std::string row = text_of(o["scatter"]);
  if (o["top_k"] != 1) row += " * " + o["top_k"].dump();
  if (!o["slot"].is_null()) row += " + " + text_of(o["slot"]);
  add("row r to row " + row + " of " + text_of(o["rows"]));
  return s;
}

// Names are any UTF-8: what would move a cursor or break an XML text becomes a question mark.
void make_printable(Json& j) {
  if (j.is_string()) {
    auto& text = j.get_ref<std::string&>();
    for (char& c : text) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
  } else if (j.is_structured()) {
    for (Json& child : j) make_printable(child);
  }
}

}  // namespace

Picture make_picture(const Graph& graph) {
  Json j = Json::parse(graph.json());
  make_printable(j);
  Picture p;
  p.name = j["name"];
  std::unordered_set<std::string> names;
  for (const Json& d : j["dims"]) p.dims.push_back(text_of(d["name"]) + " <= " + d["bound"].dump());
  for (const Json& i : j["inputs"]) {
    p.inputs.push_back(input(i));
    names.insert(p.inputs.back().name);
  }
  int64_t number = 0;
  for (const Json& n : j["nodes"]) {
    p.nodes.push_back(node(graph, n, number, names));
    ++number;
  }
  for (const Json& o : j["outputs"]) {
    const std::string value = o["value"];
    const size_t dot = value.find('.');
    const int64_t producer = std::stoll(value.substr(1, dot - 1));
    int32_t port = 0;
    for (int32_t k = 0; k < graph.result_count(producer); ++k) {
      const std::string name(graph.result(producer, k).port);
      if (dot != std::string::npos && value.substr(dot + 1) == name) port = k;
    }
    p.outputs.push_back({o["name"], value,
                         text_of(o["dtype"]) + " " + result_text(graph, producer, port),
                         output_extra(o)});
  }
  return p;
}

namespace {

void pad(std::string& s, size_t width) {
  if (s.size() < width) s.resize(width, ' ');
}

}  // namespace

std::string picture_text(const Picture& p) {
  std::string s = p.name;
  for (const std::string& d : p.dims) s += "   " + d;
  s += "\n\ninputs\n";
  size_t name_width = 0;
  size_t type_width = 0;
  for (const PictureInput& i : p.inputs) {
    name_width = std::max(name_width, i.name.size());
    type_width = std::max(type_width, i.role.size() + i.type.size() + 1);
  }
  for (const PictureInput& i : p.inputs) {
    std::string line = "  " + i.name;
    pad(line, name_width + 4);
    line += i.role + " " + i.type;
    if (!i.extra.empty()) pad(line, name_width + type_width + 6);
    s += line + i.extra + "\n";
  }
  s += "\nops\n";
  for (size_t n = 0; n < p.nodes.size(); ++n) {
    const PictureNode& node = p.nodes[n];
    const bool follows = !node.is_root && node.in == "%" + std::to_string(n - 1);
    if (follows) s += "   |\n";
    std::string line = "  %" + std::to_string(n) + " ";
    pad(line, 7);
    line += node.op;
    if (!node.is_root && !follows) line += " of " + node.in;
    for (const PictureOperand& o : node.operands) line += "  " + o.field + "=" + o.reference;
    for (const std::string& a : node.attributes) line += "  " + a;
    s += line + "  -> " + node.result + "\n";
  }
  s += "\noutputs\n";
  size_t width = 0;
  for (const PictureOutput& o : p.outputs) width = std::max(width, o.name.size());
  for (const PictureOutput& o : p.outputs) {
    std::string line = "  " + o.name;
    pad(line, width + 4);
    s += line + "= " + o.value + "   " + o.type + (o.extra.empty() ? "" : "   " + o.extra) + "\n";
  }
  return s;
}

}  // namespace cohort::cli
