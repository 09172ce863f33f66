#include "lesson/svg.h"

#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "lesson/picture.h"

namespace minigpt::lesson {
namespace {

using cli::format;

// Sans-serif letters of 13 pixels are about this wide.
constexpr double kLetter = 7.2;

double width_of(const Names& names) {
    size_t longest = 0;
    for (const std::string& name : names)
        longest = std::max(longest, name.size());
    return static_cast<double>(longest) * kLetter;
}

struct MapSize {
    double left, top, width, height;
};

// Cells of this size have room for numbers, and then the columns for names.
constexpr double kRoomy = 36;

MapSize size_of(const HeatMap& map, double cell) {
    double left = width_of(map.rows) > 0 ? width_of(map.rows) + 10 : 0;
    double top = width_of(map.cols) > 0 ? 62 : 26;
    double width = left + cell * static_cast<double>(map.cols.size()) + (map.has_sums ? 56 : 0);
    return {left, top, std::max(width, kLetter * static_cast<double>(map.title.size())),
            top + cell * static_cast<double>(map.rows.size())};
}

void draw_map(Picture* picture, double x, double y, const HeatMap& map, double cell) {
    MapSize size = size_of(map, cell);
    picture->text(x, y + 16, map.title);
    bool has_room = cell >= kRoomy, has_cols = width_of(map.cols) <= cell;
    std::vector<double> sums = row_sums(map.shares);
    picture->box(x + size.left - 1, y + size.top - 1,
                 cell * static_cast<double>(map.cols.size()) + 1,
                 cell * static_cast<double>(map.rows.size()) + 1, 0, 0.06);
    for (size_t j = 0; has_cols && j < map.cols.size(); j++) {
        picture->text(x + size.left + cell * (static_cast<double>(j) + 0.5), y + size.top - 8,
                      map.cols[j], "middle", "soft");
    }
    if (map.has_sums)
        picture->text(x + size.width, y + size.top - 8, "sum", "end", "soft");
    for (size_t i = 0; i < map.rows.size(); i++) {
        double at = y + size.top + cell * static_cast<double>(i), middle = at + cell / 2 + 5;
        if (!map.rows[i].empty())
            picture->text(x + size.left - 8, middle, map.rows[i], "end", "soft");
        for (size_t j = 0; j < map.cols.size(); j++) {
            double share = static_cast<double>(map.shares.at(i, j));
            double left = x + size.left + cell * static_cast<double>(j);
            if (share > 0)
                picture->box(left, at, cell - 1, cell - 1, 0, share);
            if (has_room) {
                picture->text(left + cell / 2, middle, number(share, 2), "middle",
                              share > 0.7 ? "on" : "ink");
            }
        }
        if (map.has_sums)
            picture->text(x + size.width, middle, number(sums[i]), "end", "ink");
    }
}

// What a plot's y axis says: "1 G", "250 k", "0.5".
std::string tick_text(double y) {
    const char* units[] = {"", " k", " M", " G", " T"};
    size_t unit = 0;
    for (; y >= 1000 && unit < 4; unit++)
        y /= 1000;
    return format("%.4g%s", y, units[unit]);
}

constexpr double kWide = 640, kHigh = 360, kLeft = 74, kTop = 66, kBottom = 54, kRight = 24;
constexpr double kFloor = kHigh - kBottom;

void draw_frame(Picture* picture, const std::string& x_name, const std::string& y_name,
                const std::vector<Series>& series) {
    picture->rule(kLeft, kFloor, kWide - kRight, kFloor);
    picture->rule(kLeft, kTop, kLeft, kFloor);
    picture->text((kLeft + kWide - kRight) / 2, kHigh - 12, x_name, "middle", "soft");
    picture->upright(18, (kTop + kFloor) / 2, y_name);
    double x = kLeft;
    for (size_t s = 0; series.size() > 1 && s < series.size(); s++) {
        picture->box(x, kTop - 28, 12, 12, s);
        picture->text(x + 18, kTop - 17, series[s].name);
        x += 40 + kLetter * static_cast<double>(series[s].name.size());
    }
}

void draw_y_tick(Picture* picture, double y, const std::string& text) {
    picture->rule(kLeft, y, kWide - kRight, y);
    picture->text(kLeft - 6, y + 4, text, "end", "soft");
}

double largest_of(const std::vector<Series>& series) {
    double largest = 0;
    for (const Series& each : series)
        largest = std::max(largest, *std::max_element(each.y.begin(), each.y.end()));
    return largest;
}

// 1, 2 or 5 times a power of ten, so that y needs about four.
double step_of(double y) {
    double step = std::pow(10.0, std::floor(std::log10(y / 4)));
    for (double times : {5.0, 2.0}) {
        if (y / 4 >= times * step)
            return times * step;
    }
    return step;
}

}  // namespace

std::string heat_maps(const std::string& title, const std::vector<HeatMap>& maps, size_t n_across,
                      double cell, const std::string& note) {
    const double margin = 24, gap = 28;
    MapSize one = {};
    for (const HeatMap& map : maps) {
        MapSize size = size_of(map, cell);
        one.width = std::max(one.width, size.width);
        one.height = std::max(one.height, size.height);
    }
    n_across = std::min(n_across, maps.size());
    size_t n_down = (maps.size() + n_across - 1) / n_across;
    double width = 2 * margin + (one.width + gap) * static_cast<double>(n_across) - gap;
    width = std::max(width, 2 * margin + 9 * static_cast<double>(title.size()));
    double height = 40 + (one.height + 12) * static_cast<double>(n_down) + 32;
    Picture picture(width, height, title);
    for (size_t m = 0; m < maps.size(); m++) {
        draw_map(&picture, margin + (one.width + gap) * static_cast<double>(m % n_across),
                 36 + (one.height + 12) * static_cast<double>(m / n_across), maps[m], cell);
    }
    picture.text(margin, height - 14, note, "start", "soft");
    return picture.svg();
}

std::string log_plot(const std::string& title, const std::string& x_name, const std::string& y_name,
                     const std::vector<double>& x, const std::vector<Series>& series) {
    double least = largest_of(series);
    for (const Series& each : series)
        least = std::min(least, *std::min_element(each.y.begin(), each.y.end()));
    double low = std::floor(std::log10(least));
    double high = std::max(std::ceil(std::log10(largest_of(series))), low + 1);
    auto to_x = [&](double value) {
        double part = std::log(value / x.front()) / std::log(x.back() / x.front());
        return kLeft + 12 + part * (kWide - kRight - kLeft - 24);
    };
    auto to_y = [&](double value) {
        return kFloor - (std::log10(value) - low) / (high - low) * (kFloor - kTop);
    };
    Picture picture(kWide, kHigh, title);
    for (double power = low; power <= high; power++)
        draw_y_tick(&picture, to_y(std::pow(10, power)), tick_text(std::pow(10, power)));
    draw_frame(&picture, x_name, y_name, series);
    for (double each : x)
        picture.text(to_x(each), kFloor + 18, format("%.0f", each), "middle", "soft");
    for (size_t s = 0; s < series.size(); s++) {
        std::vector<std::pair<double, double>> points;
        for (size_t i = 0; i < x.size(); i++)
            points.push_back({to_x(x[i]), to_y(series[s].y[i])});
        picture.path(points, s);
    }
    return picture.svg();
}

std::string bars(const std::string& title, const std::string& x_name, const std::string& y_name,
                 const Names& names, const std::vector<Series>& series) {
    double largest = largest_of(series), step = step_of(largest);
    double top = std::ceil(largest * (series.size() == 1 ? 1.06 : 1) / step) * step;
    auto to_y = [&](double value) { return kFloor - value / top * (kFloor - kTop); };
    Picture picture(kWide, kHigh, title);
    for (double y = 0; y <= top * 1.001; y += step)
        draw_y_tick(&picture, to_y(y), tick_text(y));
    draw_frame(&picture, x_name, y_name, series);
    double group = (kWide - kRight - kLeft) / static_cast<double>(names.size());
    double width = group * 0.78 / static_cast<double>(series.size());
    for (size_t i = 0; i < names.size(); i++) {
        double left = kLeft + group * (static_cast<double>(i) + 0.11);
        picture.text(left + group * 0.39, kFloor + 18, names[i], "middle", "soft");
        for (size_t s = 0; s < series.size(); s++) {
            double x = left + width * static_cast<double>(s), y = to_y(series[s].y[i]);
            picture.box(x, y, width - 1, kFloor - y, s);
            if (series.size() == 1)
                picture.text(x + width / 2, y - 5, format("%.3g", series[s].y[i]), "middle");
        }
    }
    return picture.svg();
}

}  // namespace minigpt::lesson
