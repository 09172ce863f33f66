#include "networks/parameters.h"

#include "minigpt/generate.h"

namespace minigpt::networks {
namespace {

// The sum of twelve uniform numbers in [0, 1) has variance 1 and mean 6. Whole numbers are added
// first, which is exact.
float normal(Random* random) {
    uint64_t sum = 0;
    for (int i = 0; i < 12; ++i)
        sum += random->next();
    return static_cast<float>(static_cast<double>(sum) * 0x1p-32 - 6);
}

}  // namespace

size_t Parameters::add(const std::string& name, size_t rows, size_t cols, Start start) {
    size_t offset = n_;
    tensors_.push_back({name, rows, cols, offset});
    starts_.push_back(start);
    n_ += (rows * cols + 15) / 16 * 16;
    return offset;
}

void Parameters::allocate(uint64_t seed) {
    weights_.resize(n_);
    gradients_.resize(n_);
    Random random(seed);
    for (size_t t = 0; t < tensors_.size(); ++t) {
        float* w = weights_.data() + tensors_[t].offset;
        for (size_t i = 0; i < tensors_[t].size(); ++i) {
            w[i] = starts_[t].mean;
            if (starts_[t].deviation > 0)
                w[i] += starts_[t].deviation * normal(&random);
        }
    }
}

const Tensor* Parameters::find(const std::string& name) const {
    for (const Tensor& tensor : tensors_) {
        if (tensor.name == name)
            return &tensor;
    }
    return nullptr;
}

size_t Parameters::count() const {
    size_t n = 0;
    for (const Tensor& tensor : tensors_)
        n += tensor.size();
    return n;
}

}  // namespace minigpt::networks
