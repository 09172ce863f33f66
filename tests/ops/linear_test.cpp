// Linear layers: the bits of the definition, whatever the rows, threads and tables.
#include "ops/linear.h"

#include "ops/elementwise.h"
#include "ops/numbers.h"
#include "ops/product.h"
#include "tests/element_types.h"
#include "tests/ops/support.h"

using namespace minigpt;
using test::Numbers;

namespace {

// An output of q4: x as int8 by groups of 32, the groups' sums exact, one multiply-add each.
float sum_of_q4(const KernelTable& table, const float* x, const std::vector<float>& w,
                const void* panels, size_t n_in, size_t n_out, size_t j) {
    float acc = 0;
    for (size_t k0 = 0; k0 < n_in; k0 += 32) {
        size_t end = k0 + 32 < n_in ? k0 + 32 : n_in;
        float largest = 0;
        for (size_t k = k0; k < end; ++k)
            largest = std::fmax(largest, std::fabs(x[k]));
        uint16_t half;
        size_t group = j / 16 * ((n_in + 31) / 32) + k0 / 32;
        memcpy(&half, static_cast<const char*>(panels) + group * 288 + j % 16 * 2, 2);
        float scale = f16_to_float(half), inverse = 127.0f / largest;
        float sum = 0;
        for (size_t k = k0; k < end; ++k) {
            double q = static_cast<double>(x[k]) * static_cast<double>(inverse);
            q = std::nearbyint(table.bit_exact ? q : static_cast<float>(q));
            sum += static_cast<float>(q) * (w[k * n_out + j] / scale);
        }
        acc = test::multiply_add(table, sum, largest / 127.0f * scale, acc);
    }
    return acc;
}

void check_linear(size_t n_rows, size_t n_in, size_t n_out, ElementType type, bool with_bias,
                  Numbers& numbers) {
    if (test::computed({type}).empty())
        return;
    CAPTURE(n_rows);
    CAPTURE(n_in);
    CAPTURE(n_out);
    std::vector<float> w = test::random_floats(n_in * n_out, numbers);
    auto panels = test::panels_of(w, n_in, n_out, type);
    std::vector<float> bias = test::random_floats(n_out, numbers);
    const size_t ldx = n_in + 3, ldy = n_out + 5;
    std::vector<float> x = test::random_floats(n_rows * ldx, numbers);
    auto definition = [&](const KernelTable& table) {
        std::vector<float> want(n_rows * ldy, 7);
        for (size_t i = 0; i < n_rows; ++i) {
            for (size_t j = 0; j < n_out; ++j) {
                float acc = 0;
                for (size_t k = 0; k < n_in; ++k) {
                    acc = test::multiply_add(table, x[i * ldx + k], w[k * n_out + j], acc);
                }
                if (type == ElementType::q4)
                    acc = sum_of_q4(table, &x[i * ldx], w, panels->data(), n_in, n_out, j);
                want[i * ldy + j] = with_bias ? acc + bias[j] : acc;
            }
        }
        return want;
    };
    std::vector<float> wants[2];
    test::for_each_compute([&](const Compute& compute) {
        std::vector<float>& want = wants[compute.bit_exact()];
        if (want.empty())
            want = definition(kernels_of(compute));
        std::vector<float> y(n_rows * ldy, NAN);
        for (size_t i = 0; i < n_rows; ++i) {
            for (size_t j = n_out; j < ldy; ++j)
                y[i * ldy + j] = 7;
        }
        test::Memory scratch(linear_scratch_bytes(compute, n_rows, n_in));
        CHECK(scratch.size() % 64 == 0);
        linear(compute, y.data(), ldy, x.data(), ldx, {panels->data(), type, n_in, n_out},
               with_bias ? bias.data() : nullptr, n_rows, scratch.data());
        CHECK(test::first_difference(y.data(), want.data(), y.size()) == y.size());
    });
}

}  // namespace

TEST_CASE("linear: one multiply-add after another, for any number of rows, threads and any table") {
    Numbers numbers(21);
    for (ElementType type : test::computed()) {
        for (size_t n_rows : {1, 2, 5, 6, 7, 8, 13}) {
            check_linear(n_rows, 37, 81, type, n_rows % 2 == 0, numbers);
            check_linear(n_rows, 64, 16, type, n_rows % 2 == 1, numbers);
        }
        check_linear(3, 0, 20, type, true, numbers);
        check_linear(9, 0, 20, type, true, numbers);
    }
}

