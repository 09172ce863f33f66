// The table of kernels: small loops over arrays, one set per ISA. All sets give the same bits,
// except those that are not bit_exact: their fma is a product and a sum, each rounded.
//
// Every sum has the order of "One arithmetic" in src/README.md: products over k use one f32
// accumulator per output, in ascending order, by fma; rows use 16 lanes, added pairwise at the end.
// Kernels check nothing, allocate nothing, know no threads, and touch nothing outside the stated
// shapes. Unless stated otherwise, arrays may have any alignment and must not overlap.
#pragma once

#include <cstddef>

#include "base/element_types.h"

namespace minigpt {

// The most rows that one call of panel_gemm takes, for every ISA.
constexpr size_t kMaxRowTile = 6;

// c = a b (+ c) (+ bias): rows of a times panels of b.
//
//   c     [m, ldc]     out; n of each row; panel p's begin at p * apart; read only if
//                      accumulate
//   a     [k, m]       m rows interleaved, f32; a single row needs no interleaving. q4: quantized
//                      rows from KernelTable::quantize
//   b     [n / 16]     panels, b_stride bytes from one to the next, each [k, 16] of the kernel's
//                      element type. The last one is [k, 16], too, but only its first n % 16
//                      outputs reach c. q8, q4: panels of [k / 32] groups, see base/panel.h
//   bias  [n]          added last, at the same places as c's outputs; nullptr: none
//   m     1 ... kMaxRowTile
//   next  panels to prefetch during this call, laid out like b's, next_bytes of each;
//         nullptr: none
//   apart distance from a panel's outputs to the next one's; kPanel if they are neighbours
struct PanelGemm {
    float* c;
    size_t ldc;
    const void* a;
    size_t m;
    const void* b;
    size_t b_stride;  // in bytes
    size_t n, k;
    const float* bias;
    bool accumulate;
    const void* next = nullptr;
    size_t next_bytes = 0;
    size_t apart = kPanel;
};

// How many streams read_streams reads side by side: the measured limit of a decode's reads.
constexpr size_t kReadStreams = 8;

// A q8 weight is q * scale, exact in f32, and is then used like any other weight. For q4 the
// activations are quantized, too, and the sum of each group is an exact integer:
//   acc = fma(float(sum over k of (half - 8) * q_a), scale_a * scale, acc), groups ascending.
constexpr size_t kF32 = static_cast<size_t>(ElementType::f32);
constexpr size_t kF16 = static_cast<size_t>(ElementType::f16);
constexpr size_t kBf16 = static_cast<size_t>(ElementType::bf16);
constexpr size_t kQ8 = static_cast<size_t>(ElementType::q8);
constexpr size_t kQ4 = static_cast<size_t>(ElementType::q4);

// The types that this build computes with: all, or f32 and those of `make WEIGHTS=f16,q8`.
namespace weights {
constexpr unsigned f32 = 1u << static_cast<unsigned>(ElementType::f32);
constexpr unsigned f16 = 1u << static_cast<unsigned>(ElementType::f16);
constexpr unsigned bf16 = 1u << static_cast<unsigned>(ElementType::bf16);
constexpr unsigned q8 = 1u << static_cast<unsigned>(ElementType::q8);
constexpr unsigned q4 = 1u << static_cast<unsigned>(ElementType::q4);
static_assert((f32 | f16 | bf16 | q8 | q4) == (1u << kElementTypeCount) - 1, "one bit a type");
}  // namespace weights
#if !defined(MINIGPT_WEIGHTS)
#define MINIGPT_WEIGHTS ~0u
#endif
constexpr unsigned kComputed = weights::f32 | (MINIGPT_WEIGHTS);

// A table's entry for a type; nullptr where the build leaves it out.
#define MINIGPT_COMPUTED(type, kernel) ((kComputed & weights::type) != 0 ? (kernel) : nullptr)

// m quantized rows. For each group of 32 inputs:
//
//   int8_t q [m][32]        -127 ... 127, 0 past the last input
//   float scale [m]         the largest magnitude / 127
//   int16_t minus_4 [m][2]  -4 times the sum of q, twice; together the -8 of q4's halves
constexpr size_t kQuantizedBytes = kGroup + 4 + 4;  // for one group of one row

struct KernelTable {
    const char* name;
    bool bit_exact;  // same bits as the other tables; false: multiply and add round separately
    bool keeps_subnormals;  // false: subnormal numbers are taken as zeros
    size_t tile_panels;     // panels side by side at which panel_gemm is fastest for many rows

    void (*panel_gemm[kElementTypeCount])(const PanelGemm& g);

    // y [k, 16] = one q8 panel b, exactly: k inputs, from the first input of a group on.
    void (*widen_q8)(float* y, const void* b, size_t k);

    // y [k / 32][m * kQuantizedBytes] = x [m, ldx], quantized; m is 1 ... kMaxRowTile. If a group
    // has a NaN or an infinity, its q is 0 and its scale NaN. If all its magnitudes are below
    // 2^-80, its q and scale are 0. y is 4-byte aligned.
    void (*quantize)(void* y, const float* x, size_t ldx, size_t m, size_t k);

    // y [k, m] = x [m, ldx] transposed; m is 1 ... kMaxRowTile.
    void (*interleave)(float* y, const float* x, size_t ldx, size_t m, size_t k);

    // y [n] += x [n].
    void (*add)(float* y, const float* x, size_t n);

    // One row: y [n] = (x [n] - mean) / sqrt(var + eps) * w [n] + b [n]; w and b may be nullptr;
    // y may be x. n > 0.
    void (*layernorm)(float* y, const float* x, const float* w, const float* b, size_t n,
                      float eps);

    // One row: y [n] = softmax(x [n] * scale); y may be x. A row of -inf, or of nothing, gives
    // zeros.
    void (*softmax)(float* y, const float* x, size_t n, float scale);

    // The maximum of x [n]; NaN is skipped; -inf if there is no other number.
    float (*maximum)(const float* x, size_t n);

    // The sum of exp(x [n] - shift), with softmax's exp.
    float (*sum_exp)(const float* x, size_t n, float shift);

    // y [n] = f(x [n]); y may be x. Ranges and errors are stated in row_kernels.inc.
    void (*gelu_tanh)(float* y, const float* x, size_t n);
    void (*gelu_erf)(float* y, const float* x, size_t n);
    void (*exp)(float* y, const float* x, size_t n);
    void (*log)(float* y, const float* x, size_t n);
    void (*tanh)(float* y, const float* x, size_t n);
    void (*erf)(float* y, const float* x, size_t n);

    // For measuring the machine. fma_chains runs n steps of x = fma(x, factor, x) in as many
    // independent chains as keep a core busy, and returns the number of fma. An fma is one
    // instruction if the ISA has it. read_streams reads kReadStreams arrays of n floats side by
    // side. They lie `stride` apart.
    //
    //   x     [kPanel + 1]  the chains' starts, factor; in and out
    //   sink  [kPanel]      out; depends on everything that was read
    //   n     for read_streams a multiple of kPanel
    size_t (*fma_chains)(float* x, size_t n);
    void (*read_streams)(float* sink, const float* x, size_t stride, size_t n);
};

// The table at a place in the order of preference; name is nullptr past the end.
struct KernelChoice {
    const char* name;
    const KernelTable* table;
    bool present;  // this CPU and operating system can run it
};
KernelChoice kernel_choice(size_t index);

// The best table that is present.
const KernelTable& best_kernels();

}  // namespace minigpt
