// Plots with axes, as SVG: lines and bars.
#pragma once

#include <string>
#include <vector>

namespace minigpt::tools {

struct Series {
    std::string name;
    std::vector<double> y;
};

struct Plot {
    std::string title, x_name, y_name;
    std::vector<Series> series;  // at most Picture::kSeries
};

// Draws lines over ascending x; each series has as many numbers as x. Numbers that are not finite
// are left out. linear: x starts at 0. logarithmic: both axes; all numbers are above 0; a tick at
// each x.
enum class Scale { linear, logarithmic };
std::string line_plot(const Plot& plot, const std::vector<double>& x, Scale scale);

// Draws a group of bars for each name, one bar for each series. Numbers are at least 0. With one
// series they are written above their bars.
std::string bar_plot(const Plot& plot, const std::vector<std::string>& names);

}  // namespace minigpt::tools
