// AVX2, FMA and F16C. Every function carries the target, so that one file can hold all ISAs.
#include "kernels/tables.h"

#if defined(__x86_64__) || defined(__i386__)

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace minigpt {
namespace {

#define MINIGPT_TARGET __attribute__((target("avx2,fma,f16c")))
#if defined(__clang__)
#define MINIGPT_UNROLL _Pragma("unroll")
#else
#define MINIGPT_UNROLL _Pragma("GCC unroll 16")
#endif

#include "kernels/vector_avx2.inc"

#include "kernels/row_kernels.inc"

// ---- products

struct F16 {
    uint16_t bits;
};
struct Bf16 {
    uint16_t bits;
};

MINIGPT_TARGET inline V load_wide(const float* p) { return _mm256_loadu_ps(p); }
MINIGPT_TARGET inline V load_wide(const F16* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
MINIGPT_TARGET inline V load_wide(const Bf16* p) {
    __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

// Rows of c, kRows by kPanels panels of 16, the last of which is `width` wide. The accumulators
// are all registers: 2 kRows kPanels of the 16, at least 8 of them to hide the latency of fma.
template <size_t kRows, size_t kPanels, typename T>
MINIGPT_TARGET inline void tile(const PanelGemm& g, size_t j0, size_t width) {
    const T* b = static_cast<const T*>(g.b) + j0 / kPanel * g.b_stride;
    float* c = g.c + j0;
    V acc[kRows][kPanels][2];
    MINIGPT_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
        MINIGPT_UNROLL
        for (size_t p = 0; p < kPanels; ++p) {
            const float* at = c + i * g.ldc + p * kPanel;
            if (!g.accumulate) {
                acc[i][p][0] = acc[i][p][1] = _mm256_setzero_ps();
            } else if (width == kPanel) {
                acc[i][p][0] = load(at);
                acc[i][p][1] = load(at + 8);
            } else {
                acc[i][p][0] = load_first(at, width);
                acc[i][p][1] = load_first(at + 8, lanes_left(width, 1));
            }
        }
    }
    const float* a = g.a;
    for (size_t k = 0; k < g.k; ++k) {
        MINIGPT_UNROLL
        for (size_t p = 0; p < kPanels; ++p) {
            V b0 = load_wide(b + p * g.b_stride);
            V b1 = load_wide(b + p * g.b_stride + 8);
            MINIGPT_UNROLL
            for (size_t i = 0; i < kRows; ++i) {
                V ai = _mm256_broadcast_ss(a + i);
                acc[i][p][0] = fma(ai, b0, acc[i][p][0]);
                acc[i][p][1] = fma(ai, b1, acc[i][p][1]);
            }
        }
        a += kRows;
        b += kPanel;
    }
    MINIGPT_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
        MINIGPT_UNROLL
        for (size_t p = 0; p < kPanels; ++p) {
            float* at = c + i * g.ldc + p * kPanel;
            const float* bias = g.bias == nullptr ? nullptr : g.bias + j0 + p * kPanel;
            if (width == kPanel) {
                if (bias != nullptr) {
                    acc[i][p][0] = add(acc[i][p][0], load(bias));
                    acc[i][p][1] = add(acc[i][p][1], load(bias + 8));
                }
                store(at, acc[i][p][0]);
                store(at + 8, acc[i][p][1]);
            } else {
                size_t right = lanes_left(width, 1);
                if (bias != nullptr) {
                    acc[i][p][0] = add(acc[i][p][0], load_first(bias, width));
                    acc[i][p][1] = add(acc[i][p][1], load_first(bias + 8, right));
                }
                store_first(at, acc[i][p][0], width);
                store_first(at + 8, acc[i][p][1], right);
            }
        }
    }
}

template <size_t kRows, size_t kPanels, typename T>
MINIGPT_TARGET void rows_of_panels(const PanelGemm& g) {
    size_t j = 0;
    if (kPanels > 1) {
        for (; j + kPanels * kPanel <= g.n; j += kPanels * kPanel) {
            tile<kRows, kPanels, T>(g, j, kPanel);
        }
    }
    for (; j < g.n; j += kPanel) {
        tile<kRows, 1, T>(g, j, g.n - j < kPanel ? g.n - j : kPanel);
    }
}

// One row reads four panels side by side: one stream alone gets two thirds of the bandwidth.
template <typename T>
MINIGPT_TARGET void panel_gemm_6x16(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows_of_panels<1, 4, T>(g);
        case 2:
            return rows_of_panels<2, 2, T>(g);
        case 3:
            return rows_of_panels<3, 2, T>(g);
        case 4:
            return rows_of_panels<4, 1, T>(g);
        case 5:
            return rows_of_panels<5, 1, T>(g);
        default:
            return rows_of_panels<6, 1, T>(g);
    }
}

template <typename T>
MINIGPT_TARGET void widen(float* y, const void* x, size_t n) {
    const T* from = static_cast<const T*>(x);
    size_t i = 0;
    for (; i + kWidth <= n; i += kWidth) store(y + i, load_wide(from + i));
    if (i < n) {
        T last[kWidth] = {};
        memcpy(last, from + i, (n - i) * sizeof(T));
        store_first(y + i, load_wide(last), n - i);
    }
}

// Rows 0 to 3 by a 4 x 4 transpose, then the fifth and sixth.
template <size_t kRows>
MINIGPT_TARGET void interleave_rows(float* y, const float* x, size_t ldx, size_t n) {
    size_t k = 0;
    for (; k + 4 <= n; k += 4, y += 4 * kRows) {
        __m128 r0 = _mm_loadu_ps(x + k);
        __m128 r1 = _mm_loadu_ps(x + ldx + k);
        __m128 r2 = _mm_loadu_ps(x + 2 * ldx + k);
        __m128 r3 = _mm_loadu_ps(x + 3 * ldx + k);
        _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
        _mm_storeu_ps(y, r0);
        _mm_storeu_ps(y + kRows, r1);
        _mm_storeu_ps(y + 2 * kRows, r2);
        _mm_storeu_ps(y + 3 * kRows, r3);
        if (kRows == 6) {
            __m128 r4 = _mm_loadu_ps(x + 4 * ldx + k);
            __m128 r5 = _mm_loadu_ps(x + 5 * ldx + k);
            __m128 low = _mm_unpacklo_ps(r4, r5);
            __m128 high = _mm_unpackhi_ps(r4, r5);
            _mm_storel_pi(reinterpret_cast<__m64*>(y + 4), low);
            _mm_storeh_pi(reinterpret_cast<__m64*>(y + 4 + kRows), low);
            _mm_storel_pi(reinterpret_cast<__m64*>(y + 4 + 2 * kRows), high);
            _mm_storeh_pi(reinterpret_cast<__m64*>(y + 4 + 3 * kRows), high);
        }
        for (size_t i = 0; kRows == 5 && i < 4; ++i) y[i * kRows + 4] = x[4 * ldx + k + i];
    }
    for (; k < n; ++k, y += kRows) {
        for (size_t i = 0; i < kRows; ++i) y[i] = x[i * ldx + k];
    }
}

MINIGPT_TARGET void interleave(float* y, const float* x, size_t ldx, size_t m, size_t k) {
    switch (m) {
        case 1:
            if (k > 0) memcpy(y, x, k * sizeof(float));
            return;
        case 4:
            return interleave_rows<4>(y, x, ldx, k);
        case 5:
            return interleave_rows<5>(y, x, ldx, k);
        case 6:
            return interleave_rows<6>(y, x, ldx, k);
        default:
            for (size_t i = 0; i < k; ++i) {
                for (size_t j = 0; j < m; ++j) y[i * m + j] = x[j * ldx + i];
            }
    }
}

}  // namespace

const KernelTable kAvx2Kernels = {
    "avx2",
    true,
    {panel_gemm_6x16<float>, panel_gemm_6x16<F16>, panel_gemm_6x16<Bf16>},
    {widen<float>, widen<F16>, widen<Bf16>},
    interleave,
    add_row,
    layernorm_row,
    softmax_row,
    maximum_row,
    sum_exp_row,
    map<gelu_tanh_one>,
    map<gelu_erf_one>,
    map<exp_full>,
    map<log_full>,
    map<tanh_full>,
    map<erf_full>,
};

#undef MINIGPT_TARGET
#undef MINIGPT_UNROLL

}  // namespace minigpt

#endif
