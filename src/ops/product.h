// The blocked, threaded product of interleaved rows and panels, under linear() and gemm().
#pragma once

#include <cstddef>

#include "base/buffer.h"
#include "kernels/kernels.h"
#include "minigpt/compute.h"
#include "ops/panels.h"

namespace minigpt {

// For a few rows, kStreams panels are read side by side. They are far from each other, and each is
// followed by the next panel of its stream, so these are long streams. Four of them reach the full
// read rate here; one stream reaches two thirds of it, eight reach nine tenths. Data is prefetched
// 2 KB ahead: then a stream waits neither at a page's end nor for the arithmetic.
constexpr size_t kStreams = 4;
constexpr size_t kAhead = 2048;

// Rows of a product are divided into tiles of at most kMaxRowTile rows, of sizes as equal as
// possible: eight rows become four and four. Tile t begins at row first_row(n_rows, t).
inline size_t tile_count(size_t n_rows) {
    return (n_rows + kMaxRowTile - 1) / kMaxRowTile;
}
inline size_t first_row(size_t n_rows, size_t tile) {
    size_t n_tiles = tile_count(n_rows);
    return n_rows / n_tiles * tile + n_rows % n_tiles * tile / n_tiles;
}

// Copies rows into tiles, one after the other: tile t is [k, rows of t] at first_row(t) * k.
//
//   y  [n_rows * k]  out
//   x  [n_rows, ldx]
void interleave_tiles(const Compute& compute, float* y, const float* x, size_t ldx, size_t n_rows,
                      size_t k);

// The same, quantized for products with q4: KernelTable::quantize writes tile t at
// quantized_bytes(first_row(t), k).
//
//   y  quantized_bytes(n_rows, k) long  out; 4-byte aligned
void quantize_tiles(const Compute& compute, void* y, const float* x, size_t ldx, size_t n_rows,
                    size_t k);

inline size_t quantized_bytes(size_t n_rows, size_t k) {
    return n_rows * group_count(k) * kQuantizedBytes;
}

// c = a b (+ c) (+ bias).
struct Product {
    float* c;  // [n_rows, ldc]  out; the first n of each row; read only if accumulate
    size_t ldc;
    const void* a;  // tiles, from interleave_tiles, or for q4 from quantize_tiles
    size_t n_rows;
    const void* b;  // panels of n outputs and k inputs
    ElementType type;
    size_t n, k;
    const float* bias;  // [n]; nullptr: none
    bool accumulate;
    void* scratch;  // wide_bytes() long, 64-byte aligned; nullptr: q8 is widened once for each
                    // tile of rows
};

// Bytes of scratch in which multiply() widens q8 for many rows, for all threads together.
size_t wide_bytes(const Compute& compute, size_t k);

void multiply(const Compute& compute, const Product& product);

}  // namespace minigpt
