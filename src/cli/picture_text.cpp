// The graph as text: three tables, with the ops of a chain joined.
#include <algorithm>
#include <utility>

#include "cli/picture.h"

namespace cohort::cli {

namespace {

// Columns on a terminal: bytes, but for those that go on with a character.
size_t columns(const std::string& s) {
  return static_cast<size_t>(std::count_if(
      s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// A cell that is wider does not widen its column.
constexpr size_t kWidest = 60;

// Cells below each other, two or more spaces apart; none behind the last one of a line.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t width = columns(row[i]);
      if (width <= kWidest) widths[i] = std::max(widths[i], width);
    }
  }
  std::string s;
  for (const auto& row : rows) {
    std::string line;
    size_t missing = 2;
    for (size_t i = 0; i < row.size(); ++i) {
      if (!row[i].empty()) {
        line += std::string(missing, ' ') + row[i];
        missing = 0;
      }
      missing += widths[i] - std::min(widths[i], columns(row[i])) + 2;
    }
    s += line + "\n";
  }
  return s;
}

bool follows(const Picture& p, size_t n) {
  return !p.nodes[n].is_root && p.nodes[n].in == "%" + std::to_string(n - 1);
}

// What the op reads and how.
std::string call(const Picture& p, size_t n) {
  const PictureNode& node = p.nodes[n];
  std::string s = node.op;
  if (!node.is_root && !follows(p, n)) s += " of " + node.in;
  for (const PictureOperand& o : node.operands) s += "  " + o.field + "=" + o.reference;
  for (const std::string& a : node.attributes) s += "  " + a;
  return s;
}

// A line a result, the first one beside the op.
void add_op(std::vector<std::vector<std::string>>& rows, const Picture& p, size_t n) {
  std::vector<std::string> row{"%" + std::to_string(n), call(p, n), ""};
  for (const PictureResult& r : p.nodes[n].results) {
    if (!r.is_used) continue;
    row[2] = "-> " + (r.port.empty() ? "" : r.port + " ") + r.type;
    rows.push_back(std::move(row));
    row = {"", "", ""};
  }
}

}  // namespace

std::string picture_text(const Picture& p) {
  std::string s = p.name;
  for (const std::string& d : p.dims) s += "   " + d;
  std::vector<std::vector<std::string>> inputs;
  for (const PictureInput& i : p.inputs) inputs.push_back({i.name, i.role, i.type, i.extra});
  s += "\n\ninputs\n" + table(inputs) + "\nops\n";
  std::vector<std::vector<std::string>> ops;
  for (size_t n = 0; n < p.nodes.size(); ++n) {
    if (follows(p, n)) ops.push_back({" |"});
    add_op(ops, p, n);
  }
  s += table(ops) + "\noutputs\n";
  std::vector<std::vector<std::string>> outputs;
  for (const PictureOutput& o : p.outputs) {
    outputs.push_back({o.name, "= " + o.value, o.type, o.extra});
  }
  return s + table(outputs);
}

}  // namespace cohort::cli
