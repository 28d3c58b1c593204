// The graph as SVG: a row for each op, the chain down the middle, operands from the left, outputs
// to the right, and between those the values that ops farther down read.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "cli/picture.h"
#include "cli/svg.h"

namespace cohort::cli {

namespace {

constexpr int kMargin = 20;
constexpr int kTop = 70;
constexpr int kLine = 16;        // from one line of a box to the next
constexpr int kApart = 8;        // between two input or output boxes
constexpr int kBetween = 40;     // between two ops, where arrows are labelled
constexpr int kLane = 14;        // between two wires that run down
constexpr int kPort = 22;        // between two wires at one op
constexpr int kOneLine = 300;    // what is wider takes two lines of a box
constexpr int kMostWidth = 420;  // of a text
constexpr Svg::Colours kInput{"#fff6d9", "#c8a438"};
constexpr Svg::Colours kRoot{"#dbe9ff", "#3b6fc4"};
constexpr Svg::Colours kEpilogue{"#f1f1f1", "#888"};
constexpr Svg::Colours kOutput{"#dff5df", "#4a9a4a"};

// The texts of an input or output: its name, then what it is.
std::vector<std::string> box_lines(const std::string& name, const std::string& type,
                                   const std::string& extra) {
  const std::string both = extra.empty() ? type : type + "  " + extra;
  std::vector<std::string> lines{clipped(name, TextStyle::name, kMostWidth)};
  if (text_width(both, TextStyle::detail) <= kOneLine || extra.empty()) {
    lines.push_back(clipped(both, TextStyle::detail, kMostWidth));
  } else {
    lines.push_back(clipped(type, TextStyle::detail, kMostWidth));
    lines.push_back(clipped(extra, TextStyle::detail, kMostWidth));
  }
  return lines;
}

int box_width(const std::vector<std::string>& lines) {
  int width = text_width(lines[0], TextStyle::name);
  for (size_t i = 1; i < lines.size(); ++i) {
    width = std::max(width, text_width(lines[i], TextStyle::detail));
  }
  return width + 20;
}

int box_height(const std::vector<std::string>& lines) {
  return 10 + kLine * static_cast<int>(lines.size());
}

// "a", "bf16 [R, 768]" -> "a bf16 [R, 768]".
std::string joined(const std::string& first, const std::string& second) {
  return clipped(first.empty() ? second : first + " " + second, TextStyle::label, kMostWidth);
}

// What reaches past the next row goes down a lane to the right of the ops; a value has one lane,
// however many read it.
struct Wire {
  struct End {
    size_t row = 0;
    std::string label;
    int height = 0;
  };
  const PictureResult* result = nullptr;
  size_t from = 0;        // row
  std::vector<End> ends;  // from top to bottom
  int begin = 0;          // height
  int lane = 0;
};

// What the row above hands straight down: one arrow a value.
struct Down {
  const PictureResult* result = nullptr;
  std::string fields;  // those that read it; none for the piped value alone
  [[nodiscard]] std::string label() const {
    return joined(result->port.empty() ? fields : joined(result->port + ":", fields), result->type);
  }
};

// An input or output beside an op.
struct Side {
  std::string label;  // field, or port
  std::vector<std::string> lines;
};

// Where an op stands and what stands beside it.
struct Row {
  int y = 0;
  int height = 0;
  std::vector<std::string> attributes;
  std::vector<Side> inputs;
  std::vector<Side> outputs;
  std::vector<Down> downs;
  int arriving = 0;  // wires
  int leaving = 0;   // wires
};

int height_of(const std::vector<Side>& sides) {
  int height = 0;
  for (const Side& s : sides) height += box_height(s.lines) + kApart;
  return height;
}

class Painter {
 public:
  explicit Painter(const Picture& picture) : p_(picture), rows_(picture.nodes.size()) {
    for (const PictureInput& i : p_.inputs) inputs_.emplace(i.name, &i);
    for (const PictureNode& n : p_.nodes) {
      for (const PictureResult& r : n.results) results_[r.reference] = &r;
    }
    for (size_t n = 0; n < rows_.size(); ++n) collect(n);
    for (const PictureOutput& o : p_.outputs) {
      rows_[producer(o.value)].outputs.push_back(
          {results_.at(o.value)->port, box_lines(o.name, o.type, o.extra)});
    }
    place();
    choose_lanes();
    measure();
  }

