#include "base/half.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "base/fma.h"

using namespace minigpt;

namespace {

// The value of an f16 by its definition (IEEE 754-2008, 3.4).
double f16_value(uint16_t h) {
    int exponent = h >> 10 & 0x1f;
    double fraction = h & 0x3ff;
    double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1 + fraction / 1024, exponent - 15);
    return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

// Nearest, ties to even, by looking at both neighbours of a 16-bit pattern's value.
template <typename Value>
void check_nearest(float f, uint16_t got, Value value, uint16_t infinity) {
    uint16_t magnitude = got & 0x7fff;
    double x = std::fabs(static_cast<double>(f));
    if (magnitude == infinity) {
        double largest = value(static_cast<uint16_t>(infinity - 1));
        double step = largest - value(static_cast<uint16_t>(infinity - 2));
        CHECK(x >= largest + step / 2);
        return;
    }
    double distance = std::fabs(x - value(magnitude));
    for (int side : {-1, 1}) {
        if (magnitude == 0 && side < 0)
            continue;
        uint16_t other = static_cast<uint16_t>(magnitude + side);
        if (other == infinity)
            continue;
        double to_other = std::fabs(x - value(other));
        CHECK(distance <= to_other);
        if (distance == to_other)
            CHECK(magnitude % 2 == 0);
    }
}

}  // namespace

TEST_CASE("half: every f16 widens exactly and narrows to itself") {
    for (uint32_t i = 0; i < 0x10000; i++) {
        uint16_t h = static_cast<uint16_t>(i);
        float f = f16_to_float(h);
        if ((h & 0x7fff) > 0x7c00) {
            CHECK(std::isnan(f));
        } else if ((h & 0x7fff) == 0x7c00) {
            CHECK(std::isinf(f));
        } else {
            CHECK(static_cast<double>(f) == f16_value(h));
            CHECK(std::signbit(f) == ((h & 0x8000) != 0));
            CHECK(float_to_f16(f) == h);
        }
    }
    CHECK(std::isnan(f16_to_float(float_to_f16(NAN))));
    CHECK(float_to_f16(INFINITY) == 0x7c00);
}

TEST_CASE("half: every bf16 widens exactly and narrows to itself") {
    for (uint32_t i = 0; i < 0x10000; i++) {
        uint16_t h = static_cast<uint16_t>(i);
        float f = bf16_to_float(h);
        CHECK(float_to_bits(f) == i << 16);
        if (!std::isnan(f))
            CHECK(float_to_bf16(f) == h);
    }
    CHECK(std::isnan(bf16_to_float(float_to_bf16(bits_to_float(0x7f800001)))));
}

TEST_CASE("half: narrowing rounds to nearest, ties to even, subnormals too") {
    std::mt19937 random(1);
    auto f16 = [](uint16_t h) { return f16_value(h); };
    auto bf16 = [](uint16_t h) { return static_cast<double>(bf16_to_float(h)); };
    for (int i = 0; i < 300000; i++) {
        // Around f16's range and its ties; any finite float for bf16.
        uint32_t bits = random();
        float any = bits_to_float(bits);
        uint32_t exponent = 100 + bits % 50;
        float near = bits_to_float((bits & 0x80000000) | exponent << 23 | (random() & 0x7fe000) |
                                   ((random() % 3) * 0xfff + (random() & 1)));
        if (std::isfinite(near))
            check_nearest(near, float_to_f16(near), f16, 0x7c00);
        if (std::isfinite(any))
            check_nearest(any, float_to_bf16(any), bf16, 0x7f80);
    }
    CHECK(float_to_f16(65519.996f) == 0x7bff);
    CHECK(float_to_f16(65520.0f) == 0x7c00);
}

TEST_CASE("fma: rounds once, like the C library's, at every magnitude") {
    std::mt19937 random(2);
    for (int i = 0; i < 2000000; i++) {
        float a = bits_to_float(random());
        float b = bits_to_float(random());
        float c = bits_to_float(random());
        if (i % 2 == 0) {  // a sum that nearly cancels, where a second rounding shows
            c = -a * b;
            c = bits_to_float(float_to_bits(c) + random() % 5 - 2);
        } else if (i % 3 == 0) {  // results around the subnormals
            a = std::ldexp(a, -60);
        }
        float expected = std::fma(a, b, c);
        float got = fma_exact(a, b, c);
        bool same = float_to_bits(expected) == float_to_bits(got) ||
                    (std::isnan(expected) && std::isnan(got));
        if (!same) {
            CAPTURE(a);
            CAPTURE(b);
            CAPTURE(c);
            CHECK(float_to_bits(expected) == float_to_bits(got));
            break;
        }
    }
}
