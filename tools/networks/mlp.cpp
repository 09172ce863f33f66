#include "networks/mlp.h"

#include <cmath>
#include <cstring>

#include "networks/loops.h"

namespace minigpt::networks {
namespace {

// Keeps the variance equal from layer to layer.
Start start_of(size_t n_in) {
    return {static_cast<float>(1 / std::sqrt(static_cast<double>(n_in))), 0};
}

}  // namespace

Mlp::Mlp(const TrainConfig& config, size_t n_vocab, const Compute& compute)
    : config_(config), team_(compute, 1) {
    n_vocab_ = n_vocab;
    wte_ = parameters_.add("wte.weight", n_vocab, config.n_embd, {0.5f, 0});
    fc_w_ = parameters_.add("fc.weight", n_input(), n_hidden(), start_of(n_input()));
    fc_b_ = parameters_.add("fc.bias", 1, n_hidden(), {0, 0});
    head_w_ = parameters_.add("head.weight", n_hidden(), n_vocab, start_of(n_hidden()));
    head_b_ = parameters_.add("head.bias", 1, n_vocab, {0, 0});
    parameters_.allocate(config.seed);
    const size_t n_rows = config.n_batch * config.n_ctx;
    ids_.resize(n_rows * config.window), targets_.resize(n_rows), losses_.resize(n_rows);
    input_.resize(n_rows * n_input()), d_input_.resize(n_rows * n_input());
    for (Floats* floats : {&hidden_, &act_, &d_hidden_})
        floats->resize(n_rows * n_hidden());
    logits_.resize(n_rows * n_vocab);
}

template <typename F>
void Mlp::for_each_rows(size_t n_rows, F&& f) {
    constexpr size_t kRows = 256;
    team_.run((n_rows + kRows - 1) / kRows, [&](size_t unit, Worker& worker) {
        size_t begin = unit * kRows;
        f(begin, n_rows - begin < kRows ? n_rows - begin : kRows, worker);
    });
}

void Mlp::forward(size_t begin, size_t n, Worker& worker) {
    const size_t window = config_.window, n_embd = config_.n_embd;
    for (size_t i = begin * window; i < (begin + n) * window; ++i) {
        memcpy(input_.data() + i * n_embd, w(wte_) + static_cast<size_t>(ids_[i]) * n_embd,
               n_embd * sizeof(float));
    }
    float *hidden = hidden_.data() + begin * n_hidden(), *act = act_.data() + begin * n_hidden();
    linear(worker, hidden, input_.data() + begin * n_input(), w(fc_w_), w(fc_b_), n, n_input(),
           n_hidden());
    must(gelu(act, hidden, n * n_hidden(), Activation::gelu_tanh, worker.compute()));
    linear(worker, logits_.data() + begin * n_vocab_, act, w(head_w_), w(head_b_), n, n_hidden(),
           n_vocab_);
}

void Mlp::read_windows(const Batch& batch) {
    for (size_t i = 0; i < batch.n_rows(); ++i) {
        const int32_t* at = batch.text + batch.starts[i / batch.length] + i % batch.length;
        targets_[i] = at[1];
        for (size_t j = 0; j < config_.window; ++j)
            ids_[i * config_.window + j] = *(at + 1 + j - config_.window);
    }
}

double Mlp::run(const Batch& batch, bool backward) {
    const size_t n_rows = batch.n_rows();
    read_windows(batch);
    for_each_rows(n_rows, [&](size_t begin, size_t n, Worker& worker) {
        forward(begin, n, worker);
        float* logits = logits_.data() + begin * n_vocab_;
        cross_entropy(worker, losses_.data() + begin, logits, targets_.data() + begin, n, n_vocab_,
                      1 / static_cast<float>(n_rows), backward);
        if (!backward)
            return;
        float* d_hidden = d_hidden_.data() + begin * n_hidden();
        linear_backward(worker, d_hidden, logits, w(head_w_), n, n_hidden(), n_vocab_);
        gelu_backward(worker, d_hidden, hidden_.data() + begin * n_hidden(), n * n_hidden());
        linear_backward(worker, d_input_.data() + begin * n_input(), d_hidden, w(fc_w_), n,
                        n_input(), n_hidden());
    });
    double sum = 0;
    for (size_t i = 0; i < n_rows; ++i)
        sum += losses_[i];
    return sum;
}

double Mlp::loss(const Batch& batch) {
    return run(batch, false);
}

// The weights' gradients are sums over all rows. Each thread computes some inputs.
double Mlp::backward(const Batch& batch, size_t) {
    double sum = run(batch, true);
    const size_t n_rows = batch.n_rows(), n_embd = config_.n_embd;
    constexpr size_t kInputs = 128;
    const size_t n_fc = (n_input() + kInputs - 1) / kInputs;
    team_.run(n_fc + 2, [&](size_t unit, Worker& worker) {
        if (unit == n_fc) {
            worker.gemm(g(head_w_), n_vocab_, act_.data(), n_hidden(), Operand::transposed,
                        logits_.data(), n_vocab_, Operand::plain, n_hidden(), n_vocab_, n_rows,
                        false);
            sum_columns(g(head_b_), logits_.data(), nullptr, n_rows, n_vocab_, 0, n_vocab_);
            sum_columns(g(fc_b_), d_hidden_.data(), nullptr, n_rows, n_hidden(), 0, n_hidden());
            return;
        }
        if (unit == n_fc + 1) {
            memset(g(wte_), 0, n_vocab_ * n_embd * sizeof(float));
            for (size_t i = 0; i < n_rows * config_.window; ++i) {
                float* token = g(wte_) + static_cast<size_t>(ids_[i]) * n_embd;
                const float* d = d_input_.data() + i * n_embd;
                each(n_embd, [&](size_t j) { token[j] += d[j]; });
            }
            return;
        }
        size_t begin = unit * kInputs;
        size_t n = n_input() - begin < kInputs ? n_input() - begin : kInputs;
        worker.gemm(g(fc_w_) + begin * n_hidden(), n_hidden(), input_.data() + begin, n_input(),
                    Operand::transposed, d_hidden_.data(), n_hidden(), Operand::plain, n,
                    n_hidden(), n_rows, false);
    });
    return sum / static_cast<double>(n_rows);
}

void Mlp::logits_after(float* logits, const int32_t* ids, size_t n_ids) {
    const size_t window = config_.window;
    for (size_t j = 0; j < window; ++j)
        ids_[j] = j + n_ids < window ? 0 : ids[n_ids + j - window];
    forward(0, 1, team_.worker(0));
    memcpy(logits, logits_.data(), n_vocab_ * sizeof(float));
}

double Mlp::flops_per_token() const {
    return 6 * static_cast<double>(parameters_.count());
}

}  // namespace minigpt::networks
