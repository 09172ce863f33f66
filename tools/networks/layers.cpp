#include "networks/layers.h"

#include <cmath>
#include <cstring>

#include "minigpt/generate.h"
#include "networks/loops.h"

namespace minigpt::networks {

void linear(Worker& worker, float* y, const float* x, const float* w, const float* b, size_t n_rows,
            size_t n_in, size_t n_out) {
    worker.gemm(y, n_out, x, n_in, Operand::plain, w, n_out, Operand::plain, n_rows, n_out, n_in,
                false);
    for (size_t i = 0; i < n_rows; ++i) {
        float* row = y + i * n_out;
        each(n_out, [&](size_t j) { row[j] += b[j]; });
    }
}

void linear_backward(Worker& worker, float* d_x, const float* d_y, const float* w, size_t n_rows,
                     size_t n_in, size_t n_out) {
    worker.gemm(d_x, n_in, d_y, n_out, Operand::plain, w, n_out, Operand::transposed, n_rows, n_in,
                n_out, false);
}

// With r = 1 / sqrt(var + eps), n = (x - mean) r and g = d_y w:
// d_x = r (g - mean(g) - n mean(g n)).
void layernorm_backward(float* d_x, float* normalized, const float* d_y, const float* x,
                        const float* w, size_t n_rows, size_t n_embd, float eps) {
    const float size = static_cast<float>(n_embd);
    for (size_t i = 0; i < n_rows; ++i) {
        const float *from = x + i * n_embd, *d = d_y + i * n_embd;
        float *norm = normalized + i * n_embd, *to = d_x + i * n_embd;
        float mean = sum_each(n_embd, [&](size_t j) { return from[j]; }) / size;
        float var = sum_each(n_embd, [&](size_t j) { return (from[j] - mean) * (from[j] - mean); });
        float r = 1 / std::sqrt(var / size + eps);
        each(n_embd, [&](size_t j) { norm[j] = (from[j] - mean) * r; });
        float mean_g = sum_each(n_embd, [&](size_t j) { return d[j] * w[j]; }) / size;
        float mean_gn = sum_each(n_embd, [&](size_t j) { return d[j] * w[j] * norm[j]; }) / size;
        each(n_embd, [&](size_t j) { to[j] += r * (d[j] * w[j] - mean_g - norm[j] * mean_gn); });
    }
}

// gelu(x) = x / 2 (1 + tanh u), u = sqrt(2 / pi) (x + 0.044715 x^3), so
// gelu'(x) = (1 + tanh u) / 2 + x / 2 (1 - tanh^2 u) u'.
void gelu_backward(Worker& worker, float* d_y, const float* x, size_t n) {
    constexpr float kScale = 0.797884583f;  // sqrt(2 / pi)
    constexpr float kCube = 0.044715f;
    constexpr size_t kBlock = 1024;  // fits into the L1 cache
    float u[kBlock];
    for (size_t begin = 0; begin < n; begin += kBlock) {
        size_t size = n - begin < kBlock ? n - begin : kBlock;
        const float* from = x + begin;
        float* d = d_y + begin;
        each(size, [&](size_t i) { u[i] = kScale * from[i] * (1 + kCube * from[i] * from[i]); });
        must(tanh_each(u, u, size, worker.compute()));
        each(size, [&](size_t i) {
            float slope = kScale * (1 + 3 * kCube * from[i] * from[i]);
            d[i] *= 0.5f * (1 + u[i]) + 0.5f * from[i] * (1 - u[i] * u[i]) * slope;
        });
    }
}

void cross_entropy(Worker& worker, double* loss, float* logits, const int32_t* targets,
                   size_t n_rows, size_t n_vocab, float scale, bool backward) {
    for (size_t i = 0; i < n_rows; ++i) {
        double log_p;
        must(log_prob(&log_p, logits + i * n_vocab, n_vocab, targets[i], worker.compute()));
        loss[i] = -log_p;
    }
    if (!backward)
        return;
    must(masked_softmax(logits, logits, n_rows, n_vocab, n_vocab, n_vocab, worker.compute()));
    for (size_t i = 0; i < n_rows; ++i) {
        float* row = logits + i * n_vocab;
        row[targets[i]] -= 1;
        each(n_vocab, [&](size_t j) { row[j] *= scale; });
    }
}

void sum_columns(float* sum, const float* x, const float* y, size_t n_rows, size_t n_cols,
                 size_t begin, size_t end) {
    constexpr size_t kBlock = 32;
    for (size_t at = begin; at < end; at += kBlock) {
        size_t n = end - at < kBlock ? end - at : kBlock;
        float total[kBlock] = {};
        for (size_t i = 0; i < n_rows; ++i) {
            const float* row = x + i * n_cols + at;
            if (y == nullptr) {
                each(n, [&](size_t j) { total[j] += row[j]; });
            } else {
                const float* other = y + i * n_cols + at;
                each(n, [&](size_t j) { total[j] += row[j] * other[j]; });
            }
        }
        memcpy(sum + at, total, n * sizeof(float));
    }
}

namespace {

// A 32-bit finalizer: Wellons 2018, "Prospecting for Hash Functions", lowbias32.
inline uint32_t mixed(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

}  // namespace

Dropout::Dropout(float rate, uint64_t seed, uint64_t iteration, uint64_t site) {
    if (rate <= 0)
        return;
    key_ = Random(seed ^ (iteration * 1024 + site) * 0x9e3779b97f4a7c15u).next();
    threshold_ = static_cast<uint32_t>(static_cast<double>(rate) * 0x1p31);
    scale_ = static_cast<float>(1 / (1 - static_cast<double>(rate)));
}

float Dropout::factor(uint32_t place) const {
    // 31 bits, so that signed numbers can be compared: all vector units can do that.
    int32_t draw = static_cast<int32_t>(mixed(place + key_) >> 1);
    return draw < static_cast<int32_t>(threshold_) ? 0 : scale_;
}

void Dropout::apply(float* y, const float* x, size_t place, size_t n) const {
    if (!drops()) {
        if (y != x)
            memcpy(y, x, n * sizeof(float));
        return;
    }
    const Dropout own = *this;  // a copy, so that y cannot alias it
    const uint32_t first = static_cast<uint32_t>(place);
    each(n, [&](size_t i) { y[i] = x[i] * own.factor(first + static_cast<uint32_t>(i)); });
}

}  // namespace minigpt::networks
