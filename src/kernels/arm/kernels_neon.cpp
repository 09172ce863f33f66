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

#include "kernels/arm/vector_neon.inc"

#include "kernels/generic/row_kernels.inc"

#include "kernels/generic/limit_kernels.inc"

inline void store_bytes(int8_t* y, const I* q) {
    for (size_t i = 0; i < kGroup / kWidth; i += 2) {
        int16x8_t words = vcombine_s16(vmovn_s32(q[i]), vmovn_s32(q[i + 1]));
        vst1_s8(y + i * kWidth, vmovn_s16(words));
    }
}

#include "kernels/generic/quantize.inc"

#include "kernels/generic/element_types.inc"

#include "kernels/arm/panel_gemm_neon.inc"

#include "kernels/arm/panel_gemm_quantized_neon.inc"

template <typename T>
void panel_gemm_6x16(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows<1, kPanelsOfOne, T>(g);
        case 2:
            return rows<2, kPanelsOfTwo, T>(g);
        case 3:
            return rows<3, 1, T, kAcrossOfMany>(g);
        case 4:
            return rows<4, 1, T, kAcrossOfMany>(g);
        case 5:
            return rows<5, 1, T, kAcrossOfMany>(g);
        default:
            return rows<6, 1, T, kAcrossOfMany>(g);
    }
}

void panel_gemm_q4_6x4(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows<1, kPanelsOfOneQ4, Q4>(g);
        case 2:
            return rows<2, 1, Q4, kAcrossOfTwoQ4>(g);
        case 3:
            return rows<3, 1, Q4, 1>(g);
        case 4:
            return rows<4, 1, Q4, 1>(g);
        case 5:
            return rows<5, 1, Q4, 1>(g);
        default:
            return rows<6, 1, Q4, 1>(g);
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

constexpr KernelTable kNeonKernels = {
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

#if defined(__aarch64__)
// NEON's but for q4.
constexpr KernelTable with_dot_products(KernelTable t) {
    t.name = "dotprod";
    t.panel_gemm[kQ4] = MINIGPT_COMPUTED(q4, panel_gemm_q4_6x4_dotprod);
    return t;
}
constexpr KernelTable kDotprodKernels = with_dot_products(kNeonKernels);
#endif

#undef MINIGPT_TARGET
#undef MINIGPT_INLINE

}  // namespace minigpt

#endif
