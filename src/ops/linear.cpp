#include "ops/linear.h"

#include <cstdint>

#include "base/half.h"
#include "ops/product.h"

namespace minigpt {

PanelMatrix outputs_of(const PanelMatrix& w, size_t first, size_t n_out) {
    const char* data = static_cast<const char*>(w.data) + first * w.n_in * bytes_of(w.type);
    return {data, w.type, w.n_in, n_out};
}

size_t linear_scratch_bytes(const Compute&, size_t max_rows, size_t max_n_in) {
    return round_up(max_rows * max_n_in * sizeof(float), kAlign);
}

void linear(const Compute& compute, float* y, size_t ldy, const float* x, size_t ldx,
            const PanelMatrix& w, const float* bias, size_t n_rows, void* scratch) {
    float* tiles = static_cast<float*>(scratch);
    const float* a = x;  // a single row is its own tile
    if (n_rows > 1) {
        interleave_tiles(compute, tiles, x, ldx, n_rows, w.n_in);
        a = tiles;
    }
    multiply(compute, {y, ldy, a, n_rows, w.data, w.type, w.n_out, w.n_in, bias, false});
}

void gather_row(float* y, const PanelMatrix& w, size_t row) {
    size_t at = row / kPanel * kPanel * w.n_in + row % kPanel;
    if (w.type == ElementType::f32) {
        const float* from = static_cast<const float*>(w.data) + at;
        for (size_t e = 0; e < w.n_in; ++e)
            y[e] = from[e * kPanel];
        return;
    }
    const uint16_t* from = static_cast<const uint16_t*>(w.data) + at;
    for (size_t e = 0; e < w.n_in; ++e) {
        uint16_t h = from[e * kPanel];
        y[e] = w.type == ElementType::f16 ? f16_to_float(h) : bf16_to_float(h);
    }
}

}  // namespace minigpt
