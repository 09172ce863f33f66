// Converts numbers of each element type to f32, exactly, and rounds f32 to a type.
#pragma once

#include <cstddef>

#include "ops/panels.h"

namespace minigpt {

// y[i * y_stride] = x[i * x_stride] for i < n. `type` is not a grouped one; x may have any
// alignment.
void widen(float* y, size_t y_stride, const void* x, size_t x_stride, ElementType type, size_t n);

// y [n] = x [n], rounded to nearest, ties to even. `type` is f16 or bf16.
void narrow(uint16_t* y, const float* x, ElementType type, size_t n);

// y[i * stride] = input first + i of one output of the matrix, for i < n.
void read_output(float* y, size_t stride, const PanelMatrix& w, size_t out, size_t first, size_t n);
// The same for f16 and bf16, as the 16 bits that are stored.
void read_output(uint16_t* y, size_t stride, const PanelMatrix& w, size_t out, size_t first,
                 size_t n);

// y [w.n_in] = all inputs of one output. This is a token's embedding, if the table is also the
// output head.
inline void gather_row(float* y, const PanelMatrix& w, size_t row) {
    read_output(y, 1, w, row, 0, w.n_in);
}

}  // namespace minigpt
