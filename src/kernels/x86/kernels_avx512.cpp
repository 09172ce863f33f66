// AVX-512 F and BW. Every function carries the target, so that one file can hold all ISAs.
#include "kernels/tables.h"

#if defined(__x86_64__) || defined(__i386__)

// gcc 12's own header makes undefined vectors of a variable that it then warns of (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

#include <cstring>

namespace minigpt::avx512 {
namespace {

#define MINIGPT_TARGET __attribute__((target("avx512f,avx512bw,avx2,fma,f16c")))

#include "kernels/x86/vector_avx512.inc"

#include "kernels/x86/panel_gemm_x86.inc"

}  // namespace

extern constexpr KernelTable kKernels = fused_table<k6x64, k6x32>("avx512");

#undef MINIGPT_TARGET

}  // namespace minigpt::avx512

#endif
