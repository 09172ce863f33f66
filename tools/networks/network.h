// The interface of a model that can be trained: parameters, a loss, and its gradient.
#pragma once

#include <memory>
#include <string>

#include "minigpt/compute.h"
#include "minigpt/status.h"
#include "networks/config.h"
#include "networks/parameters.h"

namespace minigpt::networks {

// Sequences of a text: the tokens at starts[s] + 0 ... length - 1. The target of each is the next
// token. An mlp also reads the window - 1 tokens before a start; they must exist.
struct Batch {
    const int32_t* text;
    const size_t* starts;  // [n_seq]
    size_t n_seq, length;

    size_t n_rows() const { return n_seq * length; }
};

// Not thread-safe. The constructor allocates all memory, for batches of the configuration's size.
class Network {
public:
    virtual ~Network() = default;

    Parameters& parameters() { return parameters_; }
    const Parameters& parameters() const { return parameters_; }
    size_t n_vocab() const { return n_vocab_; }
    // The most tokens before a prediction that can affect it: n_ctx, or the window.
    virtual size_t n_context() const = 0;

    // The sum of a batch's losses in nats, without dropout. n_seq <= n_batch, length <= n_ctx.
    virtual double loss(const Batch& batch) = 0;

    // Computes the mean loss with the dropout of `iteration`, and its gradient for all parameters.
    virtual double backward(const Batch& batch, size_t iteration) = 0;

    // Computes the logits after a text. Only the last n_context() tokens are read.
    //
    //   logits  [n_vocab]  out
    //   ids     [n_ids]    n_ids > 0
    virtual void logits_after(float* logits, const int32_t* ids, size_t n_ids) = 0;

    // Operations of a training step per token; a multiply-add counts as two. This is 6 x parameters
    // plus attention's products forward and backward, counted as whole squares of n_ctx.
    virtual double flops_per_token() const = 0;

protected:
    Parameters parameters_;
    size_t n_vocab_ = 0;
};

// Makes a network with its initial weights. `compute` must outlive it. The configuration must have
// passed check(). Throws bad_alloc.
std::unique_ptr<Network> make_network(const TrainConfig& config, size_t n_vocab,
                                      const Compute& compute);

}  // namespace minigpt::networks
