// The layers of a transformer, forward and backward, on rows that one thread computes. Backward is
// written by hand: each function states what it is the derivative of. d_x is the loss's gradient
// with respect to x.
//
// Sums over rows (a weight's gradient) are the caller's to divide: by columns, never by rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "networks/worker.h"

namespace minigpt::networks {

// y = x w + b.
//
//   y  [n_rows, n_out]  out
//   x  [n_rows, n_in]
//   w  [n_in, n_out]
//   b  [n_out]
void linear(Worker& worker, float* y, const float* x, const float* w, const float* b, size_t n_rows,
            size_t n_in, size_t n_out);

// d_x = d_y w^T.
void linear_backward(Worker& worker, float* d_x, const float* d_y, const float* w, size_t n_rows,
                     size_t n_in, size_t n_out);

// d_x += the derivative of layernorm without bias, and what its weights' gradients are made of.
//
//   d_x         [n_rows, n_embd]  in and out
//   normalized  [n_rows, n_embd]  out; (x - mean) / sqrt(var + eps)
//   d_y, x      [n_rows, n_embd]
//   w           [n_embd]
void layernorm_backward(float* d_x, float* normalized, const float* d_y, const float* x,
                        const float* w, size_t n_rows, size_t n_embd, float eps);

// d_y = d_y gelu_tanh'(x).
//
//   d_y, x  [n]
void gelu_backward(Worker& worker, float* d_y, const float* x, size_t n);

// The attention of one sequence, all heads.
struct AttentionShape {
    size_t n_tokens, n_head, head_dim;
    bool mask;

    size_t n_embd() const { return n_head * head_dim; }
    // Floats of each of a worker's scratch arrays.
    size_t scratch() const;
};

//   out    [n_tokens, n_embd]          out
//   probs  [n_head, n_tokens, n_tokens]  out
//   qkv    [n_tokens, 3 n_embd]
void attention_forward(Worker& worker, float* out, float* probs, const float* qkv,
                       const AttentionShape& shape);

//   d_qkv  [n_tokens, 3 n_embd]  out
//   d_out  [n_tokens, n_embd]
void attention_backward(Worker& worker, float* d_qkv, const float* d_out, const float* probs,
                        const float* qkv, const AttentionShape& shape);

// loss[i] = -log softmax(logits[i])[targets[i]], and the gradient of the losses' sum times `scale`.
//
//   loss      [n_rows]           out
//   logits    [n_rows, n_vocab]  in; out: their gradient
//   targets   [n_rows]
//   backward  false: the logits stay
void cross_entropy(Worker& worker, double* loss, float* logits, const int32_t* targets,
                   size_t n_rows, size_t n_vocab, float scale, bool backward);

// sum[j] = the sum of x[i, j] (times y[i, j], if that is not nullptr) over i upwards, for columns
// begin <= j < end.
//
//   sum   [n_cols]  out
//   x, y  [n_rows, n_cols]
void sum_columns(float* sum, const float* x, const float* y, size_t n_rows, size_t n_cols,
                 size_t begin, size_t end);

// Zeroes a share of numbers and multiplies the others so that the mean stays: Srivastava et al.
// 2014, "Dropout". Which ones is a hash of a key and the number's place, so that any thread, and
// the backward pass, finds the same.
class Dropout {
public:
    // No number is dropped.
    Dropout() = default;
    // rate in [0, 1); site: which of an iteration's dropouts.
    Dropout(float rate, uint64_t seed, uint64_t iteration, uint64_t site);

    bool drops() const { return threshold_ > 0; }
    // The factor of the number at a place.
    float factor(uint32_t place) const;

    // y = dropped x; y may be x. `place` of the first number.
    void apply(float* y, const float* x, size_t place, size_t n) const;

private:
    uint32_t key_ = 0, threshold_ = 0;
    float scale_ = 1;
};

}  // namespace minigpt::networks
