// The blocked, threaded product of interleaved rows and panels, under linear() and gemm().
#pragma once

#include <cstddef>

#include "base/buffer.h"
#include "kernels/kernels.h"
#include "minigpt/compute.h"
#include "ops/panels.h"

namespace minigpt {

// Panels that a few rows read side by side, each far from the others and followed by the next of
// its own: long streams, of which four are as fast as reads are here. One stream alone gets two
// thirds of that, and eight nine tenths. Asked for 2 KB ahead a stream waits neither at a page's
// end nor for what computes.
constexpr size_t kStreams = 4;
constexpr size_t kAhead = 2048;

// Rows of a product are cut into tiles of at most kMaxRowTile rows, of sizes as equal as can be:
// eight rows are four and four. Tile t begins at row first_row(n_rows, t).
inline size_t tile_count(size_t n_rows) {
    return (n_rows + kMaxRowTile - 1) / kMaxRowTile;
}
inline size_t first_row(size_t n_rows, size_t tile) {
    size_t n_tiles = tile_count(n_rows);
    return n_rows / n_tiles * tile + n_rows % n_tiles * tile / n_tiles;
}

// Lays rows out as tiles, one after the other: tile t is [k, rows of t] at first_row(t) * k.
//
//   y  [n_rows * k]  out
//   x  [n_rows, ldx]
void interleave_tiles(const Compute& compute, float* y, const float* x, size_t ldx, size_t n_rows,
                      size_t k);

// The same, quantized for products of q4: tile t is what KernelTable::quantize makes of it, at
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
    const void* a;  // tiles, as interleave_tiles lays them, or of q4 quantize_tiles
    size_t n_rows;
    const void* b;  // panels of n outputs and k inputs
    ElementType type;
    size_t n, k;
    const float* bias;  // [n]; nullptr: none
    bool accumulate;
    void* scratch;  // wide_bytes() long, 64-byte aligned; nullptr: none, q8 is then widened
                    // once for each tile of rows
};

// Bytes in which multiply() widens q8 for many rows, for all threads.
size_t wide_bytes(const Compute& compute, size_t k);

void multiply(const Compute& compute, const Product& product);

}  // namespace minigpt
