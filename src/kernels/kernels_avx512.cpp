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
#if defined(__clang__)
#define MINIGPT_UNROLL _Pragma("unroll")
#else
#define MINIGPT_UNROLL _Pragma("GCC unroll 16")
#endif

#include "kernels/vector_avx512.inc"

#include "kernels/element_types.inc"
#include "kernels/row_kernels.inc"

#include "kernels/limit_kernels.inc"

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

#include "kernels/panel_gemm_x86.inc"

// One row reads eight panels side by side: eight accumulators hide the latency of fma, eight
// streams that of memory. Many rows take kTilePanels of them: 6 x 64 is 24 accumulators of the 32
// registers, and 24 products for each 10 loads.
constexpr size_t kTilePanels = 4;

template <typename T>
MINIGPT_TARGET void panel_gemm_6x64(const PanelGemm& g) {
    switch (g.m) {
        case 1:
            return rows<1, 8, T>(g);
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

}  // namespace

const KernelTable kAvx512Kernels = {
    "avx512",           true,
    kTilePanels,        {panel_gemm_6x64<float>, panel_gemm_6x64<F16>, panel_gemm_6x64<Bf16>},
    interleave,         add_row,
    layernorm_row,      softmax_row,
    maximum_row,        sum_exp_row,
    map<gelu_tanh_one>, map<gelu_erf_one>,
    map<exp_full>,      map<log_full>,
    map<tanh_full>,     map<erf_full>,
    fma_chains,         read_streams,
};

#undef MINIGPT_TARGET
#undef MINIGPT_UNROLL

}  // namespace minigpt

#endif
