// AVX2, FMA and F16C. Every function carries the target, so that one file can hold all ISAs.
#include "kernels/tables.h"

#if defined(__x86_64__) || defined(__i386__)

#include <immintrin.h>

#include <cstring>

namespace minigpt::avx2 {
namespace {

#define MINIGPT_TARGET __attribute__((target("avx2,fma,f16c")))

#include "kernels/x86/vector_avx2.inc"

#include "kernels/x86/panel_gemm_x86.inc"

}  // namespace

extern constexpr KernelTable kKernels = fused_table<k6x16, k6x8>("avx2");

#undef MINIGPT_TARGET

}  // namespace minigpt::avx2

#endif
