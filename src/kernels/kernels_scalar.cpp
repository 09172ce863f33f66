// The reference: the plainest loops that are right. Every other table gives the same bits.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/fma.h"
#include "base/half.h"
#include "kernels/tables.h"

namespace minigpt {

float inverse_sqrt(float x) {
    return 1.0f / std::sqrt(x);
}

namespace {

#define MINIGPT_TARGET

#include "kernels/vector_scalar.inc"

#include "kernels/row_kernels.inc"

#include "kernels/limit_kernels.inc"

// ---- products

inline float widened(float x) {
    return x;
}
struct F16 {
    uint16_t bits;
};
struct Bf16 {
    uint16_t bits;
};
inline float widened(F16 x) {
    return f16_to_float(x.bits);
}
inline float widened(Bf16 x) {
    return bf16_to_float(x.bits);
}

template <typename T>
void panel_gemm_6x16(const PanelGemm& g) {
    for (size_t j0 = 0; j0 < g.n; j0 += kPanel) {
        const T* panel = static_cast<const T*>(g.b) + j0 / kPanel * g.b_stride;
        size_t width = g.n - j0 < kPanel ? g.n - j0 : kPanel;
        float acc[kMaxRowTile][kPanel] = {};
        for (size_t i = 0; g.accumulate && i < g.m; ++i) {
            for (size_t j = 0; j < width; ++j)
                acc[i][j] = g.c[i * g.ldc + j0 + j];
        }
        for (size_t k = 0; k < g.k; ++k) {
            float b[kPanel];
            for (size_t j = 0; j < kPanel; ++j)
                b[j] = widened(panel[k * kPanel + j]);
            for (size_t i = 0; i < g.m; ++i) {
                float a = g.a[k * g.m + i];
                for (size_t j = 0; j < kPanel; ++j)
                    acc[i][j] = fma_exact(a, b[j], acc[i][j]);
            }
        }
        for (size_t i = 0; i < g.m; ++i) {
            for (size_t j = 0; j < width; ++j) {
                float sum = acc[i][j];
                g.c[i * g.ldc + j0 + j] = g.bias != nullptr ? sum + g.bias[j0 + j] : sum;
            }
        }
    }
}

void interleave(float* y, const float* x, size_t ldx, size_t m, size_t k) {
    for (size_t i = 0; i < k; ++i) {
        for (size_t j = 0; j < m; ++j)
            y[i * m + j] = x[j * ldx + i];
    }
}

}  // namespace

void exp_scalar(float* y, const float* x, size_t n) {
    map<exp_full>(y, x, n);
}
void log_scalar(float* y, const float* x, size_t n) {
    map<log_full>(y, x, n);
}
void tanh_scalar(float* y, const float* x, size_t n) {
    map<tanh_full>(y, x, n);
}
void erf_scalar(float* y, const float* x, size_t n) {
    map<erf_full>(y, x, n);
}

const KernelTable kScalarKernels = {
    "scalar",
    true,
    1,
    {panel_gemm_6x16<float>, panel_gemm_6x16<F16>, panel_gemm_6x16<Bf16>},
    interleave,
    add_row,
    layernorm_row,
    softmax_row,
    maximum_row,
    sum_exp_row,
    map<gelu_tanh_one>,
    map<gelu_erf_one>,
    exp_scalar,
    log_scalar,
    tanh_scalar,
    erf_scalar,
    fma_chains,
    read_streams,
};

#undef MINIGPT_TARGET
#undef MINIGPT_UNROLL

}  // namespace minigpt
