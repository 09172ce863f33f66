// The picture of a run's losses.
#include "train/chart.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace minigpt::networks;
using minigpt::train::loss_chart;

TEST_CASE("train chart: an image of any run, with any title") {
    std::string none = loss_chart("a<b&\n", {}), one = loss_chart("x", {{10, 2.5, 2.5}});
    CHECK(none.find("a&lt;b&amp;?") != std::string::npos);
    for (const std::string& svg : {none, one}) {
        CHECK(svg.find("<svg ") == 0);
        CHECK(svg.find("nan") == std::string::npos);
        CHECK(svg.find("inf") == std::string::npos);
    }
    for (double strange : {double{NAN}, HUGE_VAL, -HUGE_VAL, 1e20, 1e300}) {
        for (std::vector<Evaluation> run :
             {std::vector<Evaluation>{{10, strange, strange}},
              std::vector<Evaluation>{{10, 2, 3}, {20, 1, strange}, {30, strange, 2}}}) {
            std::string svg = loss_chart("x", run);
            CHECK(svg.size() < 10000);
            CHECK(svg.find("nan") == std::string::npos);
            CHECK(svg.find("inf") == std::string::npos);
        }
    }
    std::string svg = loss_chart("x", {{100, 3, 4}, {200, 2, 3}});
    CHECK(svg.find("points=\"352.0,") != std::string::npos);
    CHECK(svg.find(" 630.0,") != std::string::npos);
}
