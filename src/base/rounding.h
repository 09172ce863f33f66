// Rounds a number to an integer times an f16 scale, for the weight file and a q8 cache.
#pragma once

#include <cstdint>

#include "base/half.h"

namespace minigpt {

constexpr uint16_t kHalfNaN = 0x7e00;
constexpr uint16_t kHalfInfinity = 0x7c00;

// x rounded to an integer, ties to even; |x| < 2^22.
inline float to_integer(float x) {
    return (x + 12582912.0f) - 12582912.0f;
}

inline float clamp(float x, float low, float high) {
    x = x < low ? low : x;
    return x > high ? high : x;
}

// The scale as it is stored. If it would be 0, the smallest f16 is used instead.
inline uint16_t stored_scale(float scale) {
    uint16_t half = float_to_f16(scale);
    return (half & 0x7fff) == 0 && scale != 0 ? half | 1 : half;
}

// The inverse of the scale; 0 if the scale is 0, infinite or NaN.
inline float inverse(uint16_t scale) {
    bool usable = (scale & 0x7fff) != 0 && (scale & kHalfInfinity) != kHalfInfinity;
    return usable ? 1.0f / f16_to_float(scale) : 0.0f;
}

// x / scale as an integer in -127 ... 127; 0 if inv is 0.
inline int8_t to_q8(float x, float inv) {
    return static_cast<int8_t>(inv == 0 ? 0 : clamp(to_integer(x * inv), -127, 127));
}

}  // namespace minigpt
