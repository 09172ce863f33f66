#include "ops/elementwise.h"

#include "base/half.h"
#include "kernels/kernels.h"
#include "ops/parallel.h"

namespace minigpt {

void add(const Compute& compute, float* y, const float* x, size_t n) {
    ThreadPool* pool = n < kSerialNumbers ? nullptr : compute.pool();
    parallel_for(pool, n, kPanel, [&](size_t begin, size_t end) {
        compute.kernels().add(y + begin, x + begin, end - begin);
    });
}

void gelu_in_place(const Compute& compute, float* x, size_t n, Activation activation) {
    ThreadPool* pool = n < kSerialNumbers ? nullptr : compute.pool();
    auto gelu = activation == Activation::gelu_erf ? compute.kernels().gelu_erf
                                                   : compute.kernels().gelu_tanh;
    parallel_for(pool, n, kPanel,
                 [&](size_t begin, size_t end) { gelu(x + begin, x + begin, end - begin); });
}

void widen_row(float* y, const void* x, ElementType type, size_t n) {
    if (type == ElementType::f32) {
        const float* from = static_cast<const float*>(x);
        for (size_t i = 0; i < n; ++i)
            y[i] = from[i];
        return;
    }
    const uint16_t* from = static_cast<const uint16_t*>(x);
    for (size_t i = 0; i < n; ++i) {
        y[i] = type == ElementType::f16 ? f16_to_float(from[i]) : bf16_to_float(from[i]);
    }
}

void layernorm_rows(const Compute& compute, float* y, size_t ldy, const float* x, size_t ldx,
                    const float* w, const float* b, size_t n_rows, size_t n_embd, float eps) {
    ThreadPool* pool = n_rows * n_embd < kSerialNumbers ? nullptr : compute.pool();
    parallel_for(pool, n_rows, 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            compute.kernels().layernorm(y + i * ldy, x + i * ldx, w, b, n_embd, eps);
        }
    });
}

}  // namespace minigpt
