// The products of q4 by the dot products of ARMv8.2, for the table that is NEON's in all else. This
// file alone is compiled for them, so it uses nothing inline from elsewhere.
#include "kernels/tables.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <cstring>

namespace minigpt::dotprod {
namespace {

#define MINIGPT_TARGET

#include "kernels/arm/vector_neon.inc"

#include "kernels/arm/panel_gemm_neon.inc"

// sum [4] += the halves of four blocks, of four outputs each, times 16 of a row's integers.
MINIGPT_INLINE I add_dots(I sum, const int8x16_t (&halves)[kQ4Blocks], const int8_t* q) {
    const int8x16_t all = vld1q_s8(q);
    sum = vdotq_laneq_s32(sum, halves[0], all, 0);
    sum = vdotq_laneq_s32(sum, halves[1], all, 1);
    sum = vdotq_laneq_s32(sum, halves[2], all, 2);
    return vdotq_laneq_s32(sum, halves[3], all, 3);
}

// A half becomes 16 * (half - 8), which a byte holds and which the conversion to f32 divides again,
// exactly; then no row needs the sum of its integers.
template <size_t kRows, size_t kFrom, size_t kSome, size_t kPanels, size_t kAcross>
MINIGPT_INLINE void group_q4(V (&acc)[kSome][kPanels][kAcross], size_t p, size_t v,
                             const unsigned char* a, const unsigned char* group, size_t v0) {
    const float* scale_a = reinterpret_cast<const float*>(a + kRows * kGroup) + kFrom;
    const int8_t* q = reinterpret_cast<const int8_t*>(a) + kFrom * kGroup;
    const unsigned char* halves = group + kQ4Scales + (v0 + v) * sizeof(I);
    int8x16_t low[kQ4Blocks], high[kQ4Blocks];
    MINIGPT_UNROLL
    for (size_t block = 0; block < kQ4Blocks; ++block) {
        uint8x16_t both = veorq_u8(vld1q_u8(halves + block * kQ4BlockBytes), vdupq_n_u8(0x88));
        low[block] = vreinterpretq_s8_u8(vshlq_n_u8(both, 4));
        high[block] = vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(0xf0)));
    }
    V scale = load_scales(group, v0 + v);
    MINIGPT_UNROLL
    for (size_t i = 0; i < kSome; ++i, q += kGroup) {
        I sum = add_dots(add_dots(isplat(0), low, q), high, q + kGroup / 2);
        V both = mul(splat(scale_a[i]), scale);
        acc[i][p][v] = fma(vcvtq_n_f32_s32(sum, 4), both, acc[i][p][v]);
    }
}

// The weights of a group are eight registers besides those of the tile.
constexpr Tiles k6x4OfDots = {{4, 4}, {1, 4}, {1, 2}, {1, 2}, {1, 1}, {1, 1}};

}  // namespace

void panel_gemm_q4(const PanelGemm& g) {
    panel_gemm<Q4, k6x4OfDots>(g);
}

#undef MINIGPT_TARGET

}  // namespace minigpt::dotprod

#endif
