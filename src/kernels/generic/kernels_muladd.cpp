// For CPUs without a fused multiply-add: x86's base, SSE2, and 32-bit ARM's, VFP. A product is
// rounded before it is added, so the bits are this table's own, the same on both; the order of
// every sum is that of the other tables.
#include "kernels/tables.h"

#if defined(__x86_64__) || defined(__arm__)

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#else
#if defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>
#endif

#include "base/half.h"
#endif

namespace minigpt {
namespace {

#define MINIGPT_TARGET

#if defined(__x86_64__)
#include "kernels/x86/vector_sse2.inc"
#else
#include "kernels/generic/vector_scalar.inc"
#endif

inline V fma(V a, V b, V c) {
    return add(mul(a, b), c);
}

#include "kernels/generic/element_types.inc"
#include "kernels/generic/row_kernels.inc"

#include "kernels/generic/limit_kernels.inc"

#include "kernels/generic/quantize.inc"

#include "kernels/generic/tile_edges.inc"

#if defined(__x86_64__)
#include "kernels/x86/interleave_x86.inc"
#include "kernels/x86/widen_sse2.inc"
#else
#include "kernels/arm/widen_vfp.inc"
#endif

#include "kernels/generic/panel_gemm.inc"

// The sums of a group are integers: 16-bit halves and activations, two products at a time, of the
// inputs 0 and 2, 1 and 3 of each four.
template <size_t kRows, size_t kPanels, size_t kAcross>
MINIGPT_INLINE void group_q4(V (&acc)[kRows][kPanels][kAcross], size_t p, const unsigned char* a,
                             const unsigned char* group, size_t v0) {
    const unsigned char* scales_a = a + kRows * kGroup;
    const unsigned char* minus_4 = scales_a + kRows * sizeof(float);
    const unsigned char* bytes = group + kQ4Scales + v0 * sizeof(I);
    I sum[kRows][kAcross];
    MINIGPT_UNROLL
    for (size_t i = 0; i < kRows; ++i) {
        int16_t offset;
        memcpy(&offset, minus_4 + 4 * i, sizeof offset);
        MINIGPT_UNROLL
        for (size_t v = 0; v < kAcross; ++v)
            sum[i][v] = isplat(static_cast<uint32_t>(2 * offset));
    }
    for (size_t block = 0; block < kQ4Blocks; ++block) {
        MINIGPT_UNROLL
        for (size_t i = 0; i < kRows; ++i) {
            uint32_t four[2];
            memcpy(&four[0], a + i * kGroup + 4 * block, 4);
            memcpy(&four[1], a + i * kGroup + 4 * block + kGroup / 2, 4);
            I low = isplat(four[0]), high = isplat(four[1]);
            I low_even = even_bytes(low), low_odd = odd_bytes(low);
            I high_even = even_bytes(high), high_odd = odd_bytes(high);
            MINIGPT_UNROLL
            for (size_t v = 0; v < kAcross; ++v) {
                I both = load_int(bytes + block * kQ4BlockBytes + v * sizeof(I));
                sum[i][v] = add_products(sum[i][v], halves<0>(both), low_even);
                sum[i][v] = add_products(sum[i][v], halves<8>(both), low_odd);
                sum[i][v] = add_products(sum[i][v], halves<4>(both), high_even);
                sum[i][v] = add_products(sum[i][v], halves<12>(both), high_odd);
            }
        }
    }
    MINIGPT_UNROLL
    for (size_t v = 0; v < kAcross; ++v) {
        V scale = load_scales(group, v0 + v);
        MINIGPT_UNROLL
        for (size_t i = 0; i < kRows; ++i) {
            float scale_a;
            memcpy(&scale_a, scales_a + 4 * i, sizeof scale_a);
            acc[i][p][v] = fma(to_float(sum[i][v]), mul(splat(scale_a), scale), acc[i][p][v]);
        }
    }
}

void panel_gemm_6x8(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows<1, 1, float, kAcrossOfOne>(g);
        case 2:
            return rows<2, 1, float, kAcrossOfTwo>(g);
        case 3:
            return rows<3, 1, float, kAcrossOfMany>(g);
        case 4:
            return rows<4, 1, float, kAcrossOfMany>(g);
        case 5:
            return rows<5, 1, float, kAcrossOfMany>(g);
        default:
            return rows<6, 1, float, kAcrossOfMany>(g);
    }
}

// y [k, 16] = k inputs of a panel from k0 on, a multiple of kGroup.
template <typename T>
void widen(float* y, const T* panel, size_t k0, size_t k) {
    panel += k0 * kPanel;
    for (size_t i = 0; i < k * kPanel; i += kWidth)
        store(y + i, load_wide(panel + i));
}
void widen(float* y, const Q8* panel, size_t k0, size_t k) {
    widen_q8(y, panel + k0 / kGroup * kQ8GroupBytes, k);
}

// Reduced types become f32 in the L1 cache, 4 KB at a time: widening takes so many instructions
// here that it would leave a tile no registers.
template <typename T>
void panel_gemm_widened(const PanelGemm& g) {
    constexpr size_t kMost = 2 * kGroup;
    float wide[kMost * kPanel];
    PanelGemm part = g;
    part.b = wide;
    part.next = nullptr;
    for (size_t j = 0; j < g.n; j += kPanel) {
        const T* panel = static_cast<const T*>(g.b) + j / kPanel * g.b_stride;
        part.c = g.c + place(g, j);
        part.n = g.n - j < kPanel ? g.n - j : kPanel;
        size_t k = 0;
        do {
            part.k = g.k - k < kMost ? g.k - k : kMost;
            part.a = static_cast<const float*>(g.a) + k * g.m;
            part.accumulate = g.accumulate || k > 0;
            bool last = k + part.k == g.k;
            part.bias = last && g.bias != nullptr ? g.bias + place(g, j) : nullptr;
            widen(wide, panel, k, part.k);
            panel_gemm_6x8(part);
            k += part.k;
        } while (k < g.k);
    }
}

// The rows' sums of a group are registers, too.
void panel_gemm_q4_6x4(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows<1, 1, Q4, kAcrossOfOneQ4>(g);
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

}  // namespace

const KernelTable kMuladdKernels = {
    "muladd",
    false,
    true,
    1,
    {panel_gemm_6x8, MINIGPT_COMPUTED(f16, panel_gemm_widened<F16>),
     MINIGPT_COMPUTED(bf16, panel_gemm_widened<Bf16>), MINIGPT_COMPUTED(q8, panel_gemm_widened<Q8>),
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
    map<exp_full>,
    map<log_full>,
    map<tanh_full>,
    map<erf_full>,
    fma_chains,
    read_streams,
};

#undef MINIGPT_TARGET
#undef MINIGPT_INLINE

}  // namespace minigpt

#endif
