// The memory of a session: what lies where in the one block it lives in.
#pragma once

#include <cstddef>

#include "minigpt/model.h"
#include "ops/attention.h"

namespace minigpt {

struct Buffers {
    float* x;            // [max_rows, n_embd]  the residual stream
    float* h;            // [max_rows, n_embd]  what a sublayer reads, or gives
    float* wide;         // [max_rows, max(3 * n_embd, n_ff)]  q, k, v; the MLP's hidden layer
    void* scratch;       // the ops'
    size_t* n_past;      // [n_seq]
    size_t* n_new;       // [n_seq]  rows of the call under way
    AttentionRun* runs;  // [max_rows]  stretches of rows of one sequence
    float* kv;           // [n_seq][n_layer][k_floats + v_floats]
    size_t k_floats;     // the keys of one layer of one sequence
    size_t v_floats;
};

}  // namespace minigpt
