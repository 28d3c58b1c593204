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

void add(std::string& list, const std::string& text) {
  if (!text.empty()) list += (list.empty() ? "" : ", ") + text;
}

std::string extents(const ResultInfo& r) {
  std::string s;
  for (int i = 0; i < r.rank; ++i) {
    add(s, r.symbol[i].empty() ? std::to_string(r.bound[i]) : std::string(r.symbol[i]));
  }
  return "[" + s + "]";
}

// "mxfp8_e4m3", and "fp8_row e5m2": these formats leave the elements open.
std::string format_text(const std::string& format, const std::string& dtype) {
  return format.rfind("fp8_", 0) == 0 ? format + " " + dtype : format;
}

std::string scales_text(const std::string& layout, bool is_col, const std::string& storage) {
  return layout + " scales" + (is_col ? " along tokens" : "") +
         (storage == "as_rows" ? "" : ", stored " + storage);
}

std::string strides_text(const Json& j) {
  return j.contains("strides") && !j["strides"].is_null() ? "strides " + shape_text(j["strides"])
                                                          : "";
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
                           {"upper_clip", "inf"},
                           {"slope", 0},
                           {"power", 1},
                           {"norm", 1}};
  if (value.is_null()) return true;
  const auto it = kUsual.find(key);
  return it != kUsual.end() && *it == value;
}

PictureInput input(const Json& j) {
  PictureInput p;
  p.name = j["name"];
  p.role = j["role"];
  const std::string dtype = j["dtype"];
  const bool is_scaled = j.contains("format") && !j["format"].is_null();
  p.type = (is_scaled ? format_text(j["format"], dtype) : dtype) + " " + shape_text(j["shape"]);
  if (is_scaled) {
    const bool has_axis = j.contains("axis");
    p.extra = scales_text(j["layout"], has_axis && j["axis"] == "col",
                          has_axis ? text_of(j["storage"]) : "as_rows");
  }
  if (j.contains("form")) {
    p.extra = j["form"];
    if (p.extra == "whole") add(p.extra, "no tensor");
    const Json& rows = j["row_alignment"];
    if (rows != 1) add(p.extra, "multiples of " + text_of(rows) + " rows");
  }
  if (j.contains("major") && j["major"] == "n") add(p.extra, "n-major");
  add(p.extra, strides_text(j));
  return p;
}

// Of a quantised result the op's fields say what the bytes are.
PictureResult result(const Graph& graph, const Json& j, int64_t node, int32_t port) {
  const ResultInfo r = graph.result(node, port);
  PictureResult p;
  p.port = r.port;
  p.reference = "%" + std::to_string(node) + (p.port.empty() ? "" : "." + p.port);
  std::string type(name(r.dtype));
  if (r.role == Role::scaled_tensor) {
    const bool is_col = p.port == "col";
    const bool has_f32_scales = j["to"].get<std::string>().rfind("fp8_", 0) == 0;
    const Json& row = j["row_layout"];
    p.extra = is_col           ? scales_text(j["col_layout"], true, j["col_storage"])
              : !row.is_null() ? scales_text(row, false, "as_rows")
              : has_f32_scales ? scales_text("linear", false, "as_rows")
                               : scales_text("tiled_128x4", false, "as_rows");
    type = format_text(j["to"], type);
  }
  p.type = type + " " + extents(r);
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
    p.results.push_back(result(graph, j, number, port));
  }
  return p;
}

// The result that a reference names; nullptr for the name of an input.
PictureResult* find_result(Picture& picture, const std::string& reference) {
  if (reference.empty() || reference[0] != '%') return nullptr;
  PictureNode& from = picture.nodes[std::stoul(reference.substr(1))];
  for (PictureResult& r : from.results) {
    if (r.reference == reference) return &r;
  }
  return nullptr;
}

void use(Picture& picture, const std::string& reference) {
  if (PictureResult* r = find_result(picture, reference)) r->is_used = true;
}

PictureOutput output(Picture& picture, const Json& o) {
  PictureOutput p;
  p.name = o["name"];
  p.value = o["value"];
  const PictureResult& from = *find_result(picture, p.value);
  // An output rounds plain values to its own type, and a scattered one has rows of its own.
  std::string shape = from.type.substr(from.type.find('['));
  if (!o["scatter"].is_null()) {
    shape = "[" + text_of(o["rows"]) + shape.substr(shape.find_first_of(",]"));
  }
  const bool is_quantised = !from.extra.empty();
  p.type = is_quantised ? from.type : text_of(o["dtype"]) + " " + shape;
  p.extra = from.extra;
  if (o["tail"] == "zero") add(p.extra, "tail zero");
  if (o["discrete"].get<bool>()) add(p.extra, "one pointer an expert");
  add(p.extra, strides_text(o));
  if (!o["scatter"].is_null()) {
    std::string row = text_of(o["scatter"]);
    if (o["top_k"] != 1) row += " * " + o["top_k"].dump();
    if (!o["slot"].is_null()) row += " + " + text_of(o["slot"]);
    add(p.extra, "row r to row " + row);
  }
  return p;
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
    use(p, p.nodes.back().in);
    for (const PictureOperand& o : p.nodes.back().operands) use(p, o.reference);
    ++number;
  }
  for (const Json& o : j["outputs"]) {
    p.outputs.push_back(output(p, o));
    use(p, p.outputs.back().value);
  }
  return p;
}

}  // namespace cohort::cli
