// SSE2, x86's base. It has no fused multiply-add, so the bits are the table's own, those of vfp.
#include "kernels/tables.h"

#if defined(__x86_64__)

#include <emmintrin.h>

#include <cstring>

namespace minigpt::sse2 {
namespace {

#define MINIGPT_TARGET

#include "kernels/x86/vector_sse2.inc"

#include "kernels/generic/panel_gemm_unfused.inc"

#include "kernels/x86/interleave.inc"

}  // namespace

extern constexpr KernelTable kKernels = unfused_table<k6x8, k6x4>("sse2", interleave);

#undef MINIGPT_TARGET

}  // namespace minigpt::sse2

#endif
