// The configuration of a model and its training.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/status.h"

namespace minigpt::networks {

enum class Architecture : uint32_t {
    gpt = 0,  // GPT-2, all biases, tied, gelu_tanh
    mlp = 1,  // a multilayer perceptron that reads the last `window` tokens, for comparison
};

struct TrainConfig {
    Architecture architecture = Architecture::gpt;
    size_t n_layer = 4;
    size_t n_head = 4;
    size_t n_embd = 128;
    size_t n_ctx = 128;  // tokens of a training sequence; for an mlp: targets of a sequence
    size_t window = 8;   // mlp only
    bool mask = true;    // false: a position also sees later ones, even the one it has to predict

    size_t n_batch = 16;  // sequences in an iteration
    size_t n_iters = 2000;
    float lr = 2e-3f;       // after the warm-up; then falls along a cosine
    float lr_end = 0.1f;    // the last learning rate, as a multiple of lr
    size_t n_warmup = 100;  // iterations; at most a tenth of n_iters
    float beta1 = 0.9f, beta2 = 0.99f;
    float weight_decay = 0.1f;  // of matrices and tables
    float clip = 1;             // the largest norm of the gradient
    float dropout = 0;          // on the embedding and on each sublayer's output; gpt only
    uint64_t seed = 1;

    double val = 0.1;           // the share of the text, at its end, that is held back
    size_t eval_every = 250;    // iterations
    size_t eval_windows = 256;  // most windows of the held-back text, evenly spread
};

// Checks every field. Errors: bad_argument with the option's name, what was found and what was
// expected.
Status check(const TrainConfig& config);

}  // namespace minigpt::networks
