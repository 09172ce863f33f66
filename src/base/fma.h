// a * b + c, rounded once, on every machine.
#pragma once

#include <cstdint>
#include <cstring>

namespace minigpt {

// On some machines the compiler's fma is one instruction. Elsewhere it is a library call that is
// slow (glibc's dispatch) or inexact (newlib's), so we compute it here. The product of two floats
// is exact in a double. The sum is rounded to odd; rounding that to float gives the same as a
// single rounding (Boldo and Melquiond 2008, "Emulation of FMA and Correctly Rounded Sums").
inline float fma_exact(float a, float b, float c) {
#if defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c);
#else
    double p = static_cast<double>(a) * static_cast<double>(b);
    double d = static_cast<double>(c);
    double s = p + d;
    // The error of the sum, by Knuth's TwoSum. It has no meaning for NaN or infinite sums.
    double t = s - p;
    double error = (p - (s - t)) + (d - t);
    uint64_t bits;
    memcpy(&bits, &s, sizeof bits);
    bool finite = (bits >> 52 & 0x7ff) != 0x7ff;
    if (finite && error != 0 && (bits & 1) == 0) {
        // Step to the odd neighbour in the direction of the error: away from zero if signs agree.
        bool away = (error > 0) == (s > 0);
        bits += away ? 1 : static_cast<uint64_t>(-1);
        memcpy(&s, &bits, sizeof s);
    }
    return static_cast<float>(s);
#endif
}

}  // namespace minigpt
