// A multilayer perceptron that predicts a token from the last few tokens: Bengio et al. 2003, "A
// Neural Probabilistic Language Model", with GELU. Models looked like this before attention; it is
// here for comparison.
//
//     logits = gelu([wte[id of 7 back], ..., wte[last id]] fc + b) head + b
#pragma once

#include <vector>

#include "networks/layers.h"
#include "networks/network.h"

namespace minigpt::networks {

class Mlp : public Network {
public:
    Mlp(const TrainConfig& config, size_t n_vocab, const Compute& compute);

    size_t n_context() const override { return config_.window; }
    double loss(const Batch& batch) override;
    double backward(const Batch& batch, size_t iteration) override;
    // If the text is shorter than the window, it is padded in front with token 0.
    void logits_after(float* logits, const int32_t* ids, size_t n_ids) override;
    double flops_per_token() const override;

private:
    float* w(size_t offset) { return parameters_.weights() + offset; }
    float* g(size_t offset) { return parameters_.gradients() + offset; }
    size_t n_input() const { return config_.window * config_.n_embd; }
    size_t n_hidden() const { return 4 * config_.n_embd; }
    // The rows of a batch; each thread computes some.
    template <typename F>
    void for_each_rows(size_t n_rows, F&& f);
    // Computes logits from ids [n_rows, window].
    void forward(size_t begin, size_t n, Worker& worker);
    void read_windows(const Batch& batch);
    double run(const Batch& batch, bool backward);

    TrainConfig config_;
    Team team_;
    size_t wte_ = 0, fc_w_ = 0, fc_b_ = 0, head_w_ = 0, head_b_ = 0;
    std::vector<int32_t> ids_, targets_;  // [n_rows, window], [n_rows]
    Floats input_, hidden_, act_;         // [n_rows, n_input], [n_rows, n_hidden] twice
    Floats logits_;  // [n_rows, n_vocab]; in backward replaced by their gradients
    Floats d_input_, d_hidden_;
    std::vector<double> losses_;  // [n_rows]
};

}  // namespace minigpt::networks
