// The optimizer, AdamW: Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization",
// algorithm 2. The gradient is clipped before (Pascanu et al. 2013). The learning rate has a
// warm-up and a cosine.
#pragma once

#include "minigpt/compute.h"
#include "networks/config.h"
#include "networks/parameters.h"

namespace minigpt::networks {

// cos(x) for x in [0, pi], within 1e-15 of the exact value; the same on every machine.
double cosine(double x);

// The learning rate of an iteration; iterations count from 0. It rises linearly to lr during
// n_warmup iterations, then falls by half a cosine to lr_end * lr in the last iteration.
double learning_rate(const TrainConfig& config, size_t iteration);

class AdamW {
public:
    // The means begin as zeros. `parameters` and `compute` must outlive it. Throws bad_alloc.
    AdamW(const TrainConfig& config, Parameters& parameters, const Compute& compute);

    // Updates the parameters by the step of iteration `iteration`. The gradients are not changed.
    // Returns their norm before clipping. If that is not finite, nothing is changed.
    double step(size_t iteration);

    // The running means of the gradient and of its square. [parameters.size()]
    Floats& mean() { return mean_; }
    const Floats& mean() const { return mean_; }
    Floats& square() { return square_; }
    const Floats& square() const { return square_; }

private:
    double gradient_norm();

    TrainConfig config_;
    Parameters& parameters_;
    const Compute& compute_;
    Floats mean_, square_;
    std::vector<double> partial_;  // sums of squares
};

}  // namespace minigpt::networks
