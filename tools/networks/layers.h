// The layers of a transformer, forward and backward, on rows that one thread computes. The backward
// functions are written by hand: each states the function that it is the derivative of. d_x is the
// gradient of the loss with respect to x.
//
// A weight's gradient is a sum over rows. The caller divides it among threads by columns, never by
// rows.
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

// d_x += the derivative of layernorm. `normalized` and d_y give the gradients of its weights.
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

// The attention of one sequence, with all heads.
struct AttentionShape {
    size_t n_tokens, n_head, head_dim;
    bool mask;

    size_t n_embd() const { return n_head * head_dim; }
    // The floats that each scratch array of a worker needs.
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

// loss[i] = -log softmax(logits[i])[targets[i]], and the gradient of the sum of losses, times
// `scale`.
//
//   loss      [n_rows]           out
//   logits    [n_rows, n_vocab]  in; out: replaced by their gradient
//   targets   [n_rows]
//   backward  false: the logits are not changed
void cross_entropy(Worker& worker, double* loss, float* logits, const int32_t* targets,
                   size_t n_rows, size_t n_vocab, float scale, bool backward);

// sum[j] = the sum of x[i, j] (times y[i, j], if y is not nullptr) over ascending i, for columns
// begin <= j < end.
//
//   sum   [n_cols]  out
//   x, y  [n_rows, n_cols]
void sum_columns(float* sum, const float* x, const float* y, size_t n_rows, size_t n_cols,
                 size_t begin, size_t end);

// Dropout: sets a share of numbers to zero and multiplies the others so that the mean stays the
// same. Srivastava et al. 2014, "Dropout". A hash of a key and the number's place chooses the
// numbers, so every thread, and the backward pass, chooses the same.
class Dropout {
public:
    // Drops no number.
    Dropout() = default;
    // rate in [0, 1); site: the index of the dropout in its iteration.
    Dropout(float rate, uint64_t seed, uint64_t iteration, uint64_t site);

    bool drops() const { return threshold_ > 0; }
    // The factor for the number at a place.
    float factor(uint32_t place) const;

    // y = x with dropout; y may be x. `place`: of the first number.
    void apply(float* y, const float* x, size_t place, size_t n) const;

private:
    uint32_t key_ = 0, threshold_ = 0;
    float scale_ = 1;
};

}  // namespace minigpt::networks
