// What the kernel files share among themselves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

// Put before a loop with a small constant number of rounds.
#if defined(__clang__)
#define MINIGPT_UNROLL _Pragma("unroll")
#else
#define MINIGPT_UNROLL _Pragma("GCC unroll 16")
#endif

// Each kernel file defines MINIGPT_TARGET.
#define MINIGPT_INLINE MINIGPT_TARGET inline __attribute__((always_inline))

namespace minigpt {

// The element types of a panel, as types, so that templates can tell them apart. Panels of q8 and
// q4 are bytes of groups.
struct F16 {
    uint16_t bits;
};
struct Bf16 {
    uint16_t bits;
};
struct Q8 {
    unsigned char byte;
};
struct Q4 {
    unsigned char byte;
};

// The shape of a tile: panels side by side, and vectors across each panel. An ISA has one tile for
// each of 1 ... kMaxRowTile rows. The largest one's rows and outputs give the name. Tiles are as
// large as the registers allow: all sums of a tile stay in registers.
struct TileShape {
    size_t panels, across;
};
using Tiles = const TileShape[kMaxRowTile];

namespace dotprod {
// dotprod's replacement for NEON's kernel.
void panel_gemm_q4(const PanelGemm& g);
}  // namespace dotprod

// 1 / sqrt(x), both operations correctly rounded. It runs once a row, so all ISAs share one copy.
float inverse_sqrt(float x);

// The scalar reference's kernels, for ISAs that cannot do better. armv7's NEON flushes subnormals,
// which exp and the others must accept and return.
void interleave_scalar(float* y, const float* x, size_t ldx, size_t m, size_t k);
void exp_scalar(float* y, const float* x, size_t n);
void log_scalar(float* y, const float* x, size_t n);
void tanh_scalar(float* y, const float* x, size_t n);
void erf_scalar(float* y, const float* x, size_t n);

}  // namespace minigpt
