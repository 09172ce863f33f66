// The elements of an SVG picture, in the one style that all programs use.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace minigpt::tools {

// A picture with its own background: light, or dark if the reader's system is. Lengths are pixels
// from the upper left corner. Later elements cover earlier ones. Series differ in color, in the
// shape of their marks and in the dashes of their lines, so that color-blind readers can tell them
// apart (Okabe and Ito 2008, "Color Universal Design").
class Picture {
public:
    Picture(double width, double height, const std::string& title);

    // ink: text; soft: names of axes and ticks; on: text on a dark cell; above: text over a plot,
    // with an edge in the background's color, so that no line crosses it visibly.
    enum class Style { ink, soft, on, above };
    enum class Anchor { start, middle, end };
    void text(double x, double y, const std::string& text, Anchor anchor = Anchor::start,
              Style style = Style::ink);
    // Vertical text, read from bottom to top; x, y is its middle.
    void upright(double x, double y, const std::string& text);

    void rule(double x1, double y1, double x2, double y2);
    // A cell of a heat map. strength: 0 ... 1, how dark it is.
    void cell(double x, double y, double width, double height, double strength);
    // A cell without a number.
    void hatched(double x, double y, double width, double height);

    // `series`: 0 ... kSeries - 1.
    static constexpr size_t kSeries = 3;
    void bar(double x, double y, double width, double height, size_t series);
    void line(const std::vector<std::pair<double, double>>& points, size_t series);
    void mark(double x, double y, size_t series);

    // The whole file.
    std::string svg() const { return body_ + "</svg>\n"; }

    // Roughly the largest width that a text can have.
    static double width_of(const std::string& text);

private:
    std::string body_;
};

// A text as XML: <, >, & and quotes are escaped; control characters and bytes that are not UTF-8
// become question marks.
std::string xml(const std::string& text);

}  // namespace minigpt::tools
