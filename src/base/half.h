// Converts 16-bit floats to f32, exactly, and back, rounded to nearest with ties to even.
#pragma once

#include <cstdint>
#include <cstring>

namespace minigpt {

inline float bits_to_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

inline uint32_t float_to_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

inline float bf16_to_float(uint16_t h) {
    return bits_to_float(static_cast<uint32_t>(h) << 16);
}

inline uint16_t float_to_bf16(float f) {
    uint32_t bits = float_to_bits(f);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return static_cast<uint16_t>(bits >> 16 | 0x40);  // NaN
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float f16_to_float(uint16_t h) {
    uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
    uint32_t exponent = h >> 10 & 0x1f;
    uint32_t fraction = h & 0x3ff;
    if (exponent == 0x1f)
        return bits_to_float(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0) {  // subnormal: fraction * 2^-24, exact in f32
        float f = static_cast<float>(fraction) * 5.9604644775390625e-8f;
        return bits_to_float(sign | float_to_bits(f));
    }
    return bits_to_float(sign | (exponent + 112) << 23 | fraction << 13);
}

inline uint16_t float_to_f16(float f) {
    uint32_t bits = float_to_bits(f);
    uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000)
        return static_cast<uint16_t>(sign | 0x7e00);  // NaN
    if (bits >= 0x477ff000)
        return static_cast<uint16_t>(sign | 0x7c00);  // 65520 and above
    if (bits < 0x38800000) {  // below 2^-14: a multiple of 2^-24, rounded by adding 0.5 in f32
        float rounded = bits_to_float(bits) + 0.5f;
        return static_cast<uint16_t>(sign | (float_to_bits(rounded) - 0x3f000000));
    }
    bits += 0xfff + (bits >> 13 & 1);
    return static_cast<uint16_t>(sign | ((bits >> 13) - (112 << 10)));
}

}  // namespace minigpt
