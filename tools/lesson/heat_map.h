// Draws attention weights as heat maps.
#pragma once

#include <string>
#include <vector>

#include "lesson/arrays.h"
#include "lesson/page.h"

namespace minigpt::lesson {

// A darker cell has a larger number. Cells of 36 pixels and more show the number. Masked cells are
// hatched.
struct HeatMap {
    std::string title;
    Matrix shares;           // [queries, keys], each 0 ... 1
    Names rows, cols;        // "": a row or column without a name
    bool is_masked = false;  // the cells above the diagonal are masked
    bool has_sums = false;   // show each row's sum beside it
};

// The names of the axes of some heat maps.
struct Axes {
    std::string rows = "query: who looks", cols = "key: at whom";
};

// Draws heat maps side by side, n_across in a row, with cells of this many pixels.
std::string heat_maps(const std::string& title, const std::vector<HeatMap>& maps, size_t n_across,
                      double cell, const Axes& axes = {});

}  // namespace minigpt::lesson
