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
    std::vector<Series> series;  // Picture::kSeries at most
};

// Lines over x, upwards, as many numbers as each series has; what is not a finite number is left
// out. linear: x from 0 on. logarithmic: both axes, all numbers above 0, a tick at each x.
enum class Scale { linear, logarithmic };
std::string line_plot(const Plot& plot, const std::vector<double>& x, Scale scale);

// A group of bars for each name, one bar a series; numbers from 0 on, written above their bars
// where there is one series.
std::string bar_plot(const Plot& plot, const std::vector<std::string>& names);

}  // namespace minigpt::tools
