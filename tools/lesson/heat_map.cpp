#include "lesson/heat_map.h"

#include <algorithm>

#include "common/svg.h"

namespace minigpt::lesson {
namespace {

using tools::Picture;
using Anchor = Picture::Anchor;
using Style = Picture::Style;

// Cells of this size have room for numbers.
constexpr double kRoomy = 36;
// From this share on light numbers have more contrast than dark ones.
constexpr double kDark = 0.78;
// Left of the rows' names there is the axis's; below the cells, the other's.
constexpr double kAxis = 20;

double width_of(const Names& names) {
    double widest = 0;
    for (const std::string& name : names)
        widest = std::max(widest, Picture::width_of(name));
    return widest;
}

// Of one map: where its cells begin, and how large it is with all that is around them.
struct Layout {
    double left, top, cells_wide, cells_high, width, height;
};

Layout layout_of(const HeatMap& map, double cell) {
    double left = kAxis + width_of(map.rows) + 10, top = 46;
    double wide = cell * static_cast<double>(map.cols.size());
    double high = cell * static_cast<double>(map.rows.size());
    double width = left + wide + (map.has_sums ? 56 : 0);
    return {
        left, top, wide, high, std::max(width, Picture::width_of(map.title)), top + high + kAxis};
}

void draw_cell(Picture* picture, double x, double y, double cell, double share) {
    if (share > 0)
        picture->cell(x, y, cell - 1, cell - 1, share);
    if (cell >= kRoomy) {
        picture->text(x + cell / 2, y + cell / 2 + 5, number(share, 2), Anchor::middle,
                      share > kDark ? Style::on : Style::ink);
    }
}

void draw_map(Picture* picture, double x, double y, const HeatMap& map, double cell,
              const Axes& axes) {
    Layout at = layout_of(map, cell);
    picture->text(x, y + 16, map.title);
    x += at.left, y += at.top;
    picture->upright(x - width_of(map.rows) - 16, y + at.cells_high / 2, axes.rows);
    picture->text(x + at.cells_wide / 2, y + at.cells_high + 16, axes.cols, Anchor::middle,
                  Style::soft);
    picture->cell(x - 1, y - 1, at.cells_wide + 1, at.cells_high + 1, 0.06);
    for (size_t j = 0; j < map.cols.size(); j++) {
        picture->text(x + cell * (static_cast<double>(j) + 0.5), y - 7, map.cols[j], Anchor::middle,
                      Style::soft);
    }
    if (map.has_sums)
        picture->text(x + at.cells_wide + 56, y - 7, "sum", Anchor::end, Style::soft);
    std::vector<double> sums = row_sums(map.shares);
    for (size_t i = 0; i < map.rows.size(); i++) {
        double row = y + cell * static_cast<double>(i), middle = row + cell / 2 + 5;
        picture->text(x - 8, middle, map.rows[i], Anchor::end, Style::soft);
        for (size_t j = 0; j < map.cols.size(); j++) {
            double col = x + cell * static_cast<double>(j);
            if (map.is_masked && j > i)
                picture->hatched(col, row, cell - 1, cell - 1);
            else
                draw_cell(picture, col, row, cell, static_cast<double>(map.shares.at(i, j)));
        }
        if (map.has_sums)
            picture->text(x + at.cells_wide + 56, middle, number(sums[i]), Anchor::end);
    }
}

}  // namespace

std::string heat_maps(const std::string& title, const std::vector<HeatMap>& maps, size_t n_across,
                      double cell, const Axes& axes) {
    const double margin = 24, gap = 28, top = 40;
    double wide = 0, high = 0;
    bool has_masked = false;
    for (const HeatMap& map : maps) {
        Layout layout = layout_of(map, cell);
        wide = std::max(wide, layout.width), high = std::max(high, layout.height);
        has_masked = has_masked || map.is_masked;
    }
    n_across = std::min(n_across, maps.size());
    size_t n_down = (maps.size() + n_across - 1) / n_across;
    double width = 2 * margin + (wide + gap) * static_cast<double>(n_across) - gap;
    width = std::max(width, 2 * margin + 9 * static_cast<double>(title.size()));
    double height = top + (high + 14) * static_cast<double>(n_down) + (has_masked ? 34 : 8);
    Picture picture(width, height, title);
    for (size_t m = 0; m < maps.size(); m++) {
        draw_map(&picture, margin + (wide + gap) * static_cast<double>(m % n_across),
                 top + (high + 14) * static_cast<double>(m / n_across), maps[m], cell, axes);
    }
    if (has_masked) {
        picture.hatched(margin, height - 26, 14, 14);
        picture.text(margin + 22, height - 14, "masked: a later word", Anchor::start, Style::soft);
    }
    return picture.svg();
}

}  // namespace minigpt::lesson
