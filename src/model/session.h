// The memory of a session: what lies where in the one block it lives in.
#pragma once

#include <cstddef>

#include "minigpt/model.h"
#include "ops/attention.h"

namespace minigpt {

// A call under way: rows that are not computed yet, and how far the first chunk of them is.
struct Pass {
    const Row* rows;  // [n_rows], the caller's
    size_t n_rows;    // 0: no call
    float* logits;    // where the chunk's go
    size_t n_chunk;   // rows that are computed together
    size_t n_wanted;  // of them, those that want logits
    size_t n_runs;
    size_t unit;  // layers, then pieces of the head
};

struct Buffers {
    float* x;        // [max_rows, n_embd]  the residual stream
    float* h;        // [max_rows, n_embd]  what a sublayer reads, or gives
    float* wide;     // [max_rows, max(3 * n_embd, n_ff)]  q, k, v; the MLP's hidden layer
    void* scratch;   // the ops'
    size_t* n_past;  // [n_seq]
    size_t* n_new;   // [n_seq]  rows of the chunk under way
    Pass pass;
    AttentionRun* runs;  // [max_rows]  stretches of rows of one sequence
    unsigned char* kv;   // [n_seq][n_layer][k_bytes + v_bytes]
    size_t k_bytes;      // the keys of one layer of one sequence
    size_t v_bytes;
    size_t kv_ctx;          // positions that kv has room for
    size_t n_prefix;        // tokens that every sequence begins with
    size_t n_shared;        // of them, those whose keys and values are prefix's
    const Buffers* prefix;  // where sequence 0 has them; nullptr: n_prefix is 0
};

// The cache of one layer of one sequence, its prefix included.
KvCache cache_of(const Buffers& buffers, const Config& config, KvType kv, size_t seq, size_t layer);

inline ElementType kv_element(KvType type) {
    switch (type) {
        case KvType::f16:
            return ElementType::f16;
        case KvType::q8:
            return ElementType::q8;
        default:
            return ElementType::f32;
    }
}

}  // namespace minigpt
