// Pictures and plots as SVG.
#include "common/svg.h"

#include <doctest/doctest.h>

#include <cmath>

#include "common/plot.h"
#include "tests/tools/common/xml.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

void check_svg(const std::string& svg) {
    CAPTURE(svg);
    CHECK(xml_fault(svg) == "");
    for (const char* word : {"nan", "inf", "NaN"})
        CHECK(svg.find(word) == std::string::npos);
}

bool has(const std::string& svg, const std::string& part) {
    return svg.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("svg xml: the checker finds what is not well-formed") {
    CHECK(xml_fault("<a><b c=\"d\"/>x &lt; y<e>z</e></a>\n") == "");
    for (const char* text :
         {"", "x", "<a>", "<a></b>", "<a/><b/>", "<a b=c/>", "<a b=\"1\" b=\"2\"/>", "<a>&</a>",
          "<a>&nbsp;</a>", "<a b=\"<\"/>", "<a><b></a></b>", "<a>\x01</a>", "</a>", "<a", "<>"}) {
        CAPTURE(std::string(text));
        CHECK(xml_fault(text) != "");
    }
}

TEST_CASE("svg xml: what XML cannot hold becomes a question mark") {
    CHECK(tools::xml("a<b>&\"c\"") == "a&lt;b&gt;&amp;&quot;c&quot;");
    CHECK(tools::xml("\n\x7f") == "??");
    CHECK(tools::xml("\xc3\xa9t\xe9 \xf0\x9f\x98\x80") == "\xc3\xa9t? \xf0\x9f\x98\x80");
    CHECK(tools::xml("\xef\xbf\xbd\xef\xbf\xbe\xef\xbf\xbf") == "\xef\xbf\xbd??");
}

TEST_CASE("svg plots: names of any letters, and one number alone") {
    const std::string odd = "<&>\"'\n";
    check_svg(tools::bar_plot({odd, odd, odd, {{odd, {0.5}}}}, {odd}));
    check_svg(tools::line_plot({odd, odd, odd, {{odd, {1, 1}}, {odd, {2, 3}}}}, {1, 2},
                               tools::Scale::logarithmic));
    check_svg(tools::line_plot({odd, odd, odd, {{odd, {1}}}}, {1}, tools::Scale::linear));
    check_svg(tools::line_plot({odd, odd, odd, {{odd, {}}}}, {}, tools::Scale::linear));
}

TEST_CASE("svg plots: a bar's number lies above all lines, with an edge of its own") {
    std::string svg = tools::bar_plot({"", "", "", {{"", {57, 0.04}}}}, {"a", "b"});
    size_t first_label = svg.find("<text class=\"above\"");
    REQUIRE(first_label != std::string::npos);
    CHECK(svg.rfind("class=\"rule\"") < first_label);
    CHECK(has(svg, ">57<"));
    CHECK(has(svg, ">0.04<"));
    CHECK(has(svg, ".above { stroke:"));
    // The bar of 57 of 80 is as high as that: from 0 at 326 to 80 at 72.
    CHECK(has(svg, "height=\"206.8\"/>"));
    CHECK(!has(tools::bar_plot({"", "", "", {{"", {1}}, {"", {2}}}}, {"a"}),
               "<text class=\"above\""));
}

TEST_CASE("svg plots: where numbers lie, linear and logarithmic") {
    // x from 0 at 74 to 4 at 630; y from 2.9 at 326 to 5.1 at 72.
    std::string line =
        tools::line_plot({"", "", "", {{"", {3, NAN, 5}}}}, {1, 2, 4}, tools::Scale::linear);
    CHECK(has(line, "points=\"213.0,314.5 630.0,83.5 \""));
    for (const char* tick : {">0<", ">1<", ">4<", ">3<", ">3.5<", ">5<"})
        CHECK(has(line, tick));
    // x from 1 at 88 to 100 at 616; y from 0.1 at 326 to 1000 at 72.
    std::string log = tools::line_plot({"", "", "", {{"", {0.5, 10, 1000}}}}, {1, 10, 100},
                                       tools::Scale::logarithmic);
    CHECK(has(log, "points=\"88.0,281.6 352.0,199.0 616.0,72.0 \""));
    for (const char* tick : {">0.1<", ">1<", ">10<", ">100<", ">1000<"})
        CHECK(has(log, tick));
    CHECK(has(tools::line_plot({"", "", "", {{"", {1, 20000}}}}, {1, 2}, tools::Scale::logarithmic),
              ">10 k<"));
    std::string large =
        tools::line_plot({"", "", "", {{"", {1, 2e9}}}}, {1, 2}, tools::Scale::logarithmic);
    for (const char* tick : {">1000<", ">100 k<", ">1 M<", ">100 M<", ">1 G<"})
        CHECK(has(large, tick));
}

TEST_CASE("svg plots: series differ in more than color, and the legend says which is which") {
    std::string svg = tools::line_plot({"", "", "", {{"one", {1}}, {"two", {2}}, {"three", {3}}}},
                                       {1}, tools::Scale::linear);
    CHECK(has(svg, ".l1 { stroke: #d55e00; stroke-dasharray: 7 3; }"));
    for (const char* part : {"<circle class=\"c0\"", "<rect class=\"c1\"", "<path class=\"c2\"",
                             ">one<", ">two<", ">three<"})
        CHECK(has(svg, part));
    // Many points have no marks, but one in the legend.
    std::vector<double> many(60, 1), x;
    for (size_t i = 0; i < many.size(); i++)
        x.push_back(static_cast<double>(i));
    svg = tools::line_plot({"", "", "", {{"one", many}, {"two", many}}}, x, tools::Scale::linear);
    CHECK(svg.find("<circle") == svg.rfind("<circle"));
}
