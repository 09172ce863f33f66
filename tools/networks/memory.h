// Arrays of floats on cache lines.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace minigpt::networks {

// n zeros, 64-byte aligned. Throws bad_alloc.
class Floats {
public:
    Floats() = default;
    explicit Floats(size_t n) { resize(n); }

    // The old contents are lost.
    void resize(size_t n) {
        if (n > (static_cast<size_t>(-1) >> 3))
            throw std::bad_alloc();
        data_.reset(static_cast<float*>(::operator new(n * sizeof(float), std::align_val_t(64))));
        size_ = n;
        memset(data_.get(), 0, n * sizeof(float));
    }

    float* data() { return data_.get(); }
    const float* data() const { return data_.get(); }
    size_t size() const { return size_; }
    float& operator[](size_t i) { return data_.get()[i]; }
    const float& operator[](size_t i) const { return data_.get()[i]; }

private:
    struct Delete {
        void operator()(float* p) const { ::operator delete(p, std::align_val_t(64)); }
    };
    std::unique_ptr<float, Delete> data_;
    size_t size_ = 0;
};

}  // namespace minigpt::networks
