// The graph as SVG: a row for each op, the chain down the middle, operands from the left, outputs
// to the right, and between those the values that ops farther down read.
#include <algorithm>
#include <map>

#include "cli/picture.h"

namespace cohort::cli {

namespace {

constexpr int kInputWidth = 310;
constexpr int kNodeWidth = 270;
constexpr int kOutputWidth = 230;
constexpr int kGap = 100;
constexpr int kSmall = 42;  // height of an input or output box
constexpr int kStep = 50;   // from one to the next
constexpr int kTop = 70;
constexpr int kLane = 14;  // between two wires that run down
constexpr int kPort = 22;  // between two wires at one op

std::string escaped(std::string_view text) {
  std::string s;
  for (char c : text) {
    if (c == '&') {
      s += "&amp;";
    } else if (c == '<') {
      s += "&lt;";
    } else if (c == '>') {
      s += "&gt;";
    } else {
      s += c;
    }
  }
  return s;
}

std::string clipped(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most - 2;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "..";
}

struct Drawing {
  std::string boxes;
  std::string lines;

  void box(int x, int y, int w, int h, const char* fill, const char* stroke) {
    boxes += "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
             std::to_string(w) + "\" height=\"" + std::to_string(h) + "\" rx=\"6\" fill=\"" + fill +
             "\" stroke=\"" + stroke + "\"/>\n";
  }
  void text(int x, int y, std::string_view t, const char* style) {
    boxes += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" class=\"" +
             style + "\">" + escaped(t) + "</text>\n";
  }
  void line(const std::string& d) { lines += "<path d=\"" + d + "\" class=\"l\"/>\n"; }
  void path(const std::string& d) {
    lines += "<path d=\"" + d + "\" class=\"l\" marker-end=\"url(#a)\"/>\n";
  }
};

std::string point(int x, int y) { return std::to_string(x) + " " + std::to_string(y); }

// What reaches past the next row goes down a lane to the right of the ops; a value has one lane,
// however many read it.
struct Wire {
  struct End {
    size_t row = 0;
    std::string field;  // empty for the piped value
    int height = 0;
  };
  size_t from = 0;        // row
  std::vector<End> ends;  // from top to bottom
  int begin = 0;          // height
  int lane = 0;
};

// Where an op stands and what stands beside it.
struct Row {
  int y = 0;
  int height = 0;
  std::vector<const PictureOperand*> inputs;
  std::vector<const PictureOutput*> outputs;
  int arriving = 0;  // wires
  int leaving = 0;   // wires
};

class Painter {
 public:
  explicit Painter(const Picture& picture) : p_(picture), rows_(picture.nodes.size()) {
    for (const PictureInput& i : p_.inputs) inputs_.emplace(i.name, &i);
    for (const PictureNode& n : p_.nodes) {
      for (const PictureResult& r : n.results) shapes_[r.reference] = r.shape;
    }
    collect();
    place();
    choose_lanes();
  }

  std::string paint() {
    for (size_t n = 0; n < rows_.size(); ++n) draw(n);
    for (const auto& [reference, wire] : wires_) draw(reference, wire);
    const int height = rows_.empty() ? kTop : rows_.back().y + rows_.back().height + 30;
    const int width = output_x() + kOutputWidth + 30;
    std::string dims;
    for (const std::string& d : p_.dims) dims += (dims.empty() ? "" : ", ") + d;
    std::string s =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
        "\" height=\"" + std::to_string(height) + "\" viewBox=\"0 0 " + point(width, height) +
        "\">\n<style>text{font-family:Helvetica,Arial,sans-serif}.t{font-size:20px;"
        "font-weight:bold}.o{font-size:15px;font-weight:bold}.n{font-size:14px;"
        "font-weight:bold}.d{font-size:12px;fill:#444}.e,.r{font-size:12px;fill:#555}"
        ".r{text-anchor:end}.l{fill:none;stroke:#666;stroke-width:1.5}</style>\n"
        "<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
        "markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
        "fill=\"#666\"/></marker></defs>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    s += "<text x=\"20\" y=\"36\" class=\"t\">" + escaped(p_.name) + "</text>\n";
    s += "<text x=\"20\" y=\"56\" class=\"d\">" + escaped(dims) + "</text>\n";
    return s + d_.boxes + d_.lines + "</svg>\n";
  }

