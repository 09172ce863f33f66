// What the kernel files share among themselves.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"

// Before a loop of few and constant rounds.
#if defined(__clang__)
#define MINIGPT_UNROLL _Pragma("unroll")
#else
#define MINIGPT_UNROLL _Pragma("GCC unroll 16")
#endif

namespace minigpt {

extern const KernelTable kScalarKernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kNeonKernels;
extern const KernelTable kDotprodKernels;  // aarch64 alone
extern const KernelTable kMuladdKernels;   // where the base has no fused multiply-add

// What dotprod has in place of NEON's.
void panel_gemm_q4_6x4_dotprod(const PanelGemm& g);

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
