// Attention of one sequence: forward by the library's op, backward written by hand.
#include <cmath>
#include <cstring>

#include "networks/layers.h"
#include "networks/loops.h"

namespace minigpt::networks {
namespace {

// Rows whose score gradients are computed together. With a mask, the keys after them are left out.
constexpr size_t kBlockRows = 64;

float scale_of(const AttentionShape& shape) {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
}

// Splits qkv: the library's op needs queries, keys and values as separate arrays.
void forward_masked(Worker& worker, float* out, float* probs, const float* qkv,
                    const AttentionShape& shape) {
    const size_t n_embd = shape.n_embd();
    for (size_t i = 0; i < shape.n_tokens; ++i) {
        for (size_t part = 0; part < 3; ++part) {
            memcpy(worker.scratch(part) + i * n_embd, qkv + (3 * i + part) * n_embd,
                   n_embd * sizeof(float));
        }
    }
    must(attention(out, worker.scratch(0), worker.scratch(1), worker.scratch(2), shape.n_tokens, 0,
                   shape.n_head, shape.head_dim, scale_of(shape), probs, worker.scratch(3),
                   worker.n_scratch() * sizeof(float), worker.compute()));
}

void forward_unmasked(Worker& worker, float* out, float* probs, const float* qkv,
                      const AttentionShape& shape) {
    const size_t n = shape.n_tokens, dim = shape.head_dim, ld = 3 * shape.n_embd();
    const float scale = scale_of(shape);
    for (size_t h = 0; h < shape.n_head; ++h) {
        const float *q = qkv + h * dim, *k = q + shape.n_embd(), *v = k + shape.n_embd();
        float* p = probs + h * n * n;
        worker.gemm(p, n, q, ld, Operand::plain, k, ld, Operand::transposed, n, n, dim, false);
        each(n * n, [&](size_t i) { p[i] *= scale; });
        must(masked_softmax(p, p, n, n, n, n, worker.compute()));
        worker.gemm(out + h * dim, shape.n_embd(), p, n, Operand::plain, v, ld, Operand::plain, n,
                    dim, n, false);
    }
}

// d_s = (d_p - sum(d_p p)) p scale, the derivative of softmax(s scale), for some rows.
//
//   d  [n_rows, n_keys]  in: d_p; out: d_s
//   p  [n_rows, ldp]
void softmax_backward(float* d, const float* p, size_t n_rows, size_t n_keys, size_t ldp,
                      float scale) {
    for (size_t i = 0; i < n_rows; ++i) {
        float* row = d + i * n_keys;
        const float* prob = p + i * ldp;
        float sum = sum_each(n_keys, [&](size_t j) { return row[j] * prob[j]; });
        each(n_keys, [&](size_t j) { row[j] = (row[j] - sum) * prob[j] * scale; });
    }
}

}  // namespace

size_t AttentionShape::scratch() const {
    size_t bytes = 0;
    must(attention_workspace_bytes(n_tokens, 0, n_head, head_dim, &bytes));
    size_t most = bytes / sizeof(float);
    for (size_t n : {n_tokens * n_embd(), kBlockRows * n_tokens})
        most = n > most ? n : most;
    return most;
}

void attention_forward(Worker& worker, float* out, float* probs, const float* qkv,
                       const AttentionShape& shape) {
    (shape.mask ? forward_masked : forward_unmasked)(worker, out, probs, qkv, shape);
}

// The backward pass of out = p v, p = softmax(q k^T scale), a block of rows at a time: d_v = p^T
// d_out, d_p = d_out v^T, d_q = d_s k, d_k = d_s^T q. Sums over rows continue from block to block.
void attention_backward(Worker& worker, float* d_qkv, const float* d_out, const float* probs,
                        const float* qkv, const AttentionShape& shape) {
    const size_t n = shape.n_tokens, dim = shape.head_dim, n_embd = shape.n_embd(), ld = 3 * n_embd;
    const auto plain = Operand::plain, transposed = Operand::transposed;
    memset(d_qkv, 0, n * ld * sizeof(float));
    for (size_t h = 0; h < shape.n_head; ++h) {
        const float *q = qkv + h * dim, *k = q + n_embd, *v = k + n_embd;
        float *d_q = d_qkv + h * dim, *d_k = d_q + n_embd, *d_v = d_k + n_embd;
        float* d_s = worker.scratch(0);
        for (size_t i = 0; i < n; i += kBlockRows) {
            size_t rows = n - i < kBlockRows ? n - i : kBlockRows;
            size_t keys = shape.mask ? i + rows : n;
            const float* p = probs + (h * n + i) * n;
            const float* d = d_out + i * n_embd + h * dim;
            worker.gemm(d_v, ld, p, n, transposed, d, n_embd, plain, keys, dim, rows, true);
            worker.gemm(d_s, keys, d, n_embd, plain, v, ld, transposed, rows, keys, dim, false);
            softmax_backward(d_s, p, rows, keys, n, scale_of(shape));
            worker.gemm(d_q + i * ld, ld, d_s, keys, plain, k, ld, plain, rows, dim, keys, false);
            worker.gemm(d_k, ld, d_s, keys, transposed, q + i * ld, ld, plain, keys, dim, rows,
                        true);
        }
    }
}

}  // namespace minigpt::networks
