// A model's configuration, and the tensors that follow from it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/element_type.h"
#include "minigpt/status.h"

namespace minigpt {

enum class Activation : uint32_t { gelu_tanh = 0, gelu_erf = 1 };

const char* name_of(Activation activation);

// The kinds of bias, as bits of Config::biases. A kind exists in every layer or in none.
enum Bias : uint32_t {
    kBiasLn1 = 1,
    kBiasAttnQkv = 2,
    kBiasAttnProj = 4,
    kBiasLn2 = 8,
    kBiasFc = 16,
    kBiasMlpProj = 32,
    kBiasLnF = 64,
    kBiasAll = 127,
};

struct Config {
    uint32_t n_vocab = 0;  // tokens; ids are 0 ... n_vocab - 1
    uint32_t n_rows = 0;   // rows of the token table, >= n_vocab; the rest is padding
    uint32_t n_ctx = 0;    // positions
    uint32_t n_embd = 0;   // a multiple of n_head
    uint32_t n_head = 0;
    uint32_t n_layer = 0;
    uint32_t n_ff = 0;
    float layer_norm_epsilon = 1e-5f;
    Activation activation = Activation::gelu_tanh;
    uint32_t biases = kBiasAll;
    bool tied = true;                              // the output head is the token table
    bool scale_attn_weights = true;                // scores / sqrt(head_dim)
    bool scale_attn_by_inverse_layer_idx = false;  // scores / (layer + 1), too

    uint32_t head_dim() const { return n_head == 0 ? 0 : n_embd / n_head; }
};

// Errors: bad_shape with the field's name, if a size is zero, does not divide, or multiplies past
// what 63 bits hold. A model that passes may still be too large for the machine.
Status check(const Config& config);

// How a tensor lies in the file.
enum class Layout : uint32_t {
    vector = 0,  // [n], f32 always
    rows = 1,    // [n_rows, n_embd], row-major: the position table
    panels = 2,  // [n_out / 16][n_in][16]: every matrix; q8 and q4 in groups of inputs
};

// A tensor of a model: its checkpoint name and logical shape. A matrix, y = xW, is [n_in, n_out],
// as in Hugging Face's Conv1D. The token table and the untied head are [n_rows, n_embd], as in all
// checkpoints, and lie in panels of 16 rows.
struct TensorSpec {
    char name[48];
    size_t n_dims;    // 1 or 2
    size_t shape[2];  // slowest first; shape[1] is 1 for a vector
    Layout layout;
    bool is_table;  // a matrix of shape [n_out, n_in]: the token table and the untied head

    size_t n_in() const { return is_table ? shape[1] : shape[0]; }
    size_t n_out() const { return is_table ? shape[0] : shape[1]; }
};

// The tensors of a model in the order of the file, which is Hugging Face's:
// wte, wpe, h.0.ln_1.weight, h.0.ln_1.bias, ..., ln_f.bias, lm_head.weight where it is untied.
// `config` must have passed check(); index < tensor_count(config).
size_t tensor_count(const Config& config);
TensorSpec tensor_spec(const Config& config, size_t index);

// How many numbers those tensors have, including padding rows, as checkpoints count them. If
// `untied`, the head is counted separately even when it is the token table.
uint64_t parameter_count(const Config& config, bool untied);

}  // namespace minigpt
