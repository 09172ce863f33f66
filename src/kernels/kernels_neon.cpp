// NEON with fused multiply-add: aarch64, and armv7 with VFPv4. On armv7 this file alone is
// compiled for it, so it uses nothing inline from elsewhere.
#include "kernels/tables.h"

#if defined(__aarch64__) || (defined(__arm__) && defined(__ARM_NEON) && defined(__ARM_FEATURE_FMA))

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

namespace minigpt {
namespace {

#define MINIGPT_TARGET
#if defined(__clang__)
#define MINIGPT_UNROLL _Pragma("unroll")
#else
#define MINIGPT_UNROLL _Pragma("GCC unroll 16")
#endif

#include "kernels/vector_neon.inc"

#include "kernels/row_kernels.inc"

#include "kernels/limit_kernels.inc"

inline void store_bytes(int8_t* y, const I* q) {
    for (size_t i = 0; i < kGroup / kWidth; i += 2) {
        int16x8_t words = vcombine_s16(vmovn_s32(q[i]), vmovn_s32(q[i + 1]));
        vst1_s8(y + i * kWidth, vmovn_s16(words));
    }
}

#include "kernels/quantize.inc"

#include "kernels/tile_edges.inc"

#include "kernels/element_types.inc"

// ---- products

inline V load_wide(const float* p) {
    return vld1q_f32(p);
}
inline V load_wide(const F16* p) {
    uint16x4_t half = vld1_u16(&p->bits);
#if defined(__aarch64__)
    return vcvt_f32_f16(vreinterpret_f16_u16(half));
#else
    // The intrinsic wants a compiler flag that changes what __fp16 is; the instruction does not.
    V wide;
    __asm__("vcvt.f32.f16 %q0, %P1" : "=w"(wide) : "w"(half));
    return wide;
#endif
}
inline V load_wide(const Bf16* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(&p->bits), 16));
}

// Vectors across that a tile of four or more rows has: aarch64 has 32 registers, armv7 half of
// that and goes over a panel twice.
#if defined(__aarch64__)
constexpr size_t kAcrossOfMany = 4;
constexpr size_t kPanelsOfOne = 4, kPanelsOfTwo = 2;
#else
constexpr size_t kAcrossOfMany = 2;
constexpr size_t kPanelsOfOne = 2, kPanelsOfTwo = 1;
#endif

// c [kRows, kPanels, kAcross * 4] from output j on, which may be inside a panel.
template <size_t kRows, size_t kPanels, size_t kAcross, typename T>
inline void tile(const PanelGemm& g, size_t j, T) {
    const T* b = static_cast<const T*>(g.b) + j / kPanel * g.b_stride + j % kPanel;
    V acc[kRows][kPanels][kAcross];
    begin_tile(acc, g, j);
    const float* a = static_cast<const float*>(g.a);
    Ahead ahead(g, j, g.k, T());
    for (size_t k = 0; k < g.k; ++k) {
        MINIGPT_UNROLL
        for (size_t p = 0; p < kPanels; ++p) {
            __builtin_prefetch(ahead.at + p * ahead.stride);
            V wide[kAcross];
            MINIGPT_UNROLL
            for (size_t v = 0; v < kAcross; ++v)
                wide[v] = load_wide(b + p * g.b_stride + v * kWidth);
            MINIGPT_UNROLL
            for (size_t i = 0; i < kRows; ++i) {
                V ai = vdupq_n_f32(a[i]);
                MINIGPT_UNROLL
                for (size_t v = 0; v < kAcross; ++v)
                    acc[i][p][v] = fma(ai, wide[v], acc[i][p][v]);
            }
        }
        a += kRows;
        b += kPanel;
        ahead.at += ahead.step;
    }
    finish_tile(acc, g, j);
}

#include "kernels/panel_gemm_quantized_neon.inc"

