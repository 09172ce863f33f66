// Each table's row kernels against its reference, to the bit.
#include <limits>

#include "tests/kernels/support.h"

using namespace minigpt;
using test::Guarded;
using test::Numbers;

namespace {

const size_t kLengths[] = {0,  1,   2,   3,   4,   5,   7,   8,   9,   11,   13,   15,   16,  17,
                           19, 23,  24,  25,  31,  32,  33,  37,  47,  48,   49,   63,   64,  65,
                           97, 127, 128, 129, 255, 256, 257, 768, 769, 1021, 1600, 3072, 4093};

// Runs f(y, x) on the table and its reference, apart and in place, and compares.
template <typename F>
void compare(const KernelTable& table, Guarded<float>& x, Numbers& numbers, F f) {
    const size_t n = x.size();
    CAPTURE(n);
    Guarded<float> want(n), apart(n, numbers.below(16)), in_place(n, numbers.below(16));
    f(test::row_reference(table), want.data(), x.data());
    f(table, apart.data(), x.data());
    for (size_t i = 0; i < n; ++i)
        in_place[i] = x[i];
    f(table, in_place.data(), in_place.data());
    CHECK(apart.intact());
    CHECK(in_place.intact());
    CHECK(test::first_difference(apart.data(), want.data(), n) == n);
    CHECK(test::first_difference(in_place.data(), want.data(), n) == n);
}

// Numbers of every size, and now and then what is none.
void fill_wild(Guarded<float>& x, Numbers& numbers) {
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = bits_to_float(numbers.bits());
        if (std::fabs(x[i]) < test::kSmallest)
            x[i] = 0;
        if (numbers.below(3) != 0)
            x[i] = numbers.next(12);
    }
}

}  // namespace

TEST_CASE("kernels rows: add has the reference's bits") {
    Numbers numbers(11);
    test::for_each_table([&](const KernelTable& table) {
        for (size_t n : kLengths) {
            Guarded<float> x(n, numbers.below(16)), y(n, numbers.below(16)), want(n);
            x.fill(numbers);
            y.fill(numbers);
            for (size_t i = 0; i < n; ++i)
                want[i] = y[i] + x[i];
            table.add(y.data(), x.data(), n);
            CHECK(y.intact());
            CHECK(test::first_difference(y.data(), want.data(), n) == n);
        }
    });
}

TEST_CASE("kernels rows: layernorm has the reference's bits, with w and b or without") {
    Numbers numbers(12);
    test::for_each_table([&](const KernelTable& table) {
        for (size_t n : kLengths) {
            if (n == 0)
                continue;
            Guarded<float> x(n, numbers.below(16)), w(n, numbers.below(16));
            Guarded<float> b(n, numbers.below(16));
            x.fill(numbers, 30);
            w.fill(numbers);
            b.fill(numbers);
            for (int have = 0; have < 4; ++have) {
                compare(table, x, numbers, [&](const KernelTable& t, float* y, const float* from) {
                    t.layernorm(y, from, have & 1 ? w.data() : nullptr,
                                have & 2 ? b.data() : nullptr, n, 1e-5f);
                });
            }
        }
    });
}

TEST_CASE("kernels rows: softmax has the reference's bits, with masked and wild scores too") {
    Numbers numbers(13);
    const float infinity = std::numeric_limits<float>::infinity();
    test::for_each_table([&](const KernelTable& table) {
        for (size_t n : kLengths) {
            for (int kind = 0; kind < 5; ++kind) {
                CAPTURE(kind);
                Guarded<float> x(n, numbers.below(16));
                x.fill(numbers, kind == 1 ? 300.0f : 8.0f);
                for (size_t i = 0; i < n; ++i) {
                    if (kind == 2 && numbers.below(2) == 0)
                        x[i] = -infinity;
                    if (kind == 3)
                        x[i] = -infinity;
                    if (kind == 4 && numbers.below(64) == 0)
                        x[i] = numbers.bits() % 2 ? NAN : infinity;
                }
                float scale = kind == 0 ? 0.125f : 1.0f;
                compare(table, x, numbers, [&](const KernelTable& t, float* y, const float* from) {
                    t.softmax(y, from, n, scale);
                });
                const KernelTable& reference = test::row_reference(table);
                float shift = reference.maximum(x.data(), n);
                CHECK(test::same_bits(table.maximum(x.data(), n), shift));
                if (shift == -infinity)
                    shift = 0;
                CHECK(test::same_bits(table.sum_exp(x.data(), n, shift),
                                      reference.sum_exp(x.data(), n, shift)));
            }
        }
    });
}

TEST_CASE("kernels rows: the sum of a row has sixteen lanes, added pairwise") {
    Numbers numbers(14);
    for (size_t n : {1, 15, 16, 17, 40, 100}) {
        Guarded<float> x(n);
        x.fill(numbers, 4);
        test::for_each_table([&](const KernelTable& table) {
            float lanes[16] = {};
            for (size_t i = 0; i < n; ++i)
                lanes[i % 16] += test::row_reference(table).sum_exp(&x[i], 1, 4.0f);
            for (size_t apart = 8; apart > 0; apart /= 2) {
                for (size_t j = 0; j < apart; ++j)
                    lanes[j] += lanes[j + apart];
            }
            CHECK(test::same_bits(table.sum_exp(x.data(), n, 4.0f), lanes[0]));
        });
    }
}

TEST_CASE("kernels rows: elementwise functions have the reference's bits on every number") {
    Numbers numbers(15);
    struct Function {
        std::string name;
        void (*KernelTable::*kernel)(float*, const float*, size_t);
    };
    const Function functions[] = {{"gelu_tanh", &KernelTable::gelu_tanh},
                                  {"gelu_erf", &KernelTable::gelu_erf},
                                  {"exp", &KernelTable::exp},
                                  {"log", &KernelTable::log},
                                  {"tanh", &KernelTable::tanh},
                                  {"erf", &KernelTable::erf}};
    test::for_each_table([&](const KernelTable& table) {
        for (const Function& function : functions) {
            CAPTURE(function.name);
            for (size_t n : kLengths) {
                Guarded<float> x(n, numbers.below(16));
                fill_wild(x, numbers);
                compare(table, x, numbers, [&](const KernelTable& t, float* y, const float* from) {
                    (t.*function.kernel)(y, from, n);
                });
            }
        }
    });
}
