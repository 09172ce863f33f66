// The math of a transformer on plain row-major float arrays. The model itself runs on it. Use it to
// build something else, or to look inside.
//
// Every function runs on `compute` (nullptr: one thread, the best kernels of this CPU), allocates
// nothing, and is safe from any thread. If the kernels are bit_exact(), the result has the same
// bits for every `compute` and on every CPU. The caller's rounding mode and flush-to-zero have no
// effect; they are restored after the call. Arrays must not overlap unless stated otherwise. An
// array without elements may be nullptr.
//
// A leading dimension (ld...) is the distance between rows in elements, at least a row's length.
//
// Errors: bad_shape for sizes that do not fit each other or whose product overflows; bad_argument
// for a null array that has elements, an enum value without a name, and a workspace that is too
// small, nullptr or not 64-byte aligned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/compute.h"
#include "minigpt/config.h"
#include "minigpt/status.h"

namespace minigpt {

// How an operand of gemm lies in memory.
enum class Operand : uint32_t { plain, transposed };

// Bytes of workspace that gemm needs. At most 7 MB, whatever the sizes.
Status gemm_workspace_bytes(size_t m, size_t n, size_t k, size_t* bytes,
                            const Compute* compute = nullptr);

// c = op(a) op(b), or c += op(a) op(b). Each element is one sum by fused multiply-add over k, in
// ascending order, that starts at +0 or at c. It is within k * FLT_EPSILON / 2 * sum |a| |b| of the
// exact value.
//
//   c     [m, n], ldc            out; not read unless accumulate
//   a     [m, k], lda; [k, m] if transposed
//   b     [k, n], ldb; [n, k] if transposed
//   k = 0: c is set to 0, or left as it is if accumulate
//   workspace  64-byte aligned, workspace_bytes >= gemm_workspace_bytes(m, n, k)
Status gemm(float* c, size_t ldc, const float* a, size_t lda, Operand op_a, const float* b,
            size_t ldb, Operand op_b, size_t m, size_t n, size_t k, bool accumulate,
            void* workspace, size_t workspace_bytes, const Compute* compute = nullptr);

// y = (x - mean(x)) / sqrt(var(x) + eps) * w + b, for each row; var is biased.
// Ba, Kiros, Hinton 2016, "Layer Normalization", eq. 3.
//
//   y     [n_rows, n_embd]  out; may be x itself
//   x     [n_rows, n_embd]
//   w, b  [n_embd]; nullptr: 1 and 0
//   eps   > 0; GPT-2 uses 1e-5
//
// Errors: bad_shape if n_embd == 0, bad_argument if eps is not > 0.
Status layernorm(float* y, const float* x, const float* w, const float* b, size_t n_rows,
                 size_t n_embd, float eps, const Compute* compute = nullptr);

// y = gelu(x). Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", sec. 2.
//
//   gelu_tanh  x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): within 4 ULP for x >= -1
//   gelu_erf   x / 2 (1 + erf(x / sqrt(2))): within 8 ULP for x >= -11 (sse2, vfp: x >= -1)
//
// and within 1e-7 for smaller x. NaN at -infinity.
//
//   y, x  [n]; y may be x itself
Status gelu(float* y, const float* x, size_t n, Activation activation,
            const Compute* compute = nullptr);

// softmax under a causal mask: row i sees keys j <= n_past + i; the others get 0. A row that sees
// no key, or only -infinity, becomes zeros. A key whose score is more than 64 below the row's
// maximum gets exactly 0. If a row sees NaN or +infinity, all that it sees becomes NaN.
//
//   probs   [n_rows, n_keys], ld  out; may be scores itself
//   scores  [n_rows, n_keys], ld
Status masked_softmax(float* probs, const float* scores, size_t n_rows, size_t n_keys, size_t ld,
                      size_t n_past, const Compute* compute = nullptr);

// Bytes of workspace that attention needs.
Status attention_workspace_bytes(size_t n_rows, size_t n_past, size_t n_head, size_t head_dim,
                                 size_t* bytes, const Compute* compute = nullptr);

// Causal attention: out[i, h] = sum over j <= n_past + i of softmax(q[i, h] . k[j, h] scale)
// v[j, h]. Vaswani et al. 2017, "Attention Is All You Need", eq. 1; GPT-2's scale is
// 1 / sqrt(head_dim). The rows of q are the last n_rows positions of n_past + n_rows.
//
//   out   [n_rows, n_head, head_dim]  out
//   q     [n_rows, n_head, head_dim]
//   k, v  [n_past + n_rows, n_head, head_dim]
//   probs [n_head, n_rows, n_past + n_rows]  out; nullptr: not wanted
//   workspace  64-byte aligned, workspace_bytes >= attention_workspace_bytes(...)
Status attention(float* out, const float* q, const float* k, const float* v, size_t n_rows,
                 size_t n_past, size_t n_head, size_t head_dim, float scale, float* probs,
                 void* workspace, size_t workspace_bytes, const Compute* compute = nullptr);

// *result = the natural logarithm of softmax(logits)[id], within n / 16 * FLT_EPSILON + 1e-6 of
// the exact value. -infinity for a logit of -infinity; NaN if any logit is NaN or +infinity.
//
//   logits  [n]
//
// Errors: bad_id if id is not in 0 ... n - 1.
Status log_prob(double* result, const float* logits, size_t n, int32_t id,
                const Compute* compute = nullptr);

// y = exp(x), within 1 ULP (sse2, vfp: 1.25); 0 for results below FLT_MIN.
// y = log(x), within 1 ULP; -infinity at 0, NaN for x < 0.
// y = tanh(x), within 1.5 ULP (sse2, vfp: 2).
// y = erf(x), within 1.5 ULP.
//
//   y, x  [n]; y may be x itself
Status exp_each(float* y, const float* x, size_t n, const Compute* compute = nullptr);
Status log_each(float* y, const float* x, size_t n, const Compute* compute = nullptr);
Status tanh_each(float* y, const float* x, size_t n, const Compute* compute = nullptr);
Status erf_each(float* y, const float* x, size_t n, const Compute* compute = nullptr);

}  // namespace minigpt
