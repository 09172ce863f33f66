#include "common/svg.h"

#include <cstring>

#include "common/error.h"
#include "common/text.h"
#include "common/utf8.h"

namespace minigpt::tools {
namespace {

// Text has a contrast of 4.5 and more to what it lies on, lines of 3 and more. What knows no color
// schemes shows the light one.
const char kHead[] =
    "<style>\n"
    "text { font-family: sans-serif; font-size: 13px; }\n"
    ".title { font-size: 15px; font-weight: bold; }\n"
    ".card { fill: #fcfcfa; stroke: #d8d8d2; }\n"
    ".ink, .title, .above { fill: #1f2328; }\n"
    ".soft { fill: #5b626b; }\n"
    ".on { fill: #ffffff; }\n"
    ".above { stroke: #fcfcfa; stroke-width: 4; stroke-linejoin: round; paint-order: stroke; }\n"
    ".rule { stroke: #c9cccf; }\n"
    ".hatch { stroke: #9aa0a6; }\n"
    ".cell { fill: #1c5cab; }\n"
    ".c0 { fill: #0072b2; } .l0 { stroke: #0072b2; }\n"
    ".c1 { fill: #d55e00; } .l1 { stroke: #d55e00; stroke-dasharray: 7 3; }\n"
    ".c2 { fill: #009e73; } .l2 { stroke: #009e73; stroke-dasharray: 2 3; }\n"
    ".line { fill: none; stroke-width: 2; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    ".card { fill: #191b1f; stroke: #3a3d42; }\n"
    ".ink, .title, .on, .above { fill: #eceef1; }\n"
    ".above { stroke: #191b1f; }\n"
    ".soft { fill: #a9afb8; }\n"
    ".rule { stroke: #45494f; }\n"
    ".hatch { stroke: #6b7078; }\n"
    ".cell { fill: #2f6fc0; }\n"
    ".c0 { fill: #56b4e9; } .l0 { stroke: #56b4e9; }\n"
    ".c1 { fill: #e8873a; } .l1 { stroke: #e8873a; }\n"
    ".c2 { fill: #2bbd94; } .l2 { stroke: #2bbd94; }\n"
    "}\n"
    "</style>\n"
    "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><line class=\"hatch\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\"/>"
    "</pattern></defs>\n";

const char* name_of(Picture::Style style) {
    const char* names[] = {"ink", "soft", "on", "above"};
    return names[static_cast<size_t>(style)];
}

const char* name_of(Picture::Anchor anchor) {
    const char* names[] = {"start", "middle", "end"};
    return names[static_cast<size_t>(anchor)];
}

// U+FFFE and U+FFFF are UTF-8, but no characters of XML.
bool is_no_character(const unsigned char* bytes, size_t n) {
    return n == 3 && bytes[0] == 0xef && bytes[1] == 0xbf && bytes[2] >= 0xbe;
}

std::string box(const char* attribute, double x, double y, double width, double height) {
    return format("<rect %s x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", attribute, x, y,
                  width, height);
}

}  // namespace

Picture::Picture(double width, double height, const std::string& title) {
    body_ = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
        "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
        width, height, width, height);
    body_ += "<title>" + xml(title) + "</title>\n" + kHead;
    body_ += box("class=\"card\"", 0.5, 0.5, width - 1, height - 1) + " rx=\"8\"/>\n";
    body_ += "<text class=\"title\" x=\"16\" y=\"26\">" + xml(title) + "</text>\n";
}

void Picture::text(double x, double y, const std::string& text, Anchor anchor, Style style) {
    body_ += format("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", name_of(style),
                    x, y, name_of(anchor)) +
             xml(text) + "</text>\n";
}

void Picture::upright(double x, double y, const std::string& text) {
    body_ += format(
                 "<text class=\"soft\" transform=\"translate(%.1f %.1f) rotate(-90)\" "
                 "text-anchor=\"middle\">",
                 x, y) +
             xml(text) + "</text>\n";
}

void Picture::rule(double x1, double y1, double x2, double y2) {
    body_ += format("<line class=\"rule\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1,
                    y1, x2, y2);
}

void Picture::cell(double x, double y, double width, double height, double strength) {
    body_ +=
        box("class=\"cell\"", x, y, width, height) + format(" fill-opacity=\"%.3f\"/>\n", strength);
}

void Picture::hatched(double x, double y, double width, double height) {
    body_ += box("fill=\"url(#hatch)\"", x, y, width, height) + "/>\n";
}

void Picture::bar(double x, double y, double width, double height, size_t series) {
    body_ += box(format("class=\"c%zu\"", series).c_str(), x, y, width, height) + "/>\n";
}

void Picture::line(const std::vector<std::pair<double, double>>& points, size_t series) {
    body_ += format("<polyline class=\"line l%zu\" points=\"", series);
    for (const auto& [x, y] : points)
        body_ += format("%.1f,%.1f ", x, y);
    body_ += "\"/>\n";
}

// A disc, a square and a triangle.
void Picture::mark(double x, double y, size_t series) {
    if (series == 0) {
        body_ += format("<circle class=\"c0\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", x, y);
    } else if (series == 1) {
        bar(x - 3.5, y - 3.5, 7, 7, 1);
    } else {
        body_ += format("<path class=\"c%zu\" d=\"M%.1f %.1fl4.5 8h-9z\"/>\n", series, x, y - 5);
    }
}

double Picture::width_of(const std::string& text) {
    return 7.2 * static_cast<double>(text.size());
}

std::string xml(const std::string& text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const unsigned char* bytes = reinterpret_cast<const unsigned char*>(text.data()) + at;
        const Utf8Piece piece = utf8_piece(text, at);
        const size_t n = piece.n_bytes;
        if (!piece.is_valid || *bytes < 0x20 || *bytes == 0x7f || is_no_character(bytes, n)) {
            out += '?';
        } else if (n == 1 && strchr("<>&\"", *bytes) != nullptr) {
            out += *bytes == '<'   ? "&lt;"
                   : *bytes == '>' ? "&gt;"
                   : *bytes == '&' ? "&amp;"
                                   : "&quot;";
        } else {
            out.append(text, at, n);
        }
        at += n;
    }
    return out;
}

}  // namespace minigpt::tools
