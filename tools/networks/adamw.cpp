#include "networks/adamw.h"

#include <cmath>

#include "networks/loops.h"

namespace minigpt::networks {
namespace {

// Numbers in one unit of work. A sum adds up each unit in the order of the lanes, and then the
// units.
constexpr size_t kChunk = 8192;

struct Step {
    float scale;  // multiplies the gradients: the clipping
    float beta1, beta2;
    float rate;  // lr / (1 - beta1^t)
    float root;  // 1 / sqrt(1 - beta2^t)
    float keep;  // 1 - lr * weight_decay
};

// x^n, with multiplications only.
double power(double x, size_t n) {
    double result = 1;
    for (; n > 0; n >>= 1, x *= x) {
        if (n & 1)
            result *= x;
    }
    return result;
}

void update(float* w, float* m, float* v, const float* g, size_t n, const Step& step, float keep) {
    constexpr float kEpsilon = 1e-8f;
    const Step s = step;
    each(n, [=](size_t i) {
        float d = g[i] * s.scale;
        m[i] = s.beta1 * m[i] + (1 - s.beta1) * d;
        v[i] = s.beta2 * v[i] + (1 - s.beta2) * (d * d);
        w[i] = keep * w[i] - s.rate * m[i] / (__builtin_sqrtf(v[i]) * s.root + kEpsilon);
    });
}

// Calls f(unit) on the threads of `compute`.
template <typename F>
void for_each_chunk(const Compute& compute, size_t n, F&& f) {
    run_units(
        compute, (n + kChunk - 1) / kChunk,
        [](void* context, size_t unit, size_t) { (*static_cast<F*>(context))(unit); }, &f);
}

}  // namespace

// The Taylor series of sin around the middle. 13 terms leave an error below 1e-17.
double cosine(double x) {
    constexpr double kHalfPi = 1.57079632679489661923;
    double y = kHalfPi - x, term = y, sum = y;
    for (int i = 2; i < 28; i += 2) {
        term *= -y * y / static_cast<double>(i * (i + 1));
        sum += term;
    }
    return sum;
}

double learning_rate(const TrainConfig& c, size_t iteration) {
    constexpr double kPi = 3.14159265358979323846;
    const double lr = static_cast<double>(c.lr), least = lr * static_cast<double>(c.lr_end);
    size_t n_warmup = c.n_warmup < c.n_iters / 10 ? c.n_warmup : c.n_iters / 10;
    if (iteration < n_warmup)
        return lr * static_cast<double>(iteration + 1) / static_cast<double>(n_warmup + 1);
    size_t n_decay = c.n_iters - n_warmup;
    double share =
        n_decay < 2 ? 0
                    : static_cast<double>(iteration - n_warmup) / static_cast<double>(n_decay - 1);
    return least + (lr - least) * 0.5 * (1 + cosine(kPi * share));
}

AdamW::AdamW(const TrainConfig& config, Parameters& parameters, const Compute& compute)
    : config_(config),
      parameters_(parameters),
      compute_(compute),
      mean_(parameters.size()),
      square_(parameters.size()),
      partial_((parameters.size() + kChunk - 1) / kChunk) {}

double AdamW::gradient_norm() {
    const float* g = parameters_.gradients();
    const size_t n = parameters_.size();
    for_each_chunk(compute_, n, [&](size_t unit) {
        const float* from = g + unit * kChunk;
        size_t size = n - unit * kChunk < kChunk ? n - unit * kChunk : kChunk;
        partial_[unit] =
            static_cast<double>(sum_each(size, [=](size_t i) { return from[i] * from[i]; }));
    });
    double sum = 0;
    for (double partial : partial_)
        sum += partial;
    return std::sqrt(sum);
}

double AdamW::step(size_t iteration) {
    double norm = gradient_norm(), clip = static_cast<double>(config_.clip);
    if (!std::isfinite(norm))
        return norm;
    double lr = learning_rate(config_, iteration);
    double beta1 = static_cast<double>(config_.beta1), beta2 = static_cast<double>(config_.beta2);
    Step step;
    step.scale = static_cast<float>(norm > clip ? clip / norm : 1);
    step.beta1 = config_.beta1, step.beta2 = config_.beta2;
    step.rate = static_cast<float>(lr / (1 - power(beta1, iteration + 1)));
    step.root = static_cast<float>(1 / std::sqrt(1 - power(beta2, iteration + 1)));
    step.keep = static_cast<float>(1 - lr * static_cast<double>(config_.weight_decay));
    // Each chunk lies in one tensor. Tensors have weight decay or not.
    struct Chunk {
        size_t begin, n;
        bool decays;
    };
    std::vector<Chunk> chunks;
    for (const Tensor& tensor : parameters_.tensors()) {
        for (size_t at = 0; at < tensor.size(); at += kChunk) {
            size_t n = tensor.size() - at < kChunk ? tensor.size() - at : kChunk;
            chunks.push_back({tensor.offset + at, n, tensor.rows > 1});
        }
    }
    for_each_chunk(compute_, chunks.size() * kChunk, [&](size_t unit) {
        const Chunk& chunk = chunks[unit];
        update(parameters_.weights() + chunk.begin, mean_.data() + chunk.begin,
               square_.data() + chunk.begin, parameters_.gradients() + chunk.begin, chunk.n, step,
               chunk.decays ? step.keep : 1);
    });
    return norm;
}

}  // namespace minigpt::networks
