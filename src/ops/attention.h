// Causal attention over a KV cache in panels. Nothing here checks its arguments.
#pragma once

#include <cstddef>

#include "minigpt/compute.h"
#include "ops/kv_cache.h"

namespace minigpt {

// Bytes of scratch for attention() over caches of at most n_ctx positions. A multiple of 64.
size_t attention_scratch_bytes(const Compute& compute, size_t n_ctx, size_t head_dim);

// out[i, h] = sum over j <= n_past + i of softmax(q[i, h] . k[j, h] * scale) v[j, h].
// Vaswani et al. 2017, "Attention Is All You Need", eq. 1. i is the row's index in its run. The
// row's own key must be in the cache. How rows are divided into runs and calls changes no bit.
//
//   out      [rows, ld_out]  out; [n_head, head_dim] a row; must not overlap q
//   q        [rows, ldq]     [n_head, head_dim] a row
//   runs     [n_runs]
//   scratch  attention_scratch_bytes() long, 64-byte aligned
//   probs    nullptr, or for a single run [n_head, n_rows, n_past + n_rows]  out; zeros where
//            masked
//
// Allocates nothing.
void attention(const Compute& compute, float* out, size_t ld_out, const float* q, size_t ldq,
               const AttentionRun* runs, size_t n_runs, float scale, void* scratch,
               float* probs = nullptr);

}  // namespace minigpt