template <size_t kRows, size_t kPanels, size_t kAcross, typename T>
void rows(const PanelGemm& g) {
    size_t j = 0;
    for (; kPanels > 1 && j + kPanels * kPanel <= g.n; j += kPanels * kPanel) {
        tile<kRows, kPanels, kVectors>(g, j, T());
    }
    for (; j + kPanel <= g.n; j += kPanel) {
        for (size_t part = 0; part < kPanel; part += kAcross * kWidth) {
            tile<kRows, 1, kAcross>(g, j + part, T());
        }
    }
    if (j < g.n) {
        LastPanel<T> last(g, j);
        for (size_t part = 0; part < kPanel; part += kAcross * kWidth) {
            tile<kRows, 1, kAcross>(last.g, part, T());
        }
        last.copy_back();
    }
}

template <typename T>
void panel_gemm_6x16(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows<1, kPanelsOfOne, 4, T>(g);
        case 2:
            return rows<2, kPanelsOfTwo, 4, T>(g);
        case 3:
            return rows<3, 1, 4, T>(g);
        case 4:
            return rows<4, 1, kAcrossOfMany, T>(g);
        case 5:
            return rows<5, 1, kAcrossOfMany, T>(g);
        default:
            return rows<6, 1, kAcrossOfMany, T>(g);
    }
}

// The rows' 16-bit sums of a group, two vectors for four outputs, are registers, too.
void panel_gemm_q4_6x4(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows<1, kPanelsOfOne, 4, Q4>(g);
        case 2:
            return rows<2, 1, 4, Q4>(g);
        case 3:
            return rows<3, 1, 1, Q4>(g);
        case 4:
            return rows<4, 1, 1, Q4>(g);
        case 5:
            return rows<5, 1, 1, Q4>(g);
        default:
            return rows<6, 1, 1, Q4>(g);
    }
}

template <size_t kRows>
void interleave_rows(float* y, const float* x, size_t ldx, size_t n) {
    for (size_t k = 0; k < n; ++k, y += kRows) {
        MINIGPT_UNROLL
        for (size_t i = 0; i < kRows; ++i)
            y[i] = x[i * ldx + k];
    }
}

void interleave(float* y, const float* x, size_t ldx, size_t m, size_t k) {
    switch (m) {
        case 1:
            if (k > 0)
                memcpy(y, x, k * sizeof(float));
            return;
        case 2:
            return interleave_rows<2>(y, x, ldx, k);
        case 3:
            return interleave_rows<3>(y, x, ldx, k);
        case 4:
            return interleave_rows<4>(y, x, ldx, k);
        case 5:
            return interleave_rows<5>(y, x, ldx, k);
        default:
            return interleave_rows<6>(y, x, ldx, k);
    }
}

}  // namespace

// armv7's NEON flushes them to zero, whatever FPSCR says.
#if defined(__aarch64__)
constexpr bool kKeepsSubnormals = true;
#else
constexpr bool kKeepsSubnormals = false;
#endif

const KernelTable kNeonKernels = {
    "neon",
    true,
    kKeepsSubnormals,
    1,
    {panel_gemm_6x16<float>, MINIGPT_COMPUTED(f16, panel_gemm_6x16<F16>),
     MINIGPT_COMPUTED(bf16, panel_gemm_6x16<Bf16>), MINIGPT_COMPUTED(q8, panel_gemm_6x16<Q8>),
     MINIGPT_COMPUTED(q4, panel_gemm_q4_6x4)},
    MINIGPT_COMPUTED(q8, widen_q8),
    quantize,
    interleave,
    add_row,
    layernorm_row,
    softmax_row,
    maximum_row,
    sum_exp_row,
    map<gelu_tanh_one>,
    map<gelu_erf_one>,
#if defined(__aarch64__)
    map<exp_full>,
    map<log_full>,
    map<tanh_full>,
    map<erf_full>,
#else
    exp_scalar,
    log_scalar,
    tanh_scalar,
    erf_scalar,
#endif
    fma_chains,
    read_streams,
};

#undef MINIGPT_TARGET
#undef MINIGPT_UNROLL
#undef MINIGPT_INLINE

}  // namespace minigpt

#endif
