// The elements of an SVG picture, in the one style that all programs draw in.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace minigpt::tools {

// A picture on a card of its own: light, or dark where the reader's system is. Lengths are pixels
// from the upper left corner. What is drawn later lies above. Series are told apart by their color
// and also by the shape of their marks and the dashes of their lines, for those who see colors
// differently (Okabe and Ito 2008, "Color Universal Design").
class Picture {
public:
    Picture(double width, double height, const std::string& title);

    // ink: text; soft: names of axes and ticks; on: upon a dark cell; above: over a plot, with an
    // edge of the card's color, so that no line strikes it through.
    enum class Style { ink, soft, on, above };
    enum class Anchor { start, middle, end };
    void text(double x, double y, const std::string& text, Anchor anchor = Anchor::start,
              Style style = Style::ink);
    // Turned to be read from below to above; x, y is its middle.
    void upright(double x, double y, const std::string& text);

    void rule(double x1, double y1, double x2, double y2);
    // A cell of a heat map: strength 0 ... 1 of a dark color.
    void cell(double x, double y, double width, double height, double strength);
    // A cell that has no number.
    void hatched(double x, double y, double width, double height);

    // Of series number 0 ... kSeries - 1.
    static constexpr size_t kSeries = 3;
    void bar(double x, double y, double width, double height, size_t series);
    void line(const std::vector<std::pair<double, double>>& points, size_t series);
    void mark(double x, double y, size_t series);

    // The whole file.
    std::string svg() const { return body_ + "</svg>\n"; }

    // A text's width at most, roughly.
    static double width_of(const std::string& text);

private:
    std::string body_;
};

// A text as XML: <, >, & and quotes escaped; control characters, and bytes that are not UTF-8, as
// question marks.
std::string xml(const std::string& text);

}  // namespace minigpt::tools
