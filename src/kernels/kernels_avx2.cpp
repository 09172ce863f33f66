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

MINIGPT_TARGET inline V load_wide(const float* p) {
    return _mm256_loadu_ps(p);
}
MINIGPT_TARGET inline V load_wide(const F16* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
MINIGPT_TARGET inline V load_wide(const Bf16* p) {
    __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

// c [kRows, kPanels, 16] of panels from output j on. The accumulators are all registers:
// 2 kRows kPanels of the 16, at least 8 of them to hide the latency of fma.
template <size_t kRows, size_t kPanels, bool kPrefetch, typename T>
MINIGPT_TARGET inline void tile(const PanelGemm& g, size_t j) {
    const T* b = static_cast<const T*>(g.b) + j / kPanel * g.b_stride;
    float* c = g.c + j;
    V acc[kRows][kPanels][2];
    MINIGPT_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
        MINIGPT_UNROLL
        for (size_t p = 0; p < kPanels; ++p) {
            const float* from = c + i * g.ldc + p * kPanel;
            acc[i][p][0] = g.accumulate ? load(from) : splat(0.0f);
            acc[i][p][1] = g.accumulate ? load(from + 8) : splat(0.0f);
        }
    }
    const float* a = g.a;
    for (size_t k = 0; k < g.k; ++k) {
        MINIGPT_UNROLL
        for (size_t p = 0; p < kPanels; ++p) {
            if (kPrefetch) {
                const T* next = b + (p + kPanels) * g.b_stride;
                _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
            }
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
    if (g.bias != nullptr) {
        MINIGPT_UNROLL
        for (size_t p = 0; p < kPanels; ++p) {
            V bias0 = load(g.bias + j + p * kPanel);
            V bias1 = load(g.bias + j + p * kPanel + 8);
            MINIGPT_UNROLL
            for (size_t i = 0; i < kRows; ++i) {
                acc[i][p][0] = add(acc[i][p][0], bias0);
                acc[i][p][1] = add(acc[i][p][1], bias1);
            }
        }
    }
    MINIGPT_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
        MINIGPT_UNROLL
        for (size_t p = 0; p < kPanels; ++p) {
            store(c + i * g.ldc + p * kPanel, acc[i][p][0]);
            store(c + i * g.ldc + p * kPanel + 8, acc[i][p][1]);
        }
    }
}

#include "kernels/last_panel.inc"

template <size_t kRows, size_t kPanels, bool kPrefetch, typename T>
MINIGPT_TARGET void panels(const PanelGemm& g) {
    size_t j = 0;
    for (; kPanels > 1 && j + kPanels * kPanel <= g.n; j += kPanels * kPanel) {
        tile<kRows, kPanels, kPrefetch, T>(g, j);
    }
    for (; j + kPanel <= g.n; j += kPanel)
        tile<kRows, 1, kPrefetch, T>(g, j);
    if (j < g.n) {
        LastPanel<T> last(g, j);
        tile<kRows, 1, false, T>(last.g, 0);
        last.copy_back();
    }
}

template <size_t kRows, size_t kPanels, typename T>
MINIGPT_TARGET void rows(const PanelGemm& g) {
    if (g.prefetch)
        return panels<kRows, kPanels, true, T>(g);
    return panels<kRows, kPanels, false, T>(g);
}

// One row reads four panels side by side: one stream alone gets two thirds of the bandwidth.
template <typename T>
MINIGPT_TARGET void panel_gemm_6x16(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows<1, 4, T>(g);
        case 2:
            return rows<2, 2, T>(g);
        case 3:
            return rows<3, 1, T>(g);
        case 4:
            return rows<4, 1, T>(g);
        case 5:
            return rows<5, 1, T>(g);
        default:
            return rows<6, 1, T>(g);
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
        for (size_t i = 0; kRows == 5 && i < 4; ++i)
            y[i * kRows + 4] = x[4 * ldx + k + i];
    }
    for (; k < n; ++k, y += kRows) {
        for (size_t i = 0; i < kRows; ++i)
            y[i] = x[i * ldx + k];
    }
}

MINIGPT_TARGET void interleave(float* y, const float* x, size_t ldx, size_t m, size_t k) {
    switch (m) {
        case 1:
            if (k > 0)
                memcpy(y, x, k * sizeof(float));
            return;
        case 4:
            return interleave_rows<4>(y, x, ldx, k);
        case 5:
            return interleave_rows<5>(y, x, ldx, k);
        case 6:
            return interleave_rows<6>(y, x, ldx, k);
        default:
            for (size_t i = 0; i < k; ++i) {
                for (size_t j = 0; j < m; ++j)
                    y[i * m + j] = x[j * ldx + i];
            }
    }
}

}  // namespace

const KernelTable kAvx2Kernels = {
    "avx2",
    true,
    {panel_gemm_6x16<float>, panel_gemm_6x16<F16>, panel_gemm_6x16<Bf16>},
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
