// Memory whose allocation may fail: aligned, owned, without exceptions.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace minigpt {

// All memory that vector instructions read or write starts on a cache line.
constexpr size_t kAlign = 64;

constexpr size_t round_up(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

// `count` uninitialized objects of T on a cache line, freed with the buffer. T is trivial.
template <typename T>
class Buffer {
public:
    Buffer() = default;
    ~Buffer() { free(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    // Returns false if there is no memory or the size overflows. Then the buffer is empty.
    [[nodiscard]] bool allocate(size_t count) {
        free(data_);
        data_ = nullptr;
        size_ = 0;
        if (count > (static_cast<size_t>(-1) / 2 - kAlign) / sizeof(T))
            return false;
        void* p = nullptr;
        size_t bytes = round_up(count * sizeof(T), kAlign);
        if (posix_memalign(&p, kAlign, bytes == 0 ? kAlign : bytes) != 0)
            return false;
        data_ = static_cast<T*>(p);
        size_ = count;
        return true;
    }

    T* data() { return data_; }
    const T* data() const { return data_; }
    size_t size() const { return size_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }

private:
    T* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace minigpt