 private:
  static constexpr int kNodeX = 20 + kInputWidth + kGap;
  static constexpr int kRight = kNodeX + kNodeWidth;

  int output_x() const { return kRight + std::max(kGap, 40 + kLane * lanes_); }

  static size_t producer(const std::string& reference) { return std::stoul(reference.substr(1)); }

  // Which inputs, outputs and wires each row has.
  void collect() {
    for (size_t n = 0; n < rows_.size(); ++n) {
      const PictureNode& node = p_.nodes[n];
      for (const PictureOperand& o : node.operands) {
        if (inputs_.contains(o.reference)) {
          rows_[n].inputs.push_back(&o);
        } else {
          reach(o.reference, o.field, n);
        }
      }
      if (!node.is_root) reach(node.in, "", n);
    }
    for (const PictureOutput& o : p_.outputs) rows_[producer(o.value)].outputs.push_back(&o);
  }

  void reach(const std::string& reference, const std::string& field, size_t n) {
    const size_t from = producer(reference);
    if (from + 1 == n) return;
    Wire& wire = wires_[reference];
    if (wire.ends.empty()) {
      wire.from = from;
      ++rows_[from].leaving;
    }
    wire.ends.push_back({n, field, 0});
    ++rows_[n].arriving;
  }

  // Outputs leave below the wires that arrive.
  static int beside(const Row& row) { return std::max(0, kPort * row.arriving - 10); }

  // As tall as what stands beside it, so that arrows run straight.
  void place() {
    int y = kTop;
    for (size_t n = 0; n < rows_.size(); ++n) {
      Row& row = rows_[n];
      const int side = std::max(kStep * static_cast<int>(row.inputs.size()),
                                beside(row) + kStep * static_cast<int>(row.outputs.size()));
      const auto attributes = static_cast<int>(p_.nodes[n].attributes.size());
      row.y = y;
      row.height = std::max({34 + 16 * attributes, side - (kStep - kSmall),
                             14 + kPort * (row.arriving + row.leaving)});
      y += row.height + 40;
    }
  }

  // The first lane that is free from a value's row to the last one that reads it.
  void choose_lanes() {
    std::vector<Wire*> order;
    for (auto& [reference, wire] : wires_) order.push_back(&wire);
    std::stable_sort(order.begin(), order.end(),
                     [](const Wire* a, const Wire* b) { return a->from < b->from; });
    std::vector<int> left(rows_.size(), 0);
    std::vector<int> arrived(rows_.size(), 0);
    std::vector<int> free_from;  // of each lane
    for (Wire* w : order) {
      const Row& row = rows_[w->from];
      w->begin = row.y + row.height - 9 - kPort * left[w->from]++;
      for (Wire::End& e : w->ends) e.height = rows_[e.row].y + 9 + kPort * arrived[e.row]++;
      const auto lane =
          std::find_if(free_from.begin(), free_from.end(), [w](int end) { return end < w->begin; });
      w->lane = static_cast<int>(lane - free_from.begin());
      if (lane == free_from.end()) free_from.push_back(0);
      free_from[static_cast<size_t>(w->lane)] = w->ends.back().height;
    }
    lanes_ = static_cast<int>(free_from.size());
  }

