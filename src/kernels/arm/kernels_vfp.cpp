// VFP of 32-bit ARM, before version 4. It has no fused multiply-add, so the bits are the table's
// own, those of sse2.
#include "kernels/tables.h"

#if defined(__arm__)

#if defined(__ARM_FEATURE_SIMD32)
#include <arm_acle.h>
#endif

#include <cstring>

#include "base/half.h"

namespace minigpt::vfp {
namespace {

#define MINIGPT_TARGET

#include "kernels/arm/vector_vfp.inc"

#include "kernels/generic/panel_gemm_unfused.inc"

}  // namespace

extern constexpr KernelTable kKernels = unfused_table<k6x4, k6x1>("vfp", interleave_scalar);

#undef MINIGPT_TARGET

}  // namespace minigpt::vfp

#endif
