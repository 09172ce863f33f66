// What the kernel and op tests share: buffers between NaN guards, bits, ULPs, the tables.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/fma.h"
#include "base/half.h"
#include "doctest/doctest.h"
#include "kernels/kernels.h"

namespace test {

// The scalar reference.
inline const minigpt::KernelTable& scalar() {
    size_t i = 0;
    while (minigpt::kernel_choice(i + 1).name != nullptr)
        ++i;
    return *minigpt::kernel_choice(i).table;
}

// a * b + c as the table does it: rounded once, or, where it is not exact, twice.
inline float multiply_add(const minigpt::KernelTable& table, float a, float b, float c) {
    return table.bit_exact ? minigpt::fma_exact(a, b, c) : a * b + c;
}

// What a table's row kernels are to have the bits of: the scalar reference's, or, where it is not
// exact, those of the same loops with multiply-adds of two roundings.
const minigpt::KernelTable& row_reference(const minigpt::KernelTable& table);

// Says what is skipped, once: the tests ask thousands of times.
inline void say_lacking(const std::string& table) {
    static std::set<std::string> said;
    if (said.insert(table).second)
        MESSAGE("skipped, this CPU lacks it: ", table);
}

// f(table) for each table of this build that the CPU runs, the scalar one last.
template <typename F>
void for_each_table(F f) {
    for (size_t i = 0; minigpt::kernel_choice(i).name != nullptr; ++i) {
        minigpt::KernelChoice choice = minigpt::kernel_choice(i);
        std::string name = choice.name;
        if (!choice.present) {
            say_lacking(name);
            continue;
        }
        CAPTURE(name);
        f(*choice.table);
    }
}

// The flush of armv7's NEON is part of the design: subnormals are not compared there. Half of
// kSmallest is still normal.
#if defined(__arm__)
constexpr bool kSubnormals = false;
constexpr float kSmallest = 2.5e-38f;
#else
constexpr bool kSubnormals = true;
constexpr float kSmallest = 0;
#endif

// xorshift; the same numbers everywhere.
class Numbers {
public:
    explicit Numbers(uint32_t seed) : state_(seed * 2654435761u + 88172645u) {}
    uint32_t bits() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        state_ ^= state_ << 5;
        return state_;
    }
    // In [-scale, scale).
    float next(float scale = 1) {
        return (static_cast<float>(bits() >> 8) / 8388608.0f - 1.0f) * scale;
    }
    size_t below(size_t n) { return bits() % n; }

private:
    uint32_t state_;
};

// n numbers that start `offset` numbers past a cache line, between guards of NaN.
template <typename T = float>
class Guarded {
public:
    explicit Guarded(size_t n, size_t offset = 0)
        : n_(n), bytes_(n * sizeof(T) + 2 * kGuard + 128) {
        size_t at = reinterpret_cast<uintptr_t>(bytes_.data()) % 64;
        begin_ = kGuard + (64 - at) % 64 + offset % 16 * sizeof(T);
        memset(bytes_.data(), 0xff, bytes_.size());  // NaN in every float type
    }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    T* data() { return reinterpret_cast<T*>(bytes_.data() + begin_); }
    T& operator[](size_t i) { return data()[i]; }
    size_t size() const { return n_; }
    void fill(Numbers& numbers, float scale = 1) {
        for (size_t i = 0; i < n_; ++i)
            (*this)[i] = numbers.next(scale);
    }
    // Nothing was written outside.
    bool intact() const {
        for (size_t i = 0; i < bytes_.size(); ++i) {
            bool inside = i >= begin_ && i < begin_ + n_ * sizeof(T);
            if (!inside && bytes_[i] != 0xff)
                return false;
        }
        return true;
    }

private:
    static constexpr size_t kGuard = 512;
    size_t n_;
    std::vector<unsigned char> bytes_;
    size_t begin_;
};

inline bool same_bits(float a, float b) {
    return (a != a && b != b) || minigpt::float_to_bits(a) == minigpt::float_to_bits(b);
}

// The first index where the bits differ, or n.
inline size_t first_difference(const float* a, const float* b, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (!same_bits(a[i], b[i]))
            return i;
    }
    return n;
}

// |found - truth| in units in the last place of truth as a float.
inline double ulps(float found, double truth) {
    if (std::isnan(truth) || std::isinf(static_cast<float>(truth))) {
        return same_bits(found, static_cast<float>(truth)) ? 0 : INFINITY;
    }
    int exponent = truth == 0 ? -149 : std::ilogb(truth) - 23;
    if (exponent < -149)
        exponent = -149;
    return std::fabs(static_cast<double>(found) - truth) / std::ldexp(1.0, exponent);
}

}  // namespace test
