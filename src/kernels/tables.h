// What the kernel files share among themselves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

// Before a loop of few and constant rounds.
#if defined(__clang__)
#define MINIGPT_UNROLL _Pragma("unroll")
#else
#define MINIGPT_UNROLL _Pragma("GCC unroll 16")
#endif

// MINIGPT_TARGET is the kernel file's.
#define MINIGPT_INLINE MINIGPT_TARGET inline __attribute__((always_inline))

namespace minigpt {

// The element types of a panel, so that templates can tell them apart. Panels of q8 and q4 are
// bytes of groups.
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

// A tile of some rows: panels side by side, and vectors across of each. An ISA's tiles are those of
// 1 ... kMaxRowTile rows; their name is the largest one's rows and outputs. They are as large as
// the registers allow: all sums of a tile are kept in them.
struct TileShape {
    size_t panels, across;
};
using Tiles = const TileShape[kMaxRowTile];

namespace dotprod {
// What dotprod has in place of NEON's.
void panel_gemm_q4(const PanelGemm& g);
}  // namespace dotprod

// 1 / sqrt(x), both correctly rounded: once a row, so one copy serves every ISA.
float inverse_sqrt(float x);

// The scalar reference's own, for ISAs that cannot do better; armv7's NEON flushes subnormals,
// which exp and the like must take and give.
void interleave_scalar(float* y, const float* x, size_t ldx, size_t m, size_t k);
void exp_scalar(float* y, const float* x, size_t n);
void log_scalar(float* y, const float* x, size_t n);
void tanh_scalar(float* y, const float* x, size_t n);
void erf_scalar(float* y, const float* x, size_t n);

}  // namespace minigpt
