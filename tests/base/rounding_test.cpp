// The scale of a group at both ends of f16, and what its numbers become.
#include "base/rounding.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

using namespace minigpt;

namespace {

// What x becomes as q8 where `largest` is the group's largest magnitude.
float stored(float x, float largest) {
    uint16_t scale = stored_scale(largest / 127.0f);
    return static_cast<float>(to_q8(x, inverse(scale))) * f16_to_float(scale);
}

constexpr float kSmallest = 0x1p-24f;  // f16's

}  // namespace

TEST_CASE("rounding: a scale that would be nothing is the smallest there is") {
    CHECK(stored_scale(0.0f) == 0);
    CHECK(stored_scale(-0.0f) == 0x8000);
    CHECK(stored_scale(0x1p-149f) == 1);
    CHECK(stored_scale(-0x1p-149f) == 0x8001);
    CHECK(stored_scale(kSmallest / 2) == 1);
    CHECK(stored_scale(-kSmallest / 2) == 0x8001);
    CHECK(stored_scale(kSmallest) == 1);
    CHECK(stored_scale(1.5f * kSmallest) == 2);
    CHECK(stored_scale(65504.0f) == 0x7bff);
    CHECK(stored_scale(65520.0f) == kHalfInfinity);
    for (int n = 0; n <= 127; n++) {
        float x = static_cast<float>(n) * kSmallest;
        CHECK(stored(x, x) == x);
        CHECK(stored(-x, x) == -x);
    }
}

TEST_CASE("rounding: what a rounded scale cannot reach is 127 of it, of either sign") {
    for (int n = 128; n <= 189; n++) {
        float x = static_cast<float>(n) * kSmallest;
        CHECK(stored(x, x) == 127 * kSmallest);
        CHECK(stored(-x, x) == -127 * kSmallest);
    }
    float x = 191 * kSmallest;  // the scale is 2
    CHECK(stored(x, x) == 192 * kSmallest);
    CHECK(to_q8(1e30f, 1.0f) == 127);
    CHECK(to_q8(-1e30f, 1.0f) == -127);
    CHECK(to_q8(-127.5f, 1.0f) == -127);
    CHECK(to_q8(126.5f, 1.0f) == 126);
    CHECK(to_q8(NAN, 0.0f) == 0);
}

TEST_CASE("rounding: nothing is scaled by what is no scale") {
    for (unsigned half : {0x0000u, 0x8000u, 0x7c00u, 0xfc00u, 0x7e00u, 0xfe01u})
        CHECK(inverse(static_cast<uint16_t>(half)) == 0);
    CHECK(inverse(0x0001) == 0x1p24f);
    CHECK(inverse(0x8001) == -0x1p24f);
    CHECK(inverse(0x7bff) == 1.0f / 65504);
    CHECK(to_integer(0.5f) == 0);
    CHECK(to_integer(1.5f) == 2);
    CHECK(to_integer(-2.5f) == -2);
    CHECK(to_integer(4194303.0f) == 4194303.0f);
}