  std::string paint() {
    std::string dims;
    for (const std::string& d : p_.dims) dims += (dims.empty() ? "" : ", ") + d;
    const std::string title = clipped(p_.name, TextStyle::title, 2 * kMostWidth);
    dims = clipped(dims, TextStyle::detail, 2 * kMostWidth);
    d_.text(kMargin, 36, title, TextStyle::title);
    d_.text(kMargin, 56, dims, TextStyle::detail);
    for (size_t n = 0; n < rows_.size(); ++n) draw(n);
    for (const auto& [reference, wire] : wires_) draw(wire);
    const int width = std::max({output_x_ + output_width_, text_width(title, TextStyle::title),
                                text_width(dims, TextStyle::detail)});
    return d_.document(width + kMargin, rows_.empty() ? kTop : end_of(rows_.back()) + kMargin);
  }

 private:
  static size_t producer(const std::string& reference) { return std::stoul(reference.substr(1)); }
  static int end_of(const Row& row) { return row.y + row.height; }

  // Which inputs, wires and arrows the row has.
  void collect(size_t n) {
    const PictureNode& node = p_.nodes[n];
    Row& row = rows_[n];
    for (const std::string& a : node.attributes) {
      row.attributes.push_back(clipped(a, TextStyle::detail, kMostWidth));
    }
    if (!node.is_root) read(node.in, "", n);
    for (const PictureOperand& o : node.operands) {
      const auto input = inputs_.find(o.reference);
      if (input == inputs_.end()) {
        read(o.reference, o.field, n);
      } else {
        const PictureInput& i = *input->second;
        row.inputs.push_back({o.field, box_lines(i.name, i.type, i.extra)});
      }
    }
  }

  void read(const std::string& reference, const std::string& field, size_t n) {
    const PictureResult* result = results_.at(reference);
    if (producer(reference) + 1 == n) {
      std::vector<Down>& downs = rows_[n].downs;
      const auto same = std::find_if(downs.begin(), downs.end(),
                                     [result](const Down& d) { return d.result == result; });
      if (same == downs.end()) {
        downs.push_back({result, field});
      } else {
        same->fields += (same->fields.empty() ? "in, " : ", ") + field;
      }
      return;
    }
    Wire& wire = wires_[reference];
    if (wire.ends.empty()) {
      wire.result = result;
      wire.from = producer(reference);
      ++rows_[wire.from].leaving;
    }
    wire.ends.push_back({n, joined(field, result->type), 0});
    ++rows_[n].arriving;
  }

  // Outputs leave below the wires that arrive, and above those that leave.
  static int beside(const Row& row) { return std::max(0, kPort * row.arriving - 10); }

  // As tall as what stands beside it, so that arrows run straight.
  void place() {
    int y = kTop;
    for (Row& row : rows_) {
      int right = beside(row) + height_of(row.outputs) - kApart;
      if (!row.outputs.empty()) right += kPort * row.leaving;
      row.y = y;
      row.height = std::max({34 + kLine * static_cast<int>(row.attributes.size()),
                             height_of(row.inputs) - kApart, right,
                             14 + kPort * (row.arriving + row.leaving)});
      y += row.height + kBetween;
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
      w->begin = end_of(rows_[w->from]) - 9 - kPort * left[w->from]++;
      for (Wire::End& e : w->ends) e.height = rows_[e.row].y + 9 + kPort * arrived[e.row]++;
      const auto lane =
          std::find_if(free_from.begin(), free_from.end(), [w](int end) { return end < w->begin; });
      w->lane = static_cast<int>(lane - free_from.begin());
      if (lane == free_from.end()) free_from.push_back(0);
      free_from[static_cast<size_t>(w->lane)] = w->ends.back().height;
    }
    lanes_ = static_cast<int>(free_from.size());
  }

