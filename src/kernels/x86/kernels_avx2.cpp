// AVX2, FMA and F16C. Every function carries the target, so that one file can hold all ISAs.
#include "kernels/tables.h"

#if defined(__x86_64__) || defined(__i386__)

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace minigpt {
namespace {

#define MINIGPT_TARGET __attribute__((target("avx2,fma,f16c")))

#include "kernels/x86/vector_avx2.inc"

#include "kernels/generic/element_types.inc"
#include "kernels/generic/row_kernels.inc"

#include "kernels/generic/limit_kernels.inc"

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

// The low bytes of 32 integers in four vectors: packing works within halves of a register, so the
// groups of four come out in the order 0, 4, 1, 5, 2, 6, 3, 7. All fit, so nothing saturates.
MINIGPT_TARGET inline void store_bytes(int8_t* y, const I* q) {
    I words = _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
    I order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<I*>(y), _mm256_permutevar8x32_epi32(words, order));
}

#include "kernels/generic/quantize.inc"

#include "kernels/generic/tile_edges.inc"
#include "kernels/x86/interleave_x86.inc"

MINIGPT_TARGET inline V load_bytes(const int8_t* p) {
    __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight));
}

#include "kernels/generic/panel_gemm.inc"

// Two panels of q8 at a time: their scales and four panels' accumulators are 12 registers.
constexpr size_t kPanelsOfQ8 = 2;

MINIGPT_TARGET inline I load_int(const void* p) {
    return _mm256_loadu_si256(static_cast<const I*>(p));
}
MINIGPT_TARGET inline I low_halves(I x) {
    return _mm256_and_si256(x, _mm256_set1_epi8(15));
}
MINIGPT_TARGET inline I high_halves(I x) {
    return low_halves(_mm256_srli_epi16(x, 4));
}
MINIGPT_TARGET inline I add_16(I a, I b) {
    return _mm256_add_epi16(a, b);
}
MINIGPT_TARGET inline I multiply_pairs(I a, I b) {
    return _mm256_maddubs_epi16(a, b);
}
MINIGPT_TARGET inline I sum_pairs(I a) {
    return _mm256_madd_epi16(a, _mm256_set1_epi16(1));
}
MINIGPT_TARGET inline V to_float(I a) {
    return _mm256_cvtepi32_ps(a);
}

#include "kernels/x86/panel_gemm_quantized_x86.inc"

// Vectors across of three rows or more: of q4 the rows' sums and accumulators of a whole panel
// would not be registers.
template <typename T>
constexpr size_t kAcrossOfMany = kVectors;
template <>
constexpr size_t kAcrossOfMany<Q4> = 1;

// One row reads four panels side by side: one stream alone gets two thirds of the bandwidth.
template <typename T>
MINIGPT_TARGET void panel_gemm_6x16(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows<1, 4, T>(g);
        case 2:
            return rows<2, 2, T>(g);
        case 3:
            return rows<3, 1, T, kAcrossOfMany<T>>(g);
        case 4:
            return rows<4, 1, T, kAcrossOfMany<T>>(g);
        case 5:
            return rows<5, 1, T, kAcrossOfMany<T>>(g);
        default:
            return rows<6, 1, T, kAcrossOfMany<T>>(g);
    }
}

}  // namespace

const KernelTable kAvx2Kernels = {
    "avx2",
    true,
    true,
    1,
    {panel_gemm_6x16<float>, MINIGPT_COMPUTED(f16, panel_gemm_6x16<F16>),
     MINIGPT_COMPUTED(bf16, panel_gemm_6x16<Bf16>), MINIGPT_COMPUTED(q8, panel_gemm_6x16<Q8>),
     MINIGPT_COMPUTED(q4, panel_gemm_6x16<Q4>)},
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
