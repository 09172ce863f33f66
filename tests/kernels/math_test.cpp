// The functions' errors against the C library's float64, and their edges. The bounds here are the
// ones that row_kernels.inc and minigpt/ops.h state; where a test has two, the second is that of
// tables that multiply and add.
#include <cfloat>

#include "tests/kernels/support.h"
#include "tests/quick.h"

using namespace minigpt;

namespace {

const float kInfinity = INFINITY;

double gelu_tanh(double x) {
    // x / 2 (1 + tanh(z)) without the cancellation: 1 + tanh(z) = 2 / (1 + exp(-2z)).
    double z = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    return x / (1 + std::exp(-2 * z));
}
double gelu_erf(double x) {
    return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
}

// Bit patterns from one number of a sweep to the next.
const uint32_t kStep = static_cast<uint32_t>(if_quick(10007, 1009));

struct Sweep {
    double worst_ulps = 0, worst_absolute = 0;
    float at = 0;
};

// Compares f over [from, to] (of one sign, |from| < |to|) in steps of `step` bit patterns.
template <typename Truth>
Sweep sweep(void (*f)(float*, const float*, size_t), Truth truth, float from, float to,
            uint32_t step) {
    Sweep result;
    std::vector<float> x, y;
    uint32_t last = float_to_bits(to);
    for (uint64_t bits = float_to_bits(from); bits <= last; bits += step) {
        x.push_back(bits_to_float(static_cast<uint32_t>(bits)));
    }
    x.push_back(to);
    y.resize(x.size());
    f(y.data(), x.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        double t = truth(static_cast<double>(x[i]));
        double u = test::ulps(y[i], t);
        if (u > result.worst_ulps) {
            result.worst_ulps = u;
            result.at = x[i];
        }
        double absolute = std::fabs(static_cast<double>(y[i]) - t);
        if (absolute > result.worst_absolute)
            result.worst_absolute = absolute;
    }
    return result;
}

// f(sweep, table) for one of the tables whose bits are equal, to the bit the others' too
// (row_test.cpp), and for each that multiplies and adds.
template <typename Truth, typename F>
void for_each_sweep(const std::string& name,
                    void (*KernelTable::*kernel)(float*, const float*, size_t), Truth truth,
                    float from, float to, uint32_t step, F f) {
    bool exact_is_done = false;
    test::for_each_table([&](const KernelTable& table) {
        if (table.bit_exact && exact_is_done)
            return;
        exact_is_done = exact_is_done || table.bit_exact;
        Sweep s = sweep(table.*kernel, truth, from, to, step);
        MESSAGE(name, " of ", std::string(table.name), " over [", from, ", ", to,
                "]: ", s.worst_ulps, " ULP at ", s.at, ", absolute ", s.worst_absolute);
        f(s, table);
    });
}

// ULPs of tables whose bits are equal, and of those that multiply and add.
struct Bounds {
    double exact, unfused;
};

template <typename Truth>
void check_ulps(const std::string& name, void (*KernelTable::*kernel)(float*, const float*, size_t),
                Truth truth, float from, float to, Bounds bounds, uint32_t step = kStep) {
    for_each_sweep(name, kernel, truth, from, to, step, [&](const Sweep& s, const KernelTable& t) {
        CHECK(s.worst_ulps <= (t.bit_exact ? bounds.exact : bounds.unfused));
    });
}

template <typename Truth>
void check_absolute(const std::string& name,
                    void (*KernelTable::*kernel)(float*, const float*, size_t), Truth truth,
                    float from, float to, double bound) {
    for_each_sweep(name, kernel, truth, from, to, kStep,
                   [&](const Sweep& s, const KernelTable&) { CHECK(s.worst_absolute <= bound); });
}

float one(void (*f)(float*, const float*, size_t), float x) {
    float y;
    f(&y, &x, 1);
    return y;
}

}  // namespace

TEST_CASE("kernels math: exp is within 1 ULP or 1.25, 0 below FLT_MIN and infinity above FLT_MAX") {
    auto truth = [](double x) { return std::exp(x); };
    check_ulps("exp", &KernelTable::exp, truth, 0.0f, 88.7228317f, {1.0, 1.25});
    check_ulps("exp", &KernelTable::exp, truth, -0.0f, -87.3365402f, {1.0, 1.25});
    test::for_each_table([&](const KernelTable& t) {
        CHECK(one(t.exp, 0.0f) == 1.0f);
        CHECK(one(t.exp, -0.0f) == 1.0f);
        CHECK(one(t.exp, 88.72283935546875f) == kInfinity);
        CHECK(one(t.exp, 88.7228317f) < kInfinity);
        CHECK(one(t.exp, -87.3365402f) >= FLT_MIN);
        CHECK(one(t.exp, -87.33655f) == 0.0f);
        CHECK(one(t.exp, 1e38f) == kInfinity);
        CHECK(one(t.exp, -1e38f) == 0.0f);
        CHECK(one(t.exp, kInfinity) == kInfinity);
        CHECK(one(t.exp, -kInfinity) == 0.0f);
        CHECK(std::isnan(one(t.exp, NAN)));
        for (uint32_t payload = 0; payload < 512; ++payload) {
            CHECK(std::isnan(one(t.exp, bits_to_float(0x7fc00000 + payload))));
        }
    });
}

