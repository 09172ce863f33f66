#include "common/plot.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "common/svg.h"
#include "common/text.h"

namespace minigpt::tools {
namespace {

using Anchor = Picture::Anchor;
using Style = Picture::Style;

constexpr double kWide = 660, kHigh = 380, kLeft = 74, kTop = 72, kRight = 30, kBottom = 54;
constexpr double kFloor = kHigh - kBottom, kEnd = kWide - kRight;
// More points than this have no marks.
constexpr size_t kMarked = 50;

// Where the numbers of an axis lie: from low at `from` to high at `to`.
struct Axis {
    double low, high, from, to;
    bool is_log = false;

    double operator()(double value) const {
        double part = is_log ? std::log(value / low) / std::log(high / low)
                             : value / (high - low) - low / (high - low);
        return from + part * (to - from);
    }
};

// "1 G", "250 k", "1024", "0.5".
std::string tick_text(double value) {
    const char* units[] = {"", " k", " M", " G", " T"};
    size_t unit = 0;
    for (; value >= (unit == 0 ? 10000 : 1000) && unit < 4; unit++)
        value /= 1000;
    return format("%.4g%s", value, units[unit]);
}

// 1, 2 or 5 times a power of ten: at most six of them in a range.
double step_of(double range) {
    double ten = std::pow(10, std::floor(std::log10(range / 5)));
    for (double step : {ten, 2 * ten, 5 * ten}) {
        if (range / step <= 6)
            return step;
    }
    return 10 * ten;
}

// Calls f with each tick's number.
template <typename F>
void for_each_tick(const Axis& axis, F&& f) {
    double step = axis.is_log ? 10 : step_of(axis.high - axis.low);
    double first = axis.is_log ? axis.low : std::ceil(axis.low / step) * step;
    for (size_t i = 0; i < 20; i++) {
        double at = axis.is_log ? first * std::pow(step, static_cast<double>(i))
                                : first + step * static_cast<double>(i);
        if (at > axis.high * (1 + 1e-9 * (axis.high > 0)))
            break;
        f(at);
    }
}

void draw_y_axis(Picture* picture, const Axis& y, const std::string& name) {
    for_each_tick(y, [&](double at) {
        picture->rule(kLeft, y(at), kEnd, y(at));
        picture->text(kLeft - 8, y(at) + 4, tick_text(at), Anchor::end, Style::soft);
    });
    picture->rule(kLeft, kTop, kLeft, kFloor);
    picture->rule(kLeft, kFloor, kEnd, kFloor);
    picture->upright(18, (kTop + kFloor) / 2, name);
}

void draw_x_tick(Picture* picture, double x, const std::string& text) {
    picture->rule(x, kFloor, x, kFloor + 4);
    picture->text(x, kFloor + 19, text, Anchor::middle, Style::soft);
}

void draw_names(Picture* picture, const Plot& plot, bool are_lines) {
    picture->text((kLeft + kEnd) / 2, kHigh - 12, plot.x_name, Anchor::middle, Style::soft);
    double x = kLeft;
    for (size_t s = 0; plot.series.size() > 1 && s < plot.series.size(); s++) {
        if (are_lines) {
            picture->line({{x, kTop - 21}, {x + 28, kTop - 21}}, s);
            picture->mark(x + 14, kTop - 21, s);
        } else {
            picture->bar(x + 14, kTop - 27, 12, 12, s);
        }
        picture->text(x + 34, kTop - 17, plot.series[s].name);
        x += 56 + Picture::width_of(plot.series[s].name);
    }
}

// The least and the largest of the finite numbers; 0 and 0 where there is none.
std::pair<double, double> range_of(const std::vector<Series>& series) {
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (const Series& each : series) {
        for (double y : each.y) {
            if (std::isfinite(y))
                low = std::min(low, y), high = std::max(high, y);
        }
    }
    return low <= high ? std::make_pair(low, high) : std::make_pair(0.0, 0.0);
}

Axis y_axis(const std::vector<Series>& series, Scale scale) {
    auto [low, high] = range_of(series);
    if (scale == Scale::logarithmic) {
        low = std::floor(std::log10(low));
        high = std::max(std::ceil(std::log10(high)), low + 1);
        return {std::pow(10, low), std::pow(10, high), kFloor, kTop, true};
    }
    double margin = std::max({0.05 * (high - low), 0.01, 1e-6 * std::fabs(high)});
    return {low - margin, high + margin, kFloor, kTop};
}

}  // namespace

std::string line_plot(const Plot& plot, const std::vector<double>& x, Scale scale) {
    bool is_log = scale == Scale::logarithmic;
    Axis y = y_axis(plot.series, scale);
    Axis across = {0, x.empty() ? 1 : x.back(), kLeft, kEnd};
    if (is_log)
        across = {x.front(), x.back(), kLeft + 14, kEnd - 14, true};
    Picture picture(kWide, kHigh, plot.title);
    draw_y_axis(&picture, y, plot.y_name);
    if (is_log) {
        for (double each : x)
            draw_x_tick(&picture, across(each), format("%.0f", each));
    } else {
        for_each_tick(across, [&](double at) { draw_x_tick(&picture, across(at), tick_text(at)); });
    }
    draw_names(&picture, plot, true);
    for (size_t s = 0; s < plot.series.size(); s++) {
        std::vector<std::pair<double, double>> points;
        for (size_t i = 0; i < x.size(); i++) {
            if (std::isfinite(plot.series[s].y[i]))
                points.push_back({across(x[i]), y(plot.series[s].y[i])});
        }
        picture.line(points, s);
        for (size_t i = 0; points.size() <= kMarked && i < points.size(); i++)
            picture.mark(points[i].first, points[i].second, s);
    }
    return picture.svg();
}

std::string bar_plot(const Plot& plot, const std::vector<std::string>& names) {
    bool are_written = plot.series.size() == 1;
    double largest = range_of(plot.series).second, step = step_of(largest);
    Axis y = {0, std::ceil(largest * (are_written ? 1.06 : 1) / step) * step, kFloor, kTop};
    Picture picture(kWide, kHigh, plot.title);
    draw_y_axis(&picture, y, plot.y_name);
    draw_names(&picture, plot, false);
    double group = (kEnd - kLeft) / static_cast<double>(names.size());
    double width = group * 0.78 / static_cast<double>(plot.series.size());
    for (size_t i = 0; i < names.size(); i++) {
        double left = kLeft + group * (static_cast<double>(i) + 0.11);
        picture.text(left + group * 0.39, kFloor + 19, names[i], Anchor::middle, Style::soft);
        for (size_t s = 0; s < plot.series.size(); s++) {
            double value = plot.series[s].y[i], x = left + width * static_cast<double>(s);
            picture.bar(x, y(value), width - 1, kFloor - y(value), s);
            if (are_written) {
                picture.text(x + width / 2, y(value) - 6, format("%.3g", value), Anchor::middle,
                             Style::above);
            }
        }
    }
    return picture.svg();
}

}  // namespace minigpt::tools