  void draw(size_t n) {
    const PictureNode& node = p_.nodes[n];
    const Row& row = rows_[n];
    d_.box(kNodeX, row.y, kNodeWidth, row.height, node.is_root ? "#dbe9ff" : "#f1f1f1",
           node.is_root ? "#3b6fc4" : "#888");
    d_.text(kNodeX + 12, row.y + 22, "%" + std::to_string(n) + "  " + node.op, "o");
    int line = row.y + 40;
    for (const std::string& a : node.attributes) {
      d_.text(kNodeX + 12, line, clipped(a, 40), "d");
      line += 16;
    }
    int at = row.y;
    for (const PictureOperand* o : row.inputs) {
      input(*o, at, row);
      at += kStep;
    }
    at = row.y + beside(row);
    for (const PictureOutput* o : row.outputs) {
      output(*o, at, row);
      at += kStep;
    }
    if (!node.is_root) down(node.in, "", n);
    for (const PictureOperand& o : node.operands) {
      if (!inputs_.contains(o.reference)) down(o.reference, o.field, n);
    }
  }

  void input(const PictureOperand& o, int y, const Row& row) {
    const PictureInput& i = *inputs_.at(o.reference);
    d_.box(20, y, kInputWidth, kSmall, "#fff6d9", "#c8a438");
    d_.text(30, y + 17, clipped(i.name, 28), "n");
    d_.text(30, y + 34, clipped(i.type + (i.extra.empty() ? "" : "  " + i.extra), 50), "d");
    const int from = y + kSmall / 2;
    const int to = std::clamp(from, row.y + 8, row.y + row.height - 8);
    d_.path("M" + point(20 + kInputWidth, from) + "L" + point(kNodeX, to));
    d_.text(20 + kInputWidth + 6, from - 5, o.field, "e");
  }

  void output(const PictureOutput& o, int y, const Row& row) {
    const int x = output_x();
    d_.box(x, y, kOutputWidth, kSmall, "#dff5df", "#4a9a4a");
    d_.text(x + 10, y + 17, clipped(o.name, 24), "n");
    d_.text(x + 10, y + 34, clipped(o.type + (o.extra.empty() ? "" : "  " + o.extra), 36), "d");
    const int to = y + kSmall / 2;
    const int from = std::clamp(to, row.y + 8, row.y + row.height - 8);
    d_.path("M" + point(kRight, from) + "L" + point(x, to));
    port(o.value, from);
  }

  // The name of a result that has one, inside the op where it leaves.
  void port(const std::string& reference, int y) {
    const size_t dot = reference.find('.');
    if (dot != std::string::npos) d_.text(kRight - 8, y + 4, reference.substr(dot + 1), "r");
  }

  static std::string joined(const std::string& field, const std::string& shape) {
    return field.empty() ? shape : field + " " + shape;
  }

  // From the row above, straight down.
  void down(const std::string& reference, const std::string& field, size_t n) {
    if (producer(reference) + 1 != n) return;
    const int x = kNodeX + kNodeWidth / 2 + (field.empty() ? 0 : 40);
    d_.path("M" + point(x, rows_[n - 1].y + rows_[n - 1].height) + "L" + point(x, rows_[n].y));
    d_.text(x + 8, rows_[n].y - 14, joined(field, shapes_[reference]), "e");
  }

  void draw(const std::string& reference, const Wire& wire) {
    const int x = kRight + 24 + kLane * wire.lane;
    port(reference, wire.begin);
    d_.line("M" + point(kRight, wire.begin) + "L" + point(x, wire.begin) + "L" +
            point(x, wire.ends.back().height));
    for (const Wire::End& e : wire.ends) {
      d_.path("M" + point(x, e.height) + "L" + point(kRight, e.height));
      d_.text(kRight - 8, e.height + 4, joined(e.field, shapes_[reference]), "r");
    }
  }

  const Picture& p_;
  std::map<std::string, const PictureInput*> inputs_;
  std::map<std::string, std::string> shapes_;
  std::vector<Row> rows_;
  std::map<std::string, Wire> wires_;  // by the value that they carry
  int lanes_ = 0;
  Drawing d_;
};

}  // namespace

std::string picture_svg(const Picture& p) { return Painter(p).paint(); }

}  // namespace cohort::cli
