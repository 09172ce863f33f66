// The elements of an SVG picture.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace minigpt::lesson {

// Lengths are pixels from the upper left corner. What is drawn later lies above.
class Picture {
public:
    Picture(double width, double height, const std::string& title);

    // style: "ink", "soft" or "on" (upon a dark cell); anchor: "start", "middle" or "end".
    void text(double x, double y, const std::string& text, const char* anchor = "start",
              const char* style = "ink");
    // Turned to be read from below to above.
    void upright(double x, double y, const std::string& text);
    // A box of color number 0 ... 3, `strength` 0 ... 1 of it.
    void box(double x, double y, double width, double height, size_t color, double strength = 1);
    void rule(double x1, double y1, double x2, double y2);
    void path(const std::vector<std::pair<double, double>>& points, size_t color);

    // The whole file.
    std::string svg() const { return body_ + "</svg>\n"; }

private:
    std::string body_;
};

// A text as XML: <, >, & and quotes escaped, control characters as spaces.
std::string xml(const std::string& text);

}  // namespace minigpt::lesson
