// The KV cache of one layer and one sequence: where its keys and values lie, and how they get
// there. Nothing here checks its arguments.
#pragma once

#include <cstddef>

#include "minigpt/compute.h"
#include "ops/panels.h"

namespace minigpt {

// A cache may begin with another's first positions, in place, in multiples of this.
constexpr size_t kPrefixUnit = kGroup;

// Positions that were never written hold anything, NaN too: they are never read into a sum.
//
//   k  [n_head, n_ctx / 16, head_dim, 16]   panels of 16 positions
//   v  [n_head, head_dim / 16, n_ctx, 16]   panels of 16 channels
//
// with n_ctx, and in v head_dim, rounded up to 16. Both are 64-byte aligned. A number is rounded
// once, as it is written:
//
//   f16  to nearest; past f16's range it becomes the largest there is.
//   q8   to a multiple of a scale. k is as weights of q8 are: its scale, an f16, is of a position's
//        32 channels. v is in those panels too, groups going along positions, where their scales
//        are 1: its scale is of a position's head, in an array behind the panels,
//        f32 [n_head, n_ctx], and is multiplied into the position's probability.
struct KvCache {
    void* k;
    void* v;
    ElementType type;  // f32, f16 or q8
    size_t n_head, head_dim;
    size_t n_ctx;  // positions that k and v have room for: n_prefix and up
    // The first n_prefix positions, a multiple of kPrefixUnit, lie in another cache.
    size_t n_prefix = 0;
    const void* prefix_k = nullptr;
    const void* prefix_v = nullptr;
    size_t prefix_ctx = 0;  // its n_ctx
};

// Bytes of k and of v. The caller has checked that they do not overflow.
size_t k_cache_bytes(ElementType type, size_t n_head, size_t head_dim, size_t n_ctx);
size_t v_cache_bytes(ElementType type, size_t n_head, size_t head_dim, size_t n_ctx);

// Panels from some position on, as PanelGemm takes them.
struct CachePanels {
    const void* b;
    size_t b_stride;      // in bytes
    const float* scales;  // of v, [positions from there on]; nullptr: all are 1
};

// A head's keys from position j on, a multiple of 16; up to n_prefix, or to the end.
CachePanels cached_keys(const KvCache& cache, size_t head, size_t j);
// A head's values from position j on, a multiple of value_unit(type); up to n_prefix, or to the
// end.
CachePanels cached_values(const KvCache& cache, size_t head, size_t j);
inline size_t value_unit(ElementType type) {
    return traits_of(type).group;
}

// Rows first_row ... first_row + n_rows - 1 of a call: one sequence, at positions n_past and up.
struct AttentionRun {
    KvCache cache;
    size_t first_row, n_rows, n_past;
};

// Writes the runs' keys and values into their caches, n_past >= n_prefix. Positions before n_past
// must have been written.
//
//   runs  [n_runs]  each of a sequence of its own
//   k, v  [rows, ld]  heads side by side: [n_head, head_dim] a row
void kv_append(const Compute& compute, const AttentionRun* runs, size_t n_runs, const float* k,
               const float* v, size_t ld);

// Copies positions first ... first + n - 1 of `from`, which has no prefix, to where `cache` has its
// own first: first == cache.n_prefix, and n <= kPrefixUnit.
void kv_copy(const KvCache& cache, const KvCache& from, size_t first, size_t n);

}  // namespace minigpt
