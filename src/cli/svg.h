// What an SVG picture is made of: boxes, texts, wires, and how wide a text is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cohort::cli {

/// How a text is set: the classes of the style sheet.
enum class TextStyle : unsigned char {
  title,   ///< Of the picture, 20 px bold.
  op,      ///< 15 px bold.
  name,    ///< 14 px bold.
  detail,  ///< 12 px.
  label,   ///< 12 px, to the right of its place.
  before,  ///< 12 px, to the left of its place.
};

/// Pixels that a text takes at the most, nearly: in DejaVu Sans, which is wide.
[[nodiscard]] int text_width(std::string_view text, TextStyle style);

/// The text, or its beginning and "..", no wider than `most` pixels.
[[nodiscard]] std::string clipped(std::string_view text, TextStyle style, int most);

/// Collects what is drawn; boxes and texts lie below lines.
class Svg {
 public:
  struct Colours {
    const char* fill;
    const char* stroke;
  };

  void box(int x, int y, int width, int height, Colours colours);
  void text(int x, int y, std::string_view text, TextStyle style);
  /// Straight lines from point to point, with an arrow at the end or without.
  struct Point {
    int x;
    int y;
  };
  void line(const std::vector<Point>& points, bool has_arrow);

  /// The whole document.
  [[nodiscard]] std::string document(int width, int height) const;

 private:
  std::string boxes_;
  std::string lines_;
};

}  // namespace cohort::cli
