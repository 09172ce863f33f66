// Causal attention over a KV cache that lies in panels. Nothing here checks its arguments.
#pragma once

#include <cstddef>

#include "minigpt/compute.h"
#include "minigpt/weights.h"

namespace minigpt {

// The cache of one layer and one sequence. Positions that were never written hold anything, NaN
// too: they are never read into a sum.
//
//   k  [n_head, n_ctx / 16, head_dim, 16]   panels of 16 positions
//   v  [n_head, head_dim / 16, n_ctx, 16]   panels of 16 channels
//
// with n_ctx, and in v head_dim, rounded up to 16. Both are 64-byte aligned. In an f16 cache a
// number is rounded to nearest once, as it is written, and one past f16's range becomes its
// largest.
struct KvCache {
    void* k;
    void* v;
    ElementType type;  // f32 or f16
    size_t n_head, head_dim, n_ctx;
};

// Bytes of k and of v. The caller has checked that they do not overflow.
size_t k_cache_bytes(ElementType type, size_t n_head, size_t head_dim, size_t n_ctx);
size_t v_cache_bytes(ElementType type, size_t n_head, size_t head_dim, size_t n_ctx);

// Rows first_row ... first_row + n_rows - 1 of a call: one sequence, at positions n_past and up.
struct AttentionRun {
    KvCache cache;
    size_t first_row, n_rows, n_past;
};

// Writes the runs' keys and values into their caches.
//
//   runs  [n_runs]  each of a sequence of its own
//   k, v  [rows, ld]  heads side by side: [n_head, head_dim] a row
void kv_append(const Compute& compute, const AttentionRun* runs, size_t n_runs, const float* k,
               const float* v, size_t ld);

// Bytes of scratch for attention() over caches of at most n_ctx positions. A multiple of 64.
size_t attention_scratch_bytes(const Compute& compute, size_t n_ctx, size_t head_dim);

// out[i, h] = sum over j <= n_past + i of softmax(q[i, h] . k[j, h] * scale) v[j, h].
// Vaswani et al. 2017, "Attention Is All You Need", eq. 1. Row i is the i-th of its run, and its
// own key must be in the cache. How rows are divided into runs and calls changes no bit.
//
//   out      [rows, ld_out]  out; [n_head, head_dim] a row; must not overlap q
//   q        [rows, ldq]     [n_head, head_dim] a row
//   runs     [n_runs]
//   scratch  attention_scratch_bytes() long, 64-byte aligned
//   probs    nullptr, or, with a single run, [n_head, n_rows, n_past + n_rows]  out; zeros where
//            masked
//
// Allocates nothing.
void attention(const Compute& compute, float* out, size_t ld_out, const float* q, size_t ldq,
               const AttentionRun* runs, size_t n_runs, float scale, void* scratch,
               float* probs = nullptr);

}  // namespace minigpt
