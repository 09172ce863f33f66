// NEON with fused multiply-add: aarch64, and armv7 with VFPv4. On armv7 this file alone is
// compiled for it, so it uses nothing inline from elsewhere.
#include "kernels/tables.h"

#if defined(__aarch64__) || (defined(__arm__) && defined(__ARM_NEON) && defined(__ARM_FEATURE_FMA))

#include <arm_neon.h>

#include <cstring>

namespace minigpt::neon {
namespace {

#define MINIGPT_TARGET

#include "kernels/arm/vector_neon.inc"

#include "kernels/generic/kernels.inc"

#include "kernels/arm/panel_gemm_neon.inc"

#include "kernels/arm/quantized_neon.inc"

#include "kernels/arm/interleave.inc"

constexpr KernelTable table() {
    KernelTable t = table_of_rows("neon");
    t.interleave = interleave;
    t.widen_q8 = MINIGPT_COMPUTED(q8, widen_q8);
#if defined(__aarch64__)
    set_products<k6x16, k6x4>(&t);
#else
    set_products<k6x8, k6x4>(&t);
    // armv7's NEON flushes subnormals to zero, whatever FPSCR says.
    t.keeps_subnormals = false;
    t.exp = exp_scalar;
    t.log = log_scalar;
    t.tanh = tanh_scalar;
    t.erf = erf_scalar;
#endif
    return t;
}

}  // namespace

extern constexpr KernelTable kKernels = table();

#undef MINIGPT_TARGET

}  // namespace minigpt::neon

#if defined(__aarch64__)
namespace minigpt::dotprod {
namespace {

// NEON's but for q4.
constexpr KernelTable table() {
    KernelTable t = neon::kKernels;
    t.name = "dotprod";
    t.panel_gemm[kQ4] = MINIGPT_COMPUTED(q4, panel_gemm_q4);
    return t;
}

}  // namespace

extern constexpr KernelTable kKernels = table();

}  // namespace minigpt::dotprod
#endif

#endif
