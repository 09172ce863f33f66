// The public ops but gemm: checks, and the model's own functions behind them.
#include "minigpt/ops.h"

#include "base/fp_environment.h"
#include "kernels/kernels.h"
#include "ops/attention.h"
#include "ops/check.h"
#include "ops/elementwise.h"
#include "ops/parallel.h"

namespace minigpt {
namespace {

Status check_array(const char* name, size_t n) {
    if (n <= kMaxFloats)
        return Status();
    return Status::error(Code::bad_shape, "%s: %zu numbers overflow", name, n);
}

using Map = void (*KernelTable::*)(float* y, const float* x, size_t n);

Status map(Map kernel, float* y, const float* x, size_t n, const Compute* compute) {
    MINIGPT_TRY(check_array("x", n));
    MINIGPT_TRY(check_pointer("y", y, n));
    MINIGPT_TRY(check_pointer("x", x, n));
    FpEnvironment guard;
    const Compute own;
    const Compute& on = compute == nullptr ? own : *compute;
    ThreadPool* pool = n < kSerialNumbers ? nullptr : pool_of(on);
    parallel_for(pool, n, kPanel, [&](size_t begin, size_t end) {
        (kernels_of(on).*kernel)(y + begin, x + begin, end - begin);
    });
    return Status();
}

struct AttentionSizes {
    size_t n_keys, k_bytes, v_bytes, scratch_bytes, bytes;
};

Status attention_sizes(size_t n_rows, size_t n_past, size_t n_head, size_t head_dim,
                       const Compute& compute, AttentionSizes* sizes) {
    size_t keys, floats, padded, scratch;
    bool ok = !__builtin_add_overflow(n_past, n_rows, &keys) && keys <= kMaxFloats &&
              head_dim <= kMaxFloats && n_head <= kMaxFloats;
    // Twice what rounding both up to a panel gives, and what every thread takes.
    ok = ok && fits(keys + kPanel, head_dim + kPanel, &padded) && fits(padded, n_head, &floats) &&
         fits(floats, 4, &floats) && fits(keys + head_dim + 4 * kPanel, 64, &scratch) &&
         fits(scratch, compute.n_threads(), &scratch) && floats + scratch <= kMaxFloats;
    // probs, and scores in general, are [n_head, n_rows, keys].
    ok = ok && fits(n_rows, keys, &padded) && fits(padded, n_head, &padded);
    if (!ok) {
        return Status::error(Code::bad_shape,
                             "attention: %zu + %zu positions, %zu heads of %zu overflow", n_past,
                             n_rows, n_head, head_dim);
    }
    sizes->n_keys = keys;
    sizes->k_bytes = k_cache_bytes(ElementType::f32, n_head, head_dim, keys);
    sizes->v_bytes = v_cache_bytes(ElementType::f32, n_head, head_dim, keys);
    sizes->scratch_bytes = attention_scratch_bytes(compute, keys, head_dim);
    sizes->bytes = n_rows == 0 || n_head == 0 || head_dim == 0
                       ? 0
                       : sizes->k_bytes + sizes->v_bytes + sizes->scratch_bytes;
    return Status();
}

}  // namespace

Status layernorm(float* y, const float* x, const float* w, const float* b, size_t n_rows,
                 size_t n_embd, float eps, const Compute* compute) {
    if (n_embd == 0)
        return Status::error(Code::bad_shape, "n_embd: found 0, expected at least 1");
    if (!(eps > 0)) {
        return Status::error(Code::bad_argument, "eps: found %g, expected more than 0",
                             static_cast<double>(eps));
    }
    MINIGPT_TRY(check_matrix("x", n_rows, n_embd, n_embd));
    MINIGPT_TRY(check_pointer("y", y, n_rows));
    MINIGPT_TRY(check_pointer("x", x, n_rows));
    FpEnvironment guard;
    const Compute own;
    layernorm_rows(compute == nullptr ? own : *compute, y, n_embd, x, n_embd, w, b, n_rows, n_embd,
                   eps);
    return Status();
}

Status gelu(float* y, const float* x, size_t n, Activation activation, const Compute* compute) {
    switch (activation) {
        case Activation::gelu_tanh:
            return map(&KernelTable::gelu_tanh, y, x, n, compute);
        case Activation::gelu_erf:
            return map(&KernelTable::gelu_erf, y, x, n, compute);
    }
    return Status::error(Code::bad_argument, "activation: found %u, expected 0 or 1",
                         static_cast<unsigned>(activation));
}

Status masked_softmax(float* probs, const float* scores, size_t n_rows, size_t n_keys, size_t ld,
                      size_t n_past, const Compute* compute) {
    MINIGPT_TRY(check_matrix("scores", n_rows, n_keys, ld));
    if (n_keys == 0)
        return Status();
    MINIGPT_TRY(check_pointer("probs", probs, n_rows));
    MINIGPT_TRY(check_pointer("scores", scores, n_rows));
    FpEnvironment guard;
    const Compute own;
    const Compute& on = compute == nullptr ? own : *compute;
    ThreadPool* pool = n_rows * n_keys < kSerialNumbers ? nullptr : pool_of(on);
    for_each_unit(pool, n_rows, [&](size_t i, size_t) {
        float* row = probs + i * ld;
        // n_past + i + 1, which may overflow.
        size_t visible = n_past >= n_keys || i >= n_keys - n_past ? n_keys : n_past + i + 1;
        kernels_of(on).softmax(row, scores + i * ld, visible, 1.0f);
        for (size_t j = visible; j < n_keys; ++j)
            row[j] = 0;
    });
    return Status();
}

Status attention_workspace_bytes(size_t n_rows, size_t n_past, size_t n_head, size_t head_dim,
                                 size_t* bytes, const Compute* compute) {
    const Compute own;
    AttentionSizes sizes;
    MINIGPT_TRY(check_pointer("bytes", bytes));
    *bytes = 0;
    MINIGPT_TRY(attention_sizes(n_rows, n_past, n_head, head_dim,
                                compute == nullptr ? own : *compute, &sizes));
    *bytes = sizes.bytes;
    return Status();
}

Status attention(float* out, const float* q, const float* k, const float* v, size_t n_rows,
                 size_t n_past, size_t n_head, size_t head_dim, float scale, float* probs,
                 void* workspace, size_t workspace_bytes, const Compute* compute) {
    const Compute own;
    const Compute& on = compute == nullptr ? own : *compute;
    AttentionSizes sizes;
    MINIGPT_TRY(attention_sizes(n_rows, n_past, n_head, head_dim, on, &sizes));
    MINIGPT_TRY(check_workspace(workspace, workspace_bytes, sizes.bytes));
    if (sizes.bytes == 0)
        return Status();
    MINIGPT_TRY(check_pointer("out", out));
    MINIGPT_TRY(check_pointer("q", q));
    MINIGPT_TRY(check_pointer("k", k));
    MINIGPT_TRY(check_pointer("v", v));
    FpEnvironment guard;
    char* cache_k = static_cast<char*>(workspace);
    char* cache_v = cache_k + sizes.k_bytes;
    void* scratch = cache_v + sizes.v_bytes;
    size_t ld = n_head * head_dim;
    KvCache cache = {cache_k, cache_v, ElementType::f32, n_head, head_dim, sizes.n_keys};
    AttentionRun all = {cache, 0, sizes.n_keys, 0};
    kv_append(on, &all, 1, k, v, ld);
    AttentionRun last = {cache, 0, n_rows, n_past};
    attention(on, out, ld, q, ld, &last, 1, scale, scratch, probs);
    return Status();
}

Status log_prob(double* result, const float* logits, size_t n, int32_t id, const Compute* compute) {
    MINIGPT_TRY(check_array("logits", n));
    if (n == 0)
        return Status::error(Code::bad_id, "id: found %ld; there are no logits", long{id});
    MINIGPT_TRY(check_pointer("result", result));
    MINIGPT_TRY(check_pointer("logits", logits));
    if (id < 0 || static_cast<uint32_t>(id) >= n) {
        return Status::error(Code::bad_id, "id: found %ld, expected 0 to %zu",
                             static_cast<long>(id), n - 1);
    }
    FpEnvironment guard;
    const Compute own;
    const KernelTable& kernels = kernels_of(compute == nullptr ? own : *compute);
    float shift = kernels.maximum(logits, n);
    if (shift == -__builtin_inff())
        shift = 0;  // -inf - -inf would be NaN
    float log_sum = kernels.sum_exp(logits, n, shift);
    kernels.log(&log_sum, &log_sum, 1);
    double logit = static_cast<double>(logits[id]);
    // All -inf: the logarithm of a sum of nothing, too, is -inf.
    if (log_sum == -__builtin_inff()) {
        *result = logit;
        return Status();
    }
    *result = logit - static_cast<double>(shift) - static_cast<double>(log_sum);
    return Status();
}

Status exp_each(float* y, const float* x, size_t n, const Compute* compute) {
    return map(&KernelTable::exp, y, x, n, compute);
}

Status log_each(float* y, const float* x, size_t n, const Compute* compute) {
    return map(&KernelTable::log, y, x, n, compute);
}

Status tanh_each(float* y, const float* x, size_t n, const Compute* compute) {
    return map(&KernelTable::tanh, y, x, n, compute);
}

Status erf_each(float* y, const float* x, size_t n, const Compute* compute) {
    return map(&KernelTable::erf, y, x, n, compute);
}

}  // namespace minigpt