TEST_CASE("linear: blocks of inputs and groups of rows keep the running sum") {
    Numbers numbers(22);
    check_linear(11, 1000, 40, ElementType::f32, true, numbers);
    check_linear(9, 769, 33, ElementType::f16, true, numbers);
    check_linear(290, 40, 24, ElementType::f32, true, numbers);
    check_linear(41, 24, 5, ElementType::bf16, false, numbers);
    check_linear(11, 1000, 40, ElementType::q8, true, numbers);
    check_linear(290, 40, 24, ElementType::q8, true, numbers);
    check_linear(9, 2000, 33, ElementType::q4, true, numbers);
    check_linear(290, 40, 24, ElementType::q4, false, numbers);
}

// An activation is off by at most half a step, 1/254 of its group's largest, and a hair from
// rounding the inverse; what f32 adds to that is small beside it.
TEST_CASE("linear: q4 is off by no more than its activations' rounding") {
    if (test::computed({ElementType::q4}).empty())
        return;
    Numbers numbers(26);
    const size_t n_in = 200, n_out = 48;
    std::vector<float> w = test::random_floats(n_in * n_out, numbers);
    auto panels = test::panels_of(w, n_in, n_out, ElementType::q4);
    std::vector<float> x = test::random_floats(n_in, numbers), y(n_out);
    Compute compute;
    test::Memory scratch(linear_scratch_bytes(compute, 1, n_in));
    linear(compute, y.data(), n_out, x.data(), n_in, {panels->data(), ElementType::q4, n_in, n_out},
           nullptr, 1, scratch.data());
    for (size_t j = 0; j < n_out; ++j) {
        double truth = 0, bound = 0;
        for (size_t k = 0; k < n_in; ++k) {
            float largest = 0;
            for (size_t e = k / 32 * 32; e < k / 32 * 32 + 32 && e < n_in; ++e)
                largest = std::fmax(largest, std::fabs(x[e]));
            double weight = static_cast<double>(w[k * n_out + j]);
            truth += static_cast<double>(x[k]) * weight;
            bound += static_cast<double>(largest) / 253.9 * std::fabs(weight);
        }
        CHECK(std::fabs(static_cast<double>(y[j]) - truth) <= bound);
    }
}

TEST_CASE("linear: outputs_of begins at a panel, in every type") {
    Numbers numbers(27);
    for (ElementType type : test::computed()) {
        std::vector<float> w = test::random_floats(40 * 70, numbers);
        auto panels = test::panels_of(w, 40, 70, type);
        std::vector<float> x = test::random_floats(40, numbers), all(70), some(38);
        Compute compute;
        test::Memory scratch(linear_scratch_bytes(compute, 1, 40));
        PanelMatrix whole = {panels->data(), type, 40, 70};
        linear(compute, all.data(), 70, x.data(), 40, whole, nullptr, 1, scratch.data());
        linear(compute, some.data(), 38, x.data(), 40, outputs_of(whole, 32, 38), nullptr, 1,
               scratch.data());
        CHECK(test::first_difference(some.data(), all.data() + 32, 38) == 38);
    }
}

TEST_CASE("linear: the head may ask for fewer outputs than the table has rows") {
    Numbers numbers(23);
    std::vector<float> w = test::random_floats(32 * 64, numbers);
    auto panels = test::panels_of(w, 32, 64, ElementType::f32);
    std::vector<float> x = test::random_floats(32, numbers), all(64), some(57, 7);
    Compute compute;
    linear(compute, all.data(), 64, x.data(), 32, {panels->data(), ElementType::f32, 32, 64},
           nullptr, 1, nullptr);
    linear(compute, some.data(), 57, x.data(), 32, {panels->data(), ElementType::f32, 32, 56},
           nullptr, 1, nullptr);
    CHECK(test::first_difference(all.data(), some.data(), 56) == 56);
    CHECK(some[56] == 7);
}

TEST_CASE("linear: gather_row gives a column of W") {
    Numbers numbers(24);
    for (ElementType type : test::computed()) {
        if (type == ElementType::q4)
            continue;  // no table is
        std::vector<float> w = test::random_floats(41 * 50, numbers);
        auto panels = test::panels_of(w, 41, 50, type);
        for (size_t row : {0, 15, 16, 49}) {
            float y[41];
            gather_row(y, {panels->data(), type, 41, 50}, row);
            for (size_t e = 0; e < 41; ++e)
                CHECK(y[e] == w[e * 50 + row]);
        }
    }
}

