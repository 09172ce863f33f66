// A model's parameters in one array, tensor after tensor. Their gradients are in a second array
// with the same layout.
#pragma once

#include <string>
#include <vector>

#include "networks/memory.h"

namespace minigpt::networks {

struct Tensor {
    std::string name;   // the name in checkpoints
    size_t rows, cols;  // a vector has one row
    size_t offset;      // of its first number; a multiple of 16

    size_t size() const { return rows * cols; }
};

// The initial values of a tensor.
struct Start {
    float deviation;  // standard deviation of normal random numbers around `mean`
    float mean;
};

class Parameters {
public:
    // Adds a tensor. Only before allocate(). Returns the tensor's offset.
    size_t add(const std::string& name, size_t rows, size_t cols, Start start);

    // Sets all tensors to their initial values, drawn in order from one generator. A normal number
    // is the sum of twelve uniform ones: good enough here, and the same on every machine.
    void allocate(uint64_t seed);

    const std::vector<Tensor>& tensors() const { return tensors_; }
    // Returns nullptr if there is no tensor of this name.
    const Tensor* find(const std::string& name) const;
    size_t count() const;               // numbers, without the padding between tensors
    size_t size() const { return n_; }  // the length of each array

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
