// The measurements of the machine: that they measure what they say, on every ISA.
#include "minigpt/machine_limits.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/buffer.h"
#include "kernels/kernels.h"

using namespace minigpt;

TEST_CASE("limits: fma_chains counts the products that it makes") {
    for (size_t i = 0; kernel_choice(i).name != nullptr; i++) {
        KernelChoice choice = kernel_choice(i);
        CAPTURE(choice.name);
        if (!choice.present) {
            MESSAGE("skipped: this CPU has no " << choice.name);
            continue;
        }
        // From 3 a step of 0.5 x + x leads to 4.5, two to 6.75.
        const float kAfter[] = {3.0f, 4.5f, 6.75f};
        for (size_t n = 0; n < 3; n++) {
            float x[kPanel + 2];
            for (float& start : x)
                start = 3.0f;
            x[kPanel] = 0.5f;
            size_t products = choice.table->fma_chains(x, n);
            double chains = double{x[0]} / double{kAfter[n]};
            CHECK(chains == std::floor(chains));
            CHECK((chains >= 8 && chains <= 16));
            size_t width = 1;
            while (width < kPanel && x[width] == x[0])
                width++;
            CHECK(products == n * static_cast<size_t>(chains) * width);
            CHECK(x[kPanel + 1] == 3.0f);
        }
    }
}

TEST_CASE("limits: read_streams reads every number of every stream once, and nothing else") {
    constexpr size_t kN = 3 * kPanel, kStride = kN + kPanel;
    Buffer<float> data;
    REQUIRE(data.allocate(kReadStreams * kStride));
    uint32_t expected = 0;
    for (size_t i = 0; i < data.size(); i++) {
        uint32_t bits = static_cast<uint32_t>(i) * 2654435761u;
        memcpy(&data[i], &bits, sizeof bits);
        expected += i % kStride < kN ? bits : 0;
    }
    for (size_t i = 0; kernel_choice(i).name != nullptr; i++) {
        if (!kernel_choice(i).present)
            continue;
        CAPTURE(kernel_choice(i).name);
        float sink[kPanel] = {};
        kernel_choice(i).table->read_streams(sink, data.data(), kStride, kN);
        uint32_t sum = 0;
        for (float lane : sink) {
            uint32_t bits;
            memcpy(&bits, &lane, sizeof bits);
            sum += bits;
        }
        CHECK(sum == expected);
    }
}

TEST_CASE("limits: rates are positive, and what cannot be read is refused") {
    double rate = 0;
    Compute two;
    REQUIRE(two.create(2).ok());
    REQUIRE(measure_fma(&rate, &two).ok());
    CHECK(rate > 1e6);
    Buffer<char> data;
    REQUIRE(data.allocate(1 << 20));
    memset(data.data(), 1, data.size());
    for (size_t bytes : {size_t{512}, size_t{5000}, data.size()}) {
        rate = 0;
        REQUIRE(measure_read(&rate, data.data(), bytes, &two).ok());
        CHECK(rate > 0);
    }
    CHECK(measure_read(&rate, data.data(), 511).code() == Code::bad_argument);
    CHECK(measure_read(&rate, data.data() + 4, 4096).code() == Code::bad_argument);
    CHECK(measure_read(&rate, nullptr, 4096).code() == Code::bad_argument);
}