TEST_CASE("linear: tiles of rows are of one size, give or take one, and cover all") {
    for (size_t n_rows = 1; n_rows < 400; ++n_rows) {
        size_t n = tile_count(n_rows);
        CHECK(first_row(n_rows, 0) == 0);
        CHECK(first_row(n_rows, n) == n_rows);
        for (size_t t = 0; t < n; ++t) {
            size_t m = first_row(n_rows, t + 1) - first_row(n_rows, t);
            CHECK(m >= n_rows / n);
            CHECK(m <= (n_rows + n - 1) / n);
            CHECK(m <= kMaxRowTile);
        }
    }
}

TEST_CASE("elementwise: the same bits for any number of threads") {
    Numbers numbers(25);
    const size_t n = 40001, n_embd = 97;
    std::vector<float> x = test::random_floats(n, numbers, 6), y = test::random_floats(n, numbers);
    std::vector<float> w = test::random_floats(n_embd, numbers);
    Compute scalar;
    REQUIRE(scalar.create(1, "scalar").ok());
    std::vector<float> sum = y, tanh = x, erf = x, norm(n);
    add(scalar, sum.data(), x.data(), n);
    gelu_in_place(scalar, tanh.data(), n, Activation::gelu_tanh);
    gelu_in_place(scalar, erf.data(), n, Activation::gelu_erf);
    layernorm_rows(scalar, norm.data(), n_embd, x.data(), n_embd, w.data(), w.data(), n / n_embd,
                   n_embd, 1e-5f);
    test::for_each_exact_compute([&](const Compute& compute) {
        std::vector<float> got = y;
        add(compute, got.data(), x.data(), n);
        CHECK(test::first_difference(got.data(), sum.data(), n) == n);
        got = x;
        gelu_in_place(compute, got.data(), n, Activation::gelu_tanh);
        CHECK(test::first_difference(got.data(), tanh.data(), n) == n);
        got = x;
        gelu_in_place(compute, got.data(), n, Activation::gelu_erf);
        CHECK(test::first_difference(got.data(), erf.data(), n) == n);
        got.assign(n, 0);
        layernorm_rows(compute, got.data(), n_embd, x.data(), n_embd, w.data(), w.data(),
                       n / n_embd, n_embd, 1e-5f);
        CHECK(test::first_difference(got.data(), norm.data(), n) == n);
    });
}

TEST_CASE("numbers: widen is exact in every type, at any stride") {
    float y[3], f32[3] = {1.5f, -2, 0};
    uint16_t f16[3] = {0x3e00, 0xc000, 1}, bf16[3] = {0x3fc0, 0xc000, 0};
    widen(y, 1, f32, 1, ElementType::f32, 3);
    CHECK(memcmp(y, f32, sizeof y) == 0);
    widen(y, 1, bf16, 1, ElementType::bf16, 3);
    CHECK(memcmp(y, f32, sizeof y) == 0);
    widen(y, 1, f16, 1, ElementType::f16, 3);
    CHECK(y[0] == 1.5f);
    CHECK(y[1] == -2.0f);
    CHECK(y[2] == 5.9604644775390625e-8f);
    float apart[3] = {7, 7, 7};
    widen(apart, 2, f32, 2, ElementType::f32, 2);
    CHECK(apart[0] == 1.5f);
    CHECK(apart[1] == 7.0f);
    CHECK(apart[2] == 0.0f);
}

TEST_CASE("linear: a type that the build leaves out is refused, with those that it has") {
    size_t n_left_out = 0;
    for (ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::q8,
                             ElementType::q4}) {
        bool is_there = test::is_computed(type);
        Status status = check_computed("wte.weight", type);
        CHECK(status.ok() == is_there);
        if (is_there)
            continue;
        n_left_out++;
        std::string message = status.message(), found = std::string("found ") + name_of(type);
        CHECK(status.code() == Code::not_supported);
        CHECK(message.find("wte.weight: " + found + "; this build computes with f32") == 0);
    }
    if (n_left_out == 0)
        MESSAGE("skipped: this build has all types");
}
