// The memory of a session: the layout of its one block.
#pragma once

#include <cstddef>

#include "minigpt/model.h"
#include "ops/attention.h"

namespace minigpt {

// A call in progress: the rows not computed yet, and the progress of the first chunk of them.
struct Pass {
    const Row* rows;  // [n_rows], the caller's
    size_t n_rows;    // 0: no call
    float* logits;    // where the chunk's logits go
    size_t n_chunk;   // rows computed together
    size_t n_wanted;  // rows of the chunk that want logits
    size_t n_runs;
    size_t unit;  // layers, then pieces of the head
};

struct Buffers {
    float* x;        // [max_rows, n_embd]  the residual stream
    float* h;        // [max_rows, n_embd]  a sublayer's input or output
    float* wide;     // [max_rows, max(3 * n_embd, n_ff)]  q, k, v; the MLP's hidden layer
    void* scratch;   // for the ops
    size_t* n_past;  // [n_seq]
    size_t* n_new;   // [n_seq]  rows of the current chunk
    Pass pass;
    AttentionRun* runs;  // [max_rows]  stretches of rows of one sequence
    unsigned char* kv;   // [n_seq][n_layer][k_bytes + v_bytes]
    size_t k_bytes;      // the keys of one layer of one sequence
    size_t v_bytes;
    size_t kv_ctx;          // positions that kv has room for
    size_t n_prefix;        // tokens that every sequence begins with
    size_t n_shared;        // of these, tokens whose keys and values lie in prefix
    const Buffers* prefix;  // the session whose sequence 0 has them; nullptr if n_prefix is 0
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
