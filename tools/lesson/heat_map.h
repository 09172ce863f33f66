// Shares of attention as pictures.
#pragma once

#include <string>
#include <vector>

#include "lesson/arrays.h"
#include "lesson/page.h"

namespace minigpt::lesson {

// The darker a cell, the larger, with its number where cells have 36 pixels and more. What the mask
// hides is hatched.
struct HeatMap {
    std::string title;
    Matrix shares;           // [queries, keys], each 0 ... 1
    Names rows, cols;        // "": a row or column without a name
    bool is_masked = false;  // the cells above the diagonal are hidden
    bool has_sums = false;   // each row's sum beside it
};

// What the axes of some heat maps are called.
struct Axes {
    std::string rows = "query: who looks", cols = "key: at whom";
};

// Some heat maps beside each other, n_across in a row, cells of this many pixels.
std::string heat_maps(const std::string& title, const std::vector<HeatMap>& maps, size_t n_across,
                      double cell, const Axes& axes = {});

}  // namespace minigpt::lesson