TEST_CASE("kernels math: log is within 1 ULP, subnormals too") {
    auto truth = [](double x) { return std::log(x); };
    check_ulps("log", &KernelTable::log, truth, 1e-45f, FLT_MAX, {1.0, 1.0});
    check_ulps("log", &KernelTable::log, truth, 0.5f, 2.0f, {1.0, 1.0}, 7);
    test::for_each_table([&](const KernelTable& t) {
        CHECK(one(t.log, 1.0f) == 0.0f);
        CHECK(one(t.log, 0.0f) == -kInfinity);
        CHECK(one(t.log, -0.0f) == -kInfinity);
        CHECK(one(t.log, kInfinity) == kInfinity);
        CHECK(std::isnan(one(t.log, -1.0f)));
        CHECK(std::isnan(one(t.log, -kInfinity)));
        CHECK(std::isnan(one(t.log, -1e-45f)));
        CHECK(std::isnan(one(t.log, NAN)));
    });
}

TEST_CASE("kernels math: tanh is within 1.5 ULP or 2, odd and never past 1") {
    auto truth = [](double x) { return std::tanh(x); };
    check_ulps("tanh", &KernelTable::tanh, truth, 0.0f, 100.0f, {1.5, 2.0});
    check_ulps("tanh", &KernelTable::tanh, truth, -0.0f, -100.0f, {1.5, 2.0});
    test::for_each_table([&](const KernelTable& t) {
        CHECK(one(t.tanh, kInfinity) == 1.0f);
        CHECK(one(t.tanh, -kInfinity) == -1.0f);
        CHECK(one(t.tanh, 9.1f) == 1.0f);
        CHECK(float_to_bits(one(t.tanh, -0.0f)) == 0x80000000);
        CHECK(std::isnan(one(t.tanh, NAN)));
        for (float x = 0; x < 12; x += 0.001f) {
            REQUIRE(one(t.tanh, x) <= 1.0f);
            REQUIRE(one(t.tanh, -x) == -one(t.tanh, x));
        }
    });
}

TEST_CASE("kernels math: erf is within 1.5 ULP, odd and never past 1") {
    auto truth = [](double x) { return std::erf(x); };
    check_ulps("erf", &KernelTable::erf, truth, 0.0f, 100.0f, {1.5, 1.5});
    check_ulps("erf", &KernelTable::erf, truth, -0.0f, -100.0f, {1.5, 1.5});
    test::for_each_table([&](const KernelTable& t) {
        CHECK(one(t.erf, kInfinity) == 1.0f);
        CHECK(one(t.erf, -kInfinity) == -1.0f);
        CHECK(float_to_bits(one(t.erf, -0.0f)) == 0x80000000);
        CHECK(std::isnan(one(t.erf, NAN)));
        for (float x = 0; x < 6; x += 0.001f) {
            REQUIRE(one(t.erf, x) <= 1.0f);
            REQUIRE(one(t.erf, -x) == -one(t.erf, x));
        }
    });
}

TEST_CASE("kernels math: gelu_tanh is within 4 ULP from -1 on, and 1e-7 everywhere below") {
    auto kernel = &KernelTable::gelu_tanh;
    check_ulps("gelu_tanh", kernel, gelu_tanh, test::kSmallest, 1e30f, {4, 4});
    check_ulps("gelu_tanh", kernel, gelu_tanh, -test::kSmallest, -1.0f, {4, 4});
    check_absolute("gelu_tanh", kernel, gelu_tanh, -1.0f, -1e30f, 1e-7);
}

TEST_CASE("kernels math: gelu_erf is within 8 ULP or 40 from -11 on, and 1e-7 everywhere below") {
    auto kernel = &KernelTable::gelu_erf;
    check_ulps("gelu_erf", kernel, gelu_erf, test::kSmallest, 1e30f, {8, 8});
    check_ulps("gelu_erf", kernel, gelu_erf, -test::kSmallest, -1.0f, {8, 8});
    check_ulps("gelu_erf", kernel, gelu_erf, -1.0f, -11.0f, {8, 40});
    check_absolute("gelu_erf", kernel, gelu_erf, -1.0f, -1e30f, 1e-7);
}

TEST_CASE("kernels math: gelu keeps signs of zero, infinities and NaN") {
    test::for_each_table([&](const KernelTable& t) {
        for (auto gelu : {t.gelu_tanh, t.gelu_erf}) {
            CHECK(float_to_bits(one(gelu, 0.0f)) == 0);
            CHECK(float_to_bits(one(gelu, -0.0f)) == 0x80000000);
            CHECK(one(gelu, kInfinity) == kInfinity);
            CHECK(std::isnan(one(gelu, -kInfinity)));
            CHECK(std::isnan(one(gelu, NAN)));
            CHECK(one(gelu, FLT_MAX) == FLT_MAX);
            CHECK(one(gelu, -FLT_MAX) == 0.0f);
        }
    });
}

TEST_CASE("kernels math: softmax's exp is within 1 ULP or 1.25 above -64 and 0 below") {
    test::for_each_table([&](const KernelTable& t) {
        double worst = 0;
        for (float x = -64; x <= 0; x += 0.0037f) {
            double u = test::ulps(t.sum_exp(&x, 1, 0), std::exp(static_cast<double>(x)));
            if (u > worst)
                worst = u;
        }
        CHECK(worst <= (t.bit_exact ? 1.0 : 1.25));
        float x = -64;
        CHECK(t.sum_exp(&x, 1, 0) > 0);
        x = std::nextafter(x, -100.0f);
        CHECK(t.sum_exp(&x, 1, 0) == 0);
        x = 0;
        CHECK(t.sum_exp(&x, 1, 0) == 1);
    });
}
