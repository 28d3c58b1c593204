#include "cli/svg.h"

#include <cmath>

namespace cohort::cli {

namespace {

struct Face {
  char letter;  // class of the style sheet
  int size;     // pixels
  bool is_bold;
};

Face face(TextStyle style) {
  switch (style) {
    case TextStyle::title:
      return {'t', 20, true};
    case TextStyle::op:
      return {'o', 15, true};
    case TextStyle::name:
      return {'n', 14, true};
    case TextStyle::detail:
      return {'d', 12, false};
    case TextStyle::label:
      return {'e', 12, false};
    case TextStyle::before:
      break;
  }
  return {'r', 12, false};
}

// Parts of the size: classes of the widths of DejaVu Sans, each rounded up.
double character_width(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if ((byte & 0xC0) == 0x80) return 0;  // goes on with the character before
  if (byte >= 0xE0) return 1;
  if (std::string_view("mwMW@%").find(c) != std::string_view::npos) return 0.98;
  if (std::string_view("iljI.,:;|!' ").find(c) != std::string_view::npos) return 0.34;
  if (std::string_view("[]()frt-").find(c) != std::string_view::npos) return 0.42;
  if (c >= 'A' && c <= 'Z') return 0.72;
  return 0.64;
}

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

std::string attribute(const char* name, int value) {
  return std::string(" ") + name + "=\"" + std::to_string(value) + "\"";
}

}  // namespace

int text_width(std::string_view text, TextStyle style) {
  double width = 0;
  for (char c : text) width += character_width(c);
  const Face f = face(style);
  return static_cast<int>(std::ceil(width * f.size * (f.is_bold ? 1.12 : 1)));
}

std::string clipped(std::string_view text, TextStyle style, int most) {
  if (text_width(text, style) <= most) return std::string(text);
  const int dots = text_width("..", style);
  size_t end = text.size();
  while (end > 0 && text_width(text.substr(0, end), style) + dots > most) {
    do {
      --end;
    } while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  }
  return std::string(text.substr(0, end)) + "..";
}

void Svg::box(int x, int y, int width, int height, Colours colours) {
  boxes_ += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
            attribute("height", height) + " rx=\"6\" fill=\"" + colours.fill + "\" stroke=\"" +
            colours.stroke + "\"/>\n";
}

void Svg::text(int x, int y, std::string_view text, TextStyle style) {
  boxes_ += "<text" + attribute("x", x) + attribute("y", y) + " class=\"" + face(style).letter +
            "\">" + escaped(text) + "</text>\n";
}

void Svg::line(const std::vector<Point>& points, bool has_arrow) {
  lines_ += "<path d=\"";
  char command = 'M';
  for (const Point& p : points) {
    lines_ += command + std::to_string(p.x) + " " + std::to_string(p.y);
    command = 'L';
  }
  lines_ += std::string("\" class=\"l\"") + (has_arrow ? " marker-end=\"url(#a)\"" : "") + "/>\n";
}

std::string Svg::document(int width, int height) const {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
         attribute("height", height) + " viewBox=\"0 0 " + std::to_string(width) + " " +
         std::to_string(height) +
         "\">\n<style>text{font-family:Helvetica,Arial,sans-serif}"
         ".t{font-size:20px;font-weight:bold}.o{font-size:15px;font-weight:bold}"
         ".n{font-size:14px;font-weight:bold}.d{font-size:12px;fill:#444}"
         ".e,.r{font-size:12px;fill:#555}.r{text-anchor:end}"
         ".l{fill:none;stroke:#666;stroke-width:1.5}</style>\n"
         "<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" "
         "markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#666\"/></marker>"
         "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
         boxes_ + lines_ + "</svg>\n";
}

}  // namespace cohort::cli
