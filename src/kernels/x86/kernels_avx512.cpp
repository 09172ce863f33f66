// AVX-512 F and BW. Every function carries the target, so that one file can hold all ISAs.
#include "kernels/tables.h"

#if defined(__x86_64__) || defined(__i386__)

// gcc 12's own header makes undefined vectors of a variable that it then warns of (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace minigpt {
namespace {

#define MINIGPT_TARGET __attribute__((target("avx512f,avx512bw,avx2,fma,f16c")))

#include "kernels/x86/vector_avx512.inc"

#include "kernels/generic/element_types.inc"
#include "kernels/generic/row_kernels.inc"

#include "kernels/generic/limit_kernels.inc"

MINIGPT_TARGET inline V load_wide(const float* p) {
    return _mm512_loadu_ps(p);
}
MINIGPT_TARGET inline V load_wide(const F16* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
MINIGPT_TARGET inline V load_wide(const Bf16* p) {
    __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

MINIGPT_TARGET inline void store_bytes(int8_t* y, const I* q) {
    for (size_t i = 0; i < kGroup / kWidth; ++i) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i * kWidth), _mm512_cvtepi32_epi8(q[i]));
    }
}

#include "kernels/generic/quantize.inc"

#include "kernels/generic/tile_edges.inc"
#include "kernels/x86/interleave_x86.inc"

MINIGPT_TARGET inline V load_bytes(const int8_t* p) {
    __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(sixteen));
}

#include "kernels/generic/panel_gemm.inc"

constexpr size_t kPanelsOfQ8 = 8;

MINIGPT_TARGET inline I load_int(const void* p) {
    return _mm512_loadu_si512(p);
}
MINIGPT_TARGET inline I low_halves(I x) {
    return _mm512_and_si512(x, _mm512_set1_epi8(15));
}
MINIGPT_TARGET inline I high_halves(I x) {
    return low_halves(_mm512_srli_epi16(x, 4));
}
MINIGPT_TARGET inline I add_16(I a, I b) {
    return _mm512_add_epi16(a, b);
}
MINIGPT_TARGET inline I multiply_pairs(I a, I b) {
    return _mm512_maddubs_epi16(a, b);
}
MINIGPT_TARGET inline I sum_pairs(I a) {
    return _mm512_madd_epi16(a, _mm512_set1_epi16(1));
}
MINIGPT_TARGET inline V to_float(I a) {
    return _mm512_cvtepi32_ps(a);
}

#include "kernels/x86/panel_gemm_quantized_x86.inc"

// 6 x 64 is 24 accumulators of the 32 registers, and 24 products for each 10 loads.
constexpr size_t kTilePanels = 4;

template <typename T>
MINIGPT_TARGET void panel_gemm_6x64(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows<1, 4, T>(g);
        case 2:
            return rows<2, kTilePanels, T>(g);
        case 3:
            return rows<3, kTilePanels, T>(g);
        case 4:
            return rows<4, kTilePanels, T>(g);
        case 5:
            return rows<5, kTilePanels, T>(g);
        default:
            return rows<6, kTilePanels, T>(g);
    }
}

// The rows' sums of a group are registers, too: two panels.
MINIGPT_TARGET void panel_gemm_q4_6x32(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows<1, 4, Q4>(g);
        case 2:
            return rows<2, 4, Q4>(g);
        case 3:
            return rows<3, 2, Q4>(g);
        case 4:
            return rows<4, 2, Q4>(g);
        case 5:
            return rows<5, 2, Q4>(g);
        default:
            return rows<6, 2, Q4>(g);
    }
}

}  // namespace

const KernelTable kAvx512Kernels = {
    "avx512",
    true,
    true,
    kTilePanels,
    {panel_gemm_6x64<float>, MINIGPT_COMPUTED(f16, panel_gemm_6x64<F16>),
     MINIGPT_COMPUTED(bf16, panel_gemm_6x64<Bf16>), MINIGPT_COMPUTED(q8, panel_gemm_6x64<Q8>),
     MINIGPT_COMPUTED(q4, panel_gemm_q4_6x32)},
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
