// Groups of q8 and q4, byte by byte.
#include "model/quantize.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ops/numbers.h"

using namespace minigpt;

namespace {

struct Q4Group {
    unsigned char bytes[kQ4GroupBytes];
    uint16_t scale(size_t out) const {
        uint16_t half;
        memcpy(&half, bytes + 2 * out, sizeof half);
        return half;
    }
    int half(size_t k, size_t out) const {
        unsigned char both = bytes[kQ4Scales + k % 16 / 4 * 64 + 4 * out + k % 4];
        return k < 16 ? both & 15 : both >> 4;
    }
};

Q4Group q4_of(const WeightGroup& group) {
    Q4Group q;
    CHECK(quantize_q4(q.bytes, group) == kPanel);
    return q;
}

}  // namespace

TEST_CASE("quantize: of two q4 scales that err alike the first is taken, the negative one") {
    WeightGroup group = {};
    // Output 0: +7 and -7 alone, exact with a scale of -1 or 1. Output 1: the same, exchanged.
    // Output 2: +8 and -8: no step reaches both.
    group.x[3][0] = group.x[20][1] = 7;
    group.x[20][0] = group.x[3][1] = -7;
    group.x[0][2] = 8;
    group.x[31][2] = -8;
    Q4Group q = q4_of(group);
    for (size_t out : {0, 1}) {
        CHECK(q.scale(out) == 0xbc00);
        int low = out == 0 ? 1 : 15, high = out == 0 ? 15 : 1;
        CHECK(q.half(3, out) == low);
        CHECK(q.half(20, out) == high);
        for (size_t k = 0; k < kGroup; k++) {
            if (k != 3 && k != 20)
                CHECK(q.half(k, out) == kQ4Zero);
        }
    }
    CHECK((q.scale(2) & 0x8000) != 0);
    CHECK(q.half(0, 2) + q.half(31, 2) == 2 * kQ4Zero);
    for (size_t out = 3; out < kPanel; out++) {
        CHECK(q.scale(out) == 0);
        CHECK(q.half(7, out) == kQ4Zero);
    }
}

TEST_CASE("quantize: -8 has no counterpart, so the sign of a q4 scale follows the largest") {
    WeightGroup group = {};
    for (size_t k = 0; k < kGroup; k++) {
        for (size_t o = 0; o < 2; o++)
            group.x[k][o] = static_cast<float>(k % 8) * (o == 0 ? 1.0f : -1.0f);
    }
    group.x[5][0] = 8;
    group.x[5][1] = -8;
    Q4Group q = q4_of(group);
    CHECK(q.scale(0) == 0xbc00);
    CHECK(q.scale(1) == 0x3c00);
    CHECK(q.half(5, 0) == 0);
    CHECK(q.half(5, 1) == 0);
    CHECK(q.half(6, 0) == kQ4Zero - 6);
    CHECK(q.half(6, 1) == kQ4Zero - 6);
}

TEST_CASE("quantize: what is read back is within half a step, of q4 within its candidates' best") {
    std::mt19937 random(3);
    for (float size : {1.0f, 1e-3f, 3e4f}) {
        WeightGroup group;
        for (auto& row : group.x) {
            for (float& x : row)
                x = (static_cast<float>(random() >> 8) / 8388608.0f - 1) * size;
        }
        alignas(64) unsigned char q8[kQ8GroupBytes], q4[kQ4GroupBytes];
        CHECK(quantize_q8(q8, group) == kPanel);
        CHECK(quantize_q4(q4, group) == kPanel);
        for (size_t out = 0; out < kPanel; out++) {
            float y8[kGroup], y4[kGroup], largest = 0;
            read_output(y8, 1, {q8, ElementType::q8, kGroup, kPanel}, out, 0, kGroup);
            read_output(y4, 1, {q4, ElementType::q4, kGroup, kPanel}, out, 0, kGroup);
            for (size_t k = 0; k < kGroup; k++)
                largest = std::max(largest, std::fabs(group.x[k][out]));
            double square = 0;
            for (size_t k = 0; k < kGroup; k++) {
                // Half a step, and what f16 rounds of the scale, 127 times.
                CHECK(std::fabs(y8[k] - group.x[k][out]) <= largest * (0.5f / 127 + 0x1p-11f));
                double d = static_cast<double>(y4[k] - group.x[k][out]);
                square += d * d;
            }
            // Steps of largest / 7 alone err by a twelfth of a step's square each, at random.
            double step = static_cast<double>(largest) / 7;
            CHECK(square <= 1.2 * kGroup * step * step / 12);
        }
    }
}
