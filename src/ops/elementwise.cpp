#include "ops/elementwise.h"

#include "kernels/kernels.h"
#include "ops/parallel.h"

namespace minigpt {

void add(const Compute& compute, float* y, const float* x, size_t n) {
    ThreadPool* pool = n < kSerialNumbers ? nullptr : pool_of(compute);
    parallel_for(pool, n, kPanel, [&](size_t begin, size_t end) {
        kernels_of(compute).add(y + begin, x + begin, end - begin);
    });
}

void gelu_in_place(const Compute& compute, float* x, size_t n, Activation activation) {
    ThreadPool* pool = n < kSerialNumbers ? nullptr : pool_of(compute);
    auto gelu = activation == Activation::gelu_erf ? kernels_of(compute).gelu_erf
                                                   : kernels_of(compute).gelu_tanh;
    parallel_for(pool, n, kPanel,
                 [&](size_t begin, size_t end) { gelu(x + begin, x + begin, end - begin); });
}

void layernorm_rows(const Compute& compute, float* y, size_t ldy, const float* x, size_t ldx,
                    const float* w, const float* b, size_t n_rows, size_t n_embd, float eps) {
    ThreadPool* pool = n_rows * n_embd < kSerialNumbers ? nullptr : pool_of(compute);
    parallel_for(pool, n_rows, 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
            kernels_of(compute).layernorm(y + i * ldy, x + i * ldx, w, b, n_embd, eps);
        }
    });
}

}  // namespace minigpt
