// Loops that every compiler vectorizes, in an order that does not depend on the compiler.
#pragma once

#include <cstddef>

namespace minigpt::networks {

// The inner loops have no dependence between steps. GCC has to be told; clang detects it.
#if defined(__clang__)
#define MINIGPT_INDEPENDENT
#else
#define MINIGPT_INDEPENDENT _Pragma("GCC ivdep")
#endif

constexpr size_t kLanes = 16;

// Calls f(i) for each i in 0 ... n - 1, sixteen side by side. No f(i) may depend on another.
template <typename F>
inline void each(size_t n, F&& f) {
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        MINIGPT_INDEPENDENT
        for (size_t j = 0; j < kLanes; ++j)
            f(i + j);
    }
    for (; i < n; ++i)
        f(i);
}

// The sum of f(i) in the library's order: lane j starts at +0 and adds elements j, j + 16, ... in
// this order; then the lanes are added pairwise, 8 apart, 4, 2, 1.
template <typename F>
inline float sum_each(size_t n, F&& f) {
    float lanes[kLanes] = {};
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        MINIGPT_INDEPENDENT
        for (size_t j = 0; j < kLanes; ++j)
            lanes[j] += f(i + j);
    }
    for (size_t j = 0; i + j < n; ++j)
        lanes[j] += f(i + j);
    for (size_t apart = kLanes / 2; apart > 0; apart /= 2) {
        for (size_t j = 0; j < apart; ++j)
            lanes[j] += lanes[j + apart];
    }
    return lanes[0];
}

}  // namespace minigpt::networks
