// The table of kernels: small loops over arrays, one set per ISA. All have the same bits, but for
// the tables that are not bit_exact: their fma is a product and a sum, each rounded.
//
// Every sum is ordered as "One arithmetic" in src/README.md says: products over k in one f32
// accumulator per output, upwards, by fma; rows in 16 lanes, added pairwise at the end. Kernels
// check nothing, allocate nothing, know no threads, and touch nothing outside the shapes stated.
// Arrays may have any alignment unless said otherwise, and must not overlap unless said otherwise.
#pragma once

#include <cstddef>

#include "base/element_types.h"

namespace minigpt {

// Rows that one call of panel_gemm takes at most, whatever the ISA.
constexpr size_t kMaxRowTile = 6;

// c = a b (+ c) (+ bias): rows of a times panels of b.
//
//   c     [m, ldc]     out; n of each row, those of panel p from p * apart on; read only if
//                      accumulate
//   a     [k, m]       m rows interleaved, f32; a single row is just a row. q4: quantized rows
//                      as KernelTable::quantize makes them
//   b     [n / 16]     panels, b_stride bytes from one to the next, each [k, 16] of the kernel's
//                      element type; the last one is [k, 16] too, only its first n % 16 outputs
//                      reach c. q8, q4: panels of [k / 32] groups, see base/panel.h
//   bias  [n]          added last, where c's outputs are in it; nullptr: none
//   m     1 ... kMaxRowTile
//   next  where the caller reads on, panels like b's, next_bytes of each: they are asked for
//         meanwhile, to come from memory while this computes. nullptr: nothing
//   apart from a panel's outputs to the next one's: kPanel where they are neighbours
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

// How many panels a decode reads side by side, and so does a measurement of its limit.
constexpr size_t kReadStreams = 8;

// A weight of q8 is q * scale, exact in f32, and then one like the others. Of q4 the activations
// are quantized too and each group's sum is an exact integer:
//   acc = fma(float(sum over k of (half - 8) * q_a), scale_a * scale, acc), groups upwards.
constexpr size_t kF32 = static_cast<size_t>(ElementType::f32);
constexpr size_t kF16 = static_cast<size_t>(ElementType::f16);
constexpr size_t kBf16 = static_cast<size_t>(ElementType::bf16);
constexpr size_t kQ8 = static_cast<size_t>(ElementType::q8);
constexpr size_t kQ4 = static_cast<size_t>(ElementType::q4);

// Those that this build computes with: all, or f32 and what `make WEIGHTS=f16,q8` names.
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

// m quantized rows: for each group of 32 inputs
//
//   int8_t q [m][32]        -127 ... 127, 0 past the last input
//   float scale [m]         the largest magnitude / 127
//   int16_t minus_4 [m][2]  -4 times the sum of q, twice: together the -8 of q4's halves
constexpr size_t kQuantizedBytes = kGroup + 4 + 4;  // of a row's group

struct KernelTable {
    const char* name;
    bool bit_exact;  // keeps the promise of equal bits; false: multiplies and adds, its own bits
    bool keeps_subnormals;  // false: computes with zeros in their place
    size_t tile_panels;     // panels that panel_gemm best takes side by side for many rows

    void (*panel_gemm[kElementTypeCount])(const PanelGemm& g);

    // y [k, 16] = one panel b of q8, k inputs from a group's first on, exactly.
    void (*widen_q8)(float* y, const void* b, size_t k);

    // y [k / 32][m * kQuantizedBytes] = x [m, ldx], quantized; m is 1 ... kMaxRowTile. A group
    // that has a NaN or an infinity gets q = 0 and the scale NaN; one of magnitudes under 2^-80
    // gets q = 0 and the scale 0. y is 4-byte aligned.
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

    // The maximum of x [n], NaN passed over; -inf if there is nothing else.
    float (*maximum)(const float* x, size_t n);

    // The sum of exp(x [n] - shift), the exp being softmax's.
    float (*sum_exp)(const float* x, size_t n, float shift);

    // y [n] = f(x [n]); y may be x. Ranges and errors are stated in row_kernels.inc.
    void (*gelu_tanh)(float* y, const float* x, size_t n);
    void (*gelu_erf)(float* y, const float* x, size_t n);
    void (*exp)(float* y, const float* x, size_t n);
    void (*log)(float* y, const float* x, size_t n);
    void (*tanh)(float* y, const float* x, size_t n);
    void (*erf)(float* y, const float* x, size_t n);

    // For measuring the machine. fma_chains runs n steps of as many independent chains of
    // x = fma(x, factor, x) as keep a core busy, each one instruction where there is an fma, and
    // returns how many fma that were; read_streams reads kReadStreams arrays of n floats, `stride`
    // apart, side by side.
    //
    //   x     [kPanel + 1]  the chains' starts, factor; in and out
    //   sink  [kPanel]      out; something that depends on all that was read
    //   n     of read_streams: a multiple of kPanel
    size_t (*fma_chains)(float* x, size_t n);
    void (*read_streams)(float* sink, const float* x, size_t stride, size_t n);
};

// The ISA's table, by its place in the order of preference; name is nullptr past the end.
struct KernelChoice {
    const char* name;
    const KernelTable* table;
    bool present;  // this CPU and operating system run it
};
KernelChoice kernel_choice(size_t index);

// The best table that is present.
const KernelTable& best_kernels();

}  // namespace minigpt
