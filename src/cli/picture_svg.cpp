// The graph as SVG: a row for each op, the chain down the middle, operands from the left, outputs
// to the right.
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
constexpr int kTop = 70;

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
  void path(const std::string& d) {
    lines += "<path d=\"" + d + "\" class=\"l\" marker-end=\"url(#a)\"/>\n";
  }
  void label(int x, int y, std::string_view t) {
    lines += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" class=\"e\">" +
             escaped(t) + "</text>\n";
  }
};

std::string point(int x, int y) { return std::to_string(x) + " " + std::to_string(y); }

class Painter {
 public:
  explicit Painter(const Picture& picture) : p_(picture) {
    for (const PictureInput& i : p_.inputs) inputs_.emplace(i.name, &i);
  }

  std::string paint() {
    int y = kTop;
    for (size_t n = 0; n < p_.nodes.size(); ++n) y = row(n, y);
    const int width = kNodeX + kNodeWidth + kGap + kOutputWidth + 30;
    std::string s =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
        "\" height=\"" + std::to_string(y + 10) + "\" viewBox=\"0 0 " + point(width, y + 10) +
        "\">\n<style>text{font-family:Helvetica,Arial,sans-serif}.t{font-size:20px;"
        "font-weight:bold}.o{font-size:15px;font-weight:bold}.n{font-size:14px;"
        "font-weight:bold}.d{font-size:12px;fill:#444}.e{font-size:12px;fill:#555}"
        ".l{fill:none;stroke:#666;stroke-width:1.5}</style>\n"
        "<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
        "markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
        "fill=\"#666\"/></marker></defs>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    std::string title = p_.name;
    std::string dims;
    for (const std::string& d : p_.dims) dims += (dims.empty() ? "" : ", ") + d;
    s += "<text x=\"20\" y=\"36\" class=\"t\">" + escaped(title) + "</text>\n";
    s += "<text x=\"20\" y=\"56\" class=\"d\">" + escaped(dims) + "</text>\n";
    return s + d_.lines + d_.boxes + "</svg>\n";
  }

 private:
  static constexpr int kNodeX = 20 + kInputWidth + kGap;

  // Draws op n at height y; returns the height of the next row.
  int row(size_t n, int y) {
    const PictureNode& node = p_.nodes[n];
    const auto attributes = static_cast<int>(node.attributes.size());
    const auto outputs = outputs_of(n);
    std::vector<const PictureOperand*> sides;
    for (const PictureOperand& o : node.operands) {
      if (inputs_.contains(o.reference)) sides.push_back(&o);
    }
    // As tall as what stands beside it, so that arrows run straight.
    const int side = static_cast<int>(std::max(sides.size(), outputs.size()));
    const int height = std::max(34 + 16 * attributes, side * (kSmall + 8) - 8);
    d_.box(kNodeX, y, kNodeWidth, height, node.is_root ? "#dbe9ff" : "#f1f1f1",
           node.is_root ? "#3b6fc4" : "#888");
    d_.text(kNodeX + 12, y + 22, "%" + std::to_string(n) + "  " + node.op, "o");
    for (int i = 0; i < attributes; ++i) {
      d_.text(kNodeX + 12, y + 40 + 16 * i, clipped(node.attributes[static_cast<size_t>(i)], 40),
              "d");
    }
    int at = y;
    for (const PictureOperand* o : sides) {
      input(*o, at, y, height);
      at += kSmall + 8;
    }
    for (const PictureOperand& o : node.operands) {
      if (!inputs_.contains(o.reference)) wire(o.reference, o.field, n, y);
    }
    if (!node.is_root) wire(node.in, "", n, y);
    at = y;
    for (const PictureOutput* o : outputs) {
      output(*o, at, y, height);
      at += kSmall + 8;
    }
    tops_.push_back(y);
    bottoms_.push_back(y + height);
    return y + height + 40;
  }

  std::vector<const PictureOutput*> outputs_of(size_t n) const {
    const std::string name = "%" + std::to_string(n);
    std::vector<const PictureOutput*> all;
    for (const PictureOutput& o : p_.outputs) {
      if (o.value == name || o.value.rfind(name + ".", 0) == 0) all.push_back(&o);
    }
    return all;
  }

  void input(const PictureOperand& o, int y, int node_y, int node_height) {
    const PictureInput& i = *inputs_.at(o.reference);
    d_.box(20, y, kInputWidth, kSmall, "#fff6d9", "#c8a438");
    d_.text(30, y + 17, clipped(i.name, 28), "n");
    d_.text(30, y + 34, clipped(i.type + (i.extra.empty() ? "" : "  " + i.extra), 50), "d");
    const int from = y + kSmall / 2;
    const int to = std::clamp(from, node_y + 8, node_y + node_height - 8);
    d_.path("M" + point(20 + kInputWidth, from) + "L" + point(kNodeX, to));
    d_.label(20 + kInputWidth + 6, from - 5, o.field);
  }

  void output(const PictureOutput& o, int y, int node_y, int node_height) {
    const int x = kNodeX + kNodeWidth + kGap;
    d_.box(x, y, kOutputWidth, kSmall, "#dff5df", "#4a9a4a");
    d_.text(x + 10, y + 17, clipped(o.name, 24), "n");
    d_.text(x + 10, y + 34, clipped(o.type + (o.extra.empty() ? "" : "  " + o.extra), 36), "d");
    const int to = y + kSmall / 2;
    const int from = std::clamp(to, node_y + 8, node_y + node_height - 8);
    d_.path("M" + point(kNodeX + kNodeWidth, from) + "L" + point(x, to));
    const size_t dot = o.value.find('.');
    if (dot != std::string::npos) d_.label(x - 34, to - 5, o.value.substr(dot + 1));
  }

  // An arrow from an earlier op: straight down from the row above, else around the right side.
  void wire(const std::string& reference, const std::string& field, size_t n, int y) {
    const size_t from = std::stoul(reference.substr(1));
    const std::string& shape = p_.nodes[from].result;
    if (from + 1 == n) {
      const int x = kNodeX + kNodeWidth / 2 + (field.empty() ? 0 : 40);
      d_.path("M" + point(x, bottoms_[from]) + "L" + point(x, y));
      d_.label(x + 8, y - 14, field.empty() ? shape : field);
      return;
    }
    const int x = kNodeX + kNodeWidth;
    const int out = x + 18 + 6 * static_cast<int>(n % 5);
    d_.path("M" + point(x, bottoms_[from] - 10) + "L" + point(out, bottoms_[from] - 10) + "L" +
            point(out, y + 8) + "L" + point(x, y + 8));
    d_.label(out + 5, y - 4, field.empty() ? shape : field + " " + shape);
  }

  const Picture& p_;
  std::map<std::string, const PictureInput*> inputs_;
  Drawing d_;
  std::vector<int> tops_;
  std::vector<int> bottoms_;
};

}  // namespace

std::string picture_svg(const Picture& p) { return Painter(p).paint(); }

}  // namespace cohort::cli
