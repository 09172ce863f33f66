// A model's numbers in one array, tensor after tensor, and their gradients in another like it.
#pragma once

#include <string>
#include <vector>

#include "networks/memory.h"

namespace minigpt::networks {

struct Tensor {
    std::string name;   // as checkpoints have it
    size_t rows, cols;  // a vector has one row
    size_t offset;      // of its first number; a multiple of 16

    size_t size() const { return rows * cols; }
};

// How a tensor begins.
struct Start {
    float deviation;  // of normal random numbers around `mean`
    float mean;
};

class Parameters {
public:
    // Before allocate(). Returns the tensor's offset.
    size_t add(const std::string& name, size_t rows, size_t cols, Start start);

    // All tensors as they begin, drawn in order from one generator. The normal numbers are sums of
    // twelve uniform ones: close enough to start from, and the same everywhere.
    void allocate(uint64_t seed);

    const std::vector<Tensor>& tensors() const { return tensors_; }
    // nullptr if there is none of this name.
    const Tensor* find(const std::string& name) const;
    size_t count() const;               // of numbers, padding between tensors left out
    size_t size() const { return n_; }  // of each array

    float* weights() { return weights_.data(); }
    const float* weights() const { return weights_.data(); }
    float* gradients() { return gradients_.data(); }
    const float* gradients() const { return gradients_.data(); }

private:
    std::vector<Tensor> tensors_;
    std::vector<Start> starts_;
    size_t n_ = 0;
    Floats weights_, gradients_;
};

}  // namespace minigpt::networks
