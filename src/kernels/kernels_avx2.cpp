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

#include "kernels/element_types.inc"
#include "kernels/row_kernels.inc"

#include "kernels/limit_kernels.inc"

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

#include "kernels/panel_gemm_x86.inc"

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

}  // namespace

const KernelTable kAvx2Kernels = {
    "avx2",
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
    map<exp_full>,
    map<log_full>,
    map<tanh_full>,
    map<erf_full>,
    fma_chains,
    read_streams,
};

#undef MINIGPT_TARGET
#undef MINIGPT_UNROLL

}  // namespace minigpt

#endif
