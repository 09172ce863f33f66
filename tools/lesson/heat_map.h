// Pictures as SVG, on a card of their own: light, or dark where the reader's system is.
#pragma once

#include <string>
#include <vector>

#include "lesson/arrays.h"
#include "lesson/page.h"

namespace minigpt::lesson {

// Shares of attention: the darker a cell, the larger, with its number where it has room.
struct HeatMap {
    std::string title;
    Matrix shares;  // [queries, keys], each 0 ... 1
    Names rows, cols;
    bool has_sums = false;  // each row's sum beside it
};

// Some heat maps beside each other, n_across in a row, cells of this many pixels; a note below.
// Numbers and the names of columns are written where cells have 36 pixels and more.
std::string heat_maps(const std::string& title, const std::vector<HeatMap>& maps, size_t n_across,
                      double cell,
                      const std::string& note = "rows: who looks (query); columns: at whom (key)");

struct Series {
    std::string name;
    std::vector<double> y;
};

// Lines over x, both axes logarithmic; a mark and a tick at each x. All numbers above 0.
std::string log_plot(const std::string& title, const std::string& x_name, const std::string& y_name,
                     const std::vector<double>& x, const std::vector<Series>& series);

// A group of bars for each name, one bar a series; numbers from 0, written above where there is
// one series.
std::string bars(const std::string& title, const std::string& x_name, const std::string& y_name,
                 const Names& names, const std::vector<Series>& series);

}  // namespace minigpt::lesson
