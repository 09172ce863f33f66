// Several arrays in one block of memory, which the caller hands in or which is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/buffer.h"
#include "minigpt/status.h"

namespace minigpt {

// Sums and products of sizes stop growing here.
constexpr uint64_t kTooMany = uint64_t{1} << 62;

// Places arrays one after the other, each on a cache line. Without a base it only counts, in 64
// bits. So an object that is too large for the machine gives an error, not a wrapped size.
class Layouter {
public:
    explicit Layouter(void* base) : base_(static_cast<unsigned char*>(base)) {}

    template <typename T>
    T* place(uint64_t count) {
        T* p = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
        // Saturates: counts may multiply past 2^63.
        uint64_t bytes = count > kTooMany / sizeof(T)
                             ? kTooMany
                             : (count * sizeof(T) + kAlign - 1) / kAlign * kAlign;
        used_ = used_ + bytes > kTooMany ? kTooMany : used_ + bytes;
        return p;
    }
    uint64_t used() const { return used_; }

private:
    unsigned char* base_;
    uint64_t used_ = 0;
};

// The bytes that a layouter counted, as a size_t. Errors: out_of_memory.
inline Status size_of_block(const char* object, const Layouter& layouter, size_t* bytes) {
    if (layouter.used() >= kTooMany || layouter.used() > static_cast<size_t>(-1) / 2) {
        return Status::error(Code::out_of_memory,
                             "the %s needs %llu bytes, more than can be addressed", object,
                             static_cast<unsigned long long>(layouter.used()));
    }
    *bytes = static_cast<size_t>(layouter.used());
    return Status();
}

// Gets the memory for an object that needs `bytes`. If *memory is nullptr, it is allocated and
// *owned is true; else *memory is checked and used. Errors: bad_argument, out_of_memory.
inline Status take_block(const char* object, size_t bytes, size_t given_bytes, void** memory,
                         bool* owned) {
    *owned = *memory == nullptr;
    if (*owned) {
        if (posix_memalign(memory, kAlign, bytes) == 0)
            return Status();
        *memory = nullptr;
        return Status::error(Code::out_of_memory, "no memory for a %s of %zu bytes", object, bytes);
    }
    if (reinterpret_cast<uintptr_t>(*memory) % kAlign != 0) {
        return Status::error(Code::bad_argument, "the memory is at %p; expected a multiple of 64",
                             *memory);
    }
    if (given_bytes >= bytes)
        return Status();
    return Status::error(Code::out_of_memory, "%zu bytes were given; the %s needs %zu", given_bytes,
                         object, bytes);
}

}  // namespace minigpt
