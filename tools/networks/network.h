// What can be trained: numbers, a loss, and its gradient.
#pragma once

#include <memory>
#include <string>

#include "minigpt/compute.h"
#include "minigpt/status.h"
#include "networks/config.h"
#include "networks/parameters.h"

namespace minigpt::networks {

// Sequences of a text: the tokens at starts[s] + 0 ... length - 1, each with the next one as its
// target. An mlp also reads the window - 1 tokens before a start, which must be there.
struct Batch {
    const int32_t* text;
    const size_t* starts;  // [n_seq]
    size_t n_seq, length;

    size_t n_rows() const { return n_seq * length; }
};

// Not thread-safe. All memory is taken when it is made, for batches of the configuration's size.
class Network {
public:
    virtual ~Network() = default;

    Parameters& parameters() { return parameters_; }
    const Parameters& parameters() const { return parameters_; }
    size_t n_vocab() const { return n_vocab_; }
    // Tokens before a prediction that can matter to it: n_ctx, or the window.
    virtual size_t n_context() const = 0;

    // The sum of a batch's losses in nats, without dropout. n_seq at most n_batch, length at most
    // n_ctx.
    virtual double loss(const Batch& batch) = 0;

    // The mean loss, with `iteration`'s dropout, and its gradient by all parameters.
    virtual double backward(const Batch& batch, size_t iteration) = 0;

    // What follows a text, of which the last n_context() tokens are read.
    //
    //   logits  [n_vocab]  out
    //   ids     [n_ids]    n_ids > 0
    virtual void logits_after(float* logits, const int32_t* ids, size_t n_ids) = 0;

    // Operations of a training step per token, a multiply-add being two: 6 x parameters, and
    // attention's products forward and backward, whole squares of n_ctx.
    virtual double flops_per_token() const = 0;

protected:
    Parameters parameters_;
    size_t n_vocab_ = 0;
};

// A network as it begins. `compute` must outlive it. The configuration must have passed check().
// Throws bad_alloc.
std::unique_ptr<Network> make_network(const TrainConfig& config, size_t n_vocab,
                                      const Compute& compute);

}  // namespace minigpt::networks
