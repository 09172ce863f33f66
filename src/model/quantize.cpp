#include "model/quantize.h"

#include <cstdint>
#include <cstring>

#include "base/rounding.h"

namespace minigpt {
namespace {

// Each output's largest magnitude; NaN if a number is not finite.
void largest_magnitudes(float* largest, const WeightGroup& group) {
    uint32_t bits[kPanel] = {};
    for (size_t k = 0; k < kGroup; k++) {
        for (size_t o = 0; o < kPanel; o++) {
            uint32_t magnitude = float_to_bits(group.x[k][o]) & 0x7fffffff;
            bits[o] = magnitude > bits[o] ? magnitude : bits[o];
        }
    }
    for (size_t o = 0; o < kPanel; o++)
        largest[o] = bits_to_float(bits[o] < 0x7f800000 ? bits[o] : 0x7fc00000);
}

// The first of the scales that is infinite or NaN; all such become NaN.
size_t check_scales(uint16_t* scale) {
    size_t first = kPanel;
    for (size_t o = kPanel; o-- > 0;) {
        if ((scale[o] & kHalfInfinity) != kHalfInfinity)
            continue;
        scale[o] = kHalfNaN;
        first = o;
    }
    return first;
}

// q4's candidates: the largest magnitude becomes 5.5 to 8.5 steps of either sign. -8 has no
// counterpart, so the sign matters.
constexpr int kSteps = 61;
float steps_of(int candidate) {
    float steps = 5.5f + 0.05f * static_cast<float>(candidate / 2);
    return candidate % 2 == 0 ? -steps : steps;
}

// error [16] = each output's sum of squared differences with these scales.
void squared_errors(float* error, const WeightGroup& group, const float* scale, const float* inv) {
    float sum[kPanel] = {};
    for (size_t k = 0; k < kGroup; k++) {
        for (size_t o = 0; o < kPanel; o++) {
            float q = clamp(to_integer(group.x[k][o] * inv[o]), -8, 7);
            float d = group.x[k][o] - q * scale[o];
            sum[o] += d * d;
        }
    }
    memcpy(error, sum, sizeof sum);
}

}  // namespace

size_t quantize_q8(unsigned char* y, const WeightGroup& group) {
    float largest[kPanel], inv[kPanel];
    uint16_t scale[kPanel];
    largest_magnitudes(largest, group);
    for (size_t o = 0; o < kPanel; o++)
        scale[o] = stored_scale(largest[o] / 127.0f);
    size_t bad = check_scales(scale);
    for (size_t o = 0; o < kPanel; o++)
        inv[o] = inverse(scale[o]);
    memcpy(y, scale, sizeof scale);
    int8_t* q = reinterpret_cast<int8_t*>(y + kQ8Scales);
    for (size_t k = 0; k < kGroup; k++) {
        for (size_t o = 0; o < kPanel; o++) {
            q[k * kPanel + o] = to_q8(group.x[k][o], inv[o]);
        }
    }
    return bad;
}

size_t quantize_q4(unsigned char* y, const WeightGroup& group) {
    float largest[kPanel], least[kPanel];
    uint16_t best[kPanel];
    largest_magnitudes(largest, group);
    for (size_t o = 0; o < kPanel; o++) {
        best[o] = largest[o] == 0 ? 0 : kHalfNaN;
        least[o] = largest[o] == 0 ? 0 : __builtin_inff();
    }
    for (int c = 0; c < 2 * kSteps; c++) {
        uint16_t half[kPanel];
        float scale[kPanel], inv[kPanel], error[kPanel];
        for (size_t o = 0; o < kPanel; o++) {
            half[o] = stored_scale(largest[o] / steps_of(c));
            scale[o] = f16_to_float(half[o]);
            inv[o] = inverse(half[o]);
        }
        squared_errors(error, group, scale, inv);
        for (size_t o = 0; o < kPanel; o++) {
            if (!(error[o] < least[o]))
                continue;
            least[o] = error[o];
            best[o] = half[o];
        }
    }
    size_t bad = check_scales(best);
    memcpy(y, best, sizeof best);
    unsigned char* blocks = y + kQ4Scales;
    memset(blocks, 0, kQ4Blocks * kQ4BlockBytes);
    for (size_t k = 0; k < kGroup; k++) {
        size_t at = k % (kGroup / 2);
        for (size_t o = 0; o < kPanel; o++) {
            float inv = inverse(best[o]);
            float q = inv == 0 ? 0 : clamp(to_integer(group.x[k][o] * inv), -8, 7);
            int half = static_cast<int>(q) + kQ4Zero;
            blocks[at / 4 * kQ4BlockBytes + o * 4 + at % 4] |=
                static_cast<unsigned char>(k < kGroup / 2 ? half : half << 4);
        }
    }
    return bad;
}

}  // namespace minigpt
