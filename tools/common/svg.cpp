#include "lesson/picture.h"

#include "common/error.h"

namespace minigpt::lesson {
namespace {

using cli::format;

// Dark on light with a contrast of 4.5 and more, and the reverse where the reader wants it.
const char kStyle[] =
    "<style>\n"
    "text { font-family: sans-serif; font-size: 13px; }\n"
    ".title { font-size: 15px; font-weight: bold; }\n"
    ".card { fill: #fcfcfa; stroke: #d8d8d2; }\n"
    ".ink, .title { fill: #1f2328; }\n"
    ".soft { fill: #5b626b; }\n"
    ".on { fill: #ffffff; }\n"
    ".rule { stroke: #b9bcc0; }\n"
    ".c0 { fill: #1c5cab; } .l0 { stroke: #1c5cab; }\n"
    ".c1 { fill: #c2541a; } .l1 { stroke: #c2541a; }\n"
    ".c2 { fill: #1b7a4b; } .l2 { stroke: #1b7a4b; }\n"
    ".c3 { fill: #7a4bb0; } .l3 { stroke: #7a4bb0; }\n"
    ".line { fill: none; stroke-width: 2; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    ".card { fill: #191b1f; stroke: #3a3d42; }\n"
    ".ink, .title, .on { fill: #eceef1; }\n"
    ".soft { fill: #a9afb8; }\n"
    ".rule { stroke: #51555c; }\n"
    ".c0 { fill: #2f6fc0; } .l0 { stroke: #5b98e8; }\n"
    ".c1 { fill: #c2602a; } .l1 { stroke: #e8874f; }\n"
    ".c2 { fill: #2c8a5a; } .l2 { stroke: #55b985; }\n"
    ".c3 { fill: #8a60bd; } .l3 { stroke: #a985d8; }\n"
    "}\n"
    "</style>\n";

}  // namespace

Picture::Picture(double width, double height, const std::string& title) {
    body_ = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
        "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>%s</title>\n",
        width, height, width, height, xml(title).c_str());
    body_ += kStyle;
    body_ += format(
        "<rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"%.0f\" height=\"%.0f\" rx=\"8\"/>\n",
        width - 1, height - 1);
    text(16, 26, title, "start", "title");
}

void Picture::text(double x, double y, const std::string& text, const char* anchor,
                   const char* style) {
    body_ += format("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
                    style, x, y, anchor, xml(text).c_str());
}

void Picture::upright(double x, double y, const std::string& text) {
    body_ += format(
        "<text class=\"soft\" transform=\"translate(%.1f %.1f) rotate(-90)\" "
        "text-anchor=\"middle\">%s</text>\n",
        x, y, xml(text).c_str());
}

void Picture::box(double x, double y, double width, double height, size_t color, double strength) {
    body_ += format(
        "<rect class=\"c%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
        "fill-opacity=\"%.3f\"/>\n",
        color, x, y, width, height, strength);
}

void Picture::rule(double x1, double y1, double x2, double y2) {
    body_ += format("<line class=\"rule\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1,
                    y1, x2, y2);
}

void Picture::path(const std::vector<std::pair<double, double>>& points, size_t color) {
    body_ += format("<polyline class=\"line l%zu\" points=\"", color);
    for (const auto& [x, y] : points)
        body_ += format("%.1f,%.1f ", x, y);
    body_.back() = '"';
    body_ += "/>\n";
    for (const auto& [x, y] : points)
        body_ +=
            format("<circle class=\"c%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", color, x, y);
}

std::string xml(const std::string& text) {
    std::string out;
    for (char c : text) {
        switch (c) {
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '&':
                out += "&amp;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
        }
    }
    return out;
}

}  // namespace minigpt::lesson
