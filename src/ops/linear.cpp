#include "ops/linear.h"

#include "kernels/kernels.h"
#include "ops/check.h"
#include "ops/product.h"

namespace minigpt {
Status check_computed(const char* what, ElementType type) {
    if ((kComputed >> static_cast<size_t>(type) & 1) != 0)
        return Status();
    char types[32] = "";
    for (size_t i = 0; i < kElementTypeCount; i++) {
        if ((kComputed >> i & 1) != 0)
            add_name(types, name_of(static_cast<ElementType>(i)));
    }
    return Status::error(Code::not_supported, "%s: found %s; this build computes with %s alone",
                         what, name_of(type), types);
}

PanelMatrix outputs_of(const PanelMatrix& w, size_t first, size_t n_out) {
    size_t skipped = first / kPanel * static_cast<size_t>(panel_bytes(w.type, w.n_in));
    return {static_cast<const char*>(w.data) + skipped, w.type, w.n_in, n_out};
}

// Rows as tiles, of f32 or quantized, and then, for more rows than a tile, widened weights.
size_t linear_scratch_bytes(const Compute& compute, size_t max_rows, size_t max_n_in) {
    size_t floats = max_rows * max_n_in * sizeof(float);
    size_t quantized = quantized_bytes(max_rows, max_n_in);
    size_t tiles = round_up(floats > quantized ? floats : quantized, kAlign);
    return tiles + (max_rows > kMaxRowTile ? wide_bytes(compute, max_n_in) : 0);
}

void linear(const Compute& compute, float* y, size_t ldy, const float* x, size_t ldx,
            const PanelMatrix& w, const float* bias, size_t n_rows, void* scratch) {
    const void* a = scratch;
    size_t bytes = n_rows * w.n_in * sizeof(float);
    if (traits_of(w.type).with == ComputesWith::int8) {
        quantize_tiles(compute, scratch, x, ldx, n_rows, w.n_in);
    } else if (n_rows > 1) {
        interleave_tiles(compute, static_cast<float*>(scratch), x, ldx, n_rows, w.n_in);
    } else {
        a = x;  // a single row is its own tile
    }
    void* wide = nullptr;  // a single tile widens nothing
    if (n_rows > kMaxRowTile)
        wide = static_cast<char*>(scratch) + round_up(bytes, kAlign);
    multiply(compute, {y, ldy, a, n_rows, w.data, w.type, w.n_out, w.n_in, bias, false, wide});
}

}  // namespace minigpt