  // How wide each column is, so that no two texts meet.
  void measure() {
    int input_width = 0;
    int field_width = 0;
    std::vector<int> right(rows_.size(), 0);  // of labels inside the op
    const auto label = [&right](size_t row, const std::string& text) {
      right[row] = std::max(right[row], text_width(text, TextStyle::before));
    };
    for (const auto& [reference, wire] : wires_) {
      label(wire.from, wire.result->port);
      for (const Wire::End& e : wire.ends) label(e.row, e.label);
    }
    node_width_ = 180;
    for (size_t n = 0; n < rows_.size(); ++n) {
      const Row& row = rows_[n];
      int left = text_width(title(n), TextStyle::op);
      for (const std::string& a : row.attributes) {
        left = std::max(left, text_width(a, TextStyle::detail));
      }
      int below = 0;
      for (const Down& d : row.downs) below += 2 * text_width(d.label(), TextStyle::label) + 32;
      if (row.downs.size() > 1) below /= 2;
      for (const Side& s : row.inputs) {
        input_width = std::max(input_width, box_width(s.lines));
        field_width = std::max(field_width, text_width(s.label, TextStyle::label));
      }
      for (const Side& s : row.outputs) {
        output_width_ = std::max(output_width_, box_width(s.lines));
        label(n, s.label);
      }
      node_width_ = std::max({node_width_, left + right[n] + 44, below});
    }
    input_width_ = input_width;
    node_x_ = kMargin + (input_width > 0 ? input_width + std::max(60, field_width + 28) : 0);
    right_ = node_x_ + node_width_;
    output_x_ = right_ + std::max(70, 40 + kLane * lanes_);
  }

  std::string title(size_t n) const {
    return clipped("%" + std::to_string(n) + " " + p_.nodes[n].op, TextStyle::op, kMostWidth);
  }

  void draw(size_t n) {
    const Row& row = rows_[n];
    d_.box(node_x_, row.y, node_width_, row.height, p_.nodes[n].is_root ? kRoot : kEpilogue);
    d_.text(node_x_ + 12, row.y + 22, title(n), TextStyle::op);
    int line = row.y + 24 + kLine;
    for (const std::string& a : row.attributes) {
      d_.text(node_x_ + 12, line, a, TextStyle::detail);
      line += kLine;
    }
    int at = row.y;
    for (const Side& s : row.inputs) {
      const int y = box(kMargin, at, input_width_, s, kInput);
      d_.line({{kMargin + input_width_, y}, {node_x_, y}}, true);
      d_.text(kMargin + input_width_ + 6, y - 5, s.label, TextStyle::label);
      at += box_height(s.lines) + kApart;
    }
    at = row.y + beside(row);
    for (const Side& s : row.outputs) {
      const int y = box(output_x_, at, output_width_, s, kOutput);
      d_.line({{right_, y}, {output_x_, y}}, true);
      d_.text(right_ - 8, y + 4, s.label, TextStyle::before);
      at += box_height(s.lines) + kApart;
    }
    down(n);
  }

  // Returns the height of its middle.
  int box(int x, int y, int width, const Side& side, Svg::Colours colours) {
    const int height = box_height(side.lines);
    d_.box(x, y, width, height, colours);
    d_.text(x + 10, y + 17, side.lines[0], TextStyle::name);
    for (size_t i = 1; i < side.lines.size(); ++i) {
      d_.text(x + 10, y + 18 + kLine * static_cast<int>(i), side.lines[i], TextStyle::detail);
    }
    return y + height / 2;
  }

  // From the row above, straight down.
  void down(size_t n) {
    const std::vector<Down>& downs = rows_[n].downs;
    int x = node_x_ + (downs.size() == 1 ? node_width_ / 2 : 16);
    for (const Down& d : downs) {
      d_.line({{x, end_of(rows_[n - 1])}, {x, rows_[n].y}}, true);
      d_.text(x + 8, rows_[n].y - 14, d.label(), TextStyle::label);
      x += text_width(d.label(), TextStyle::label) + 32;
    }
  }

  void draw(const Wire& wire) {
    const int x = right_ + 24 + kLane * wire.lane;
    d_.text(right_ - 8, wire.begin + 4, wire.result->port, TextStyle::before);
    d_.line({{right_, wire.begin}, {x, wire.begin}, {x, wire.ends.back().height}}, false);
    for (const Wire::End& e : wire.ends) {
      d_.line({{x, e.height}, {right_, e.height}}, true);
      d_.text(right_ - 8, e.height + 4, e.label, TextStyle::before);
    }
  }

  const Picture& p_;
  std::unordered_map<std::string, const PictureInput*> inputs_;
  std::unordered_map<std::string, const PictureResult*> results_;
  std::vector<Row> rows_;
  std::map<std::string, Wire> wires_;  // by the value that they carry
  int lanes_ = 0;
  int input_width_ = 0;
  int node_x_ = 0;
  int node_width_ = 0;
  int right_ = 0;  // of the ops
  int output_x_ = 0;
  int output_width_ = 0;
  Svg d_;
};

}  // namespace

std::string picture_svg(const Picture& p) { return Painter(p).paint(); }

}  // namespace cohort::cli
