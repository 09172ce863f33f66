// The KV cache of one layer and one sequence: its layout, and how keys and values are written into
// it. Nothing here checks its arguments.
#pragma once

#include <cstddef>

#include "minigpt/compute.h"
#include "ops/panels.h"

namespace minigpt {

// A cache may share its first positions with another cache, in multiples of this.
constexpr size_t kPrefixUnit = kGroup;

// Positions that were never written may hold anything, even NaN. They never enter a sum.
//
//   k  [n_head, n_ctx / 16, head_dim, 16]   panels of 16 positions
//   v  [n_head, head_dim / 16, n_ctx, 16]   panels of 16 channels
//
// n_ctx, and head_dim in v, are rounded up to 16. Both arrays are 64-byte aligned. A number is
// rounded once, when it is written:
//
//   f16  to nearest; numbers past f16's range become its largest number.
//   q8   to a multiple of a scale. k is laid out as q8 weights are: each position has an f16 scale
//        for 32 channels. v has the same panels, but its groups go along positions and their scales
//        are 1. Its real scale is one per position and head, in an array behind the panels,
//        f32 [n_head, n_ctx]. It is multiplied into the position's probability.
struct KvCache {
    void* k;
    void* v;
    ElementType type;  // f32, f16 or q8
    size_t n_head, head_dim;
    size_t n_ctx;  // positions that k and v have room for, from n_prefix on
    // The first n_prefix positions, a multiple of kPrefixUnit, lie in another cache:
    size_t n_prefix = 0;
    const void* prefix_k = nullptr;
    const void* prefix_v = nullptr;
    size_t prefix_ctx = 0;  // its n_ctx
};

// Bytes of k and of v. The caller has checked that they do not overflow.
size_t k_cache_bytes(ElementType type, size_t n_head, size_t head_dim, size_t n_ctx);
size_t v_cache_bytes(ElementType type, size_t n_head, size_t head_dim, size_t n_ctx);

// Panels from some position on, as PanelGemm reads them.
struct CachePanels {
    const void* b;
    size_t b_stride;      // in bytes
    const float* scales;  // for v, [positions from there on]; nullptr: all are 1
};

// A head's keys from position j on, up to n_prefix or the end. j is a multiple of 16.
CachePanels cached_keys(const KvCache& cache, size_t head, size_t j);
// A head's values from position j on, up to n_prefix or the end. j is a multiple of
// value_unit(type).
CachePanels cached_values(const KvCache& cache, size_t head, size_t j);
inline size_t value_unit(ElementType type) {
    return traits_of(type).group;
}

// Rows first_row ... first_row + n_rows - 1 of a call: one sequence, at positions n_past and up.
struct AttentionRun {
    KvCache cache;
    size_t first_row, n_rows, n_past;
};

// Writes the runs' keys and values into their caches; n_past >= n_prefix. Positions before n_past
// must have been written.
//
//   runs  [n_runs]  each of a different sequence
//   k, v  [rows, ld]  a row has all heads: [n_head, head_dim]
void kv_append(const Compute& compute, const AttentionRun* runs, size_t n_runs, const float* k,
               const float* v, size_t ld);

// Copies positions first ... first + n - 1 of `from`, which has no prefix, to the first own
// positions of `cache`: first == cache.n_prefix, and n <= kPrefixUnit.
void kv_copy(const KvCache& cache, const KvCache& from, size_t first, size_t n);

}  // namespace minigpt
