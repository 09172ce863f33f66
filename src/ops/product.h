// The blocked, threaded product of interleaved rows and panels, under linear() and gemm().
#pragma once

#include <cstddef>

#include "base/buffer.h"
#include "kernels/kernels.h"
#include "minigpt/compute.h"
#include "minigpt/weights.h"

namespace minigpt {

// Rows of a product are cut into tiles of at most kMaxRowTile rows, of sizes as equal as can be:
// eight rows are four and four. Tile t begins at row first_row(n_rows, t).
inline size_t tile_count(size_t n_rows) {
    return (n_rows + kMaxRowTile - 1) / kMaxRowTile;
}
inline size_t first_row(size_t n_rows, size_t tile) {
    size_t n_tiles = tile_count(n_rows);
    return n_rows / n_tiles * tile + n_rows % n_tiles * tile / n_tiles;
}

inline size_t panel_count(size_t n) {
    return (n + kPanel - 1) / kPanel;
}

// Lays rows out as tiles, one after the other: tile t is [k, rows of t] at first_row(t) * k.
//
//   y  [n_rows * k]  out
//   x  [n_rows, ldx]
void interleave_tiles(const Compute& compute, float* y, const float* x, size_t ldx, size_t n_rows,
                      size_t k);

// c = a b (+ c) (+ bias).
struct Product {
    float* c;  // [n_rows, ldc]  out; the first n of each row; read only if accumulate
    size_t ldc;
    const float* a;  // tiles, as interleave_tiles lays them
    size_t n_rows;
    const void* b;  // [n / 16, k, 16]
    ElementType type;
    size_t n, k;
    const float* bias;  // [n]; nullptr: none
    bool accumulate;
};

void multiply(const Compute& compute, const Product& product);

}  // namespace minigpt
