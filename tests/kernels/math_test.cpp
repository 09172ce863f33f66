// The functions' errors against the C library's float64, and their edges. The bounds here are the
// ones that row_kernels.inc and minigpt/ops.h state.
#include <cfloat>

#include "tests/kernels/support.h"

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

// The worst table's worst.
template <typename Truth>
Sweep sweep_all(const std::string& name, void (*KernelTable::*f)(float*, const float*, size_t),
                Truth truth, float from, float to, uint32_t step = 1009) {
    const KernelTable& table = best_kernels();  // to the bit the others' too: row_test.cpp
    Sweep s = sweep(table.*f, truth, from, to, step);
    MESSAGE(name, " over [", from, ", ", to, "]: ", s.worst_ulps, " ULP at ", s.at, ", absolute ",
            s.worst_absolute);
    return s;
}

float one(void (*f)(float*, const float*, size_t), float x) {
    float y;
    f(&y, &x, 1);
    return y;
}

}  // namespace

TEST_CASE("kernels math: exp is within 1 ULP, 0 below FLT_MIN and infinity above FLT_MAX") {
    auto truth = [](double x) { return std::exp(x); };
    CHECK(sweep_all("exp", &KernelTable::exp, truth, 0.0f, 88.7228317f).worst_ulps <= 1.0);
    CHECK(sweep_all("exp", &KernelTable::exp, truth, -0.0f, -87.3365402f).worst_ulps <= 1.0);
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
    CHECK(sweep_all("log", &KernelTable::log, truth, 1e-45f, FLT_MAX).worst_ulps <= 1.0);
    CHECK(sweep_all("log", &KernelTable::log, truth, 0.5f, 2.0f, 7).worst_ulps <= 1.0);
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

TEST_CASE("kernels math: tanh is within 1.5 ULP, odd and never past 1") {
    auto truth = [](double x) { return std::tanh(x); };
    CHECK(sweep_all("tanh", &KernelTable::tanh, truth, 0.0f, 100.0f).worst_ulps <= 1.5);
    CHECK(sweep_all("tanh", &KernelTable::tanh, truth, -0.0f, -100.0f).worst_ulps <= 1.5);
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
    CHECK(sweep_all("erf", &KernelTable::erf, truth, 0.0f, 100.0f).worst_ulps <= 1.5);
    CHECK(sweep_all("erf", &KernelTable::erf, truth, -0.0f, -100.0f).worst_ulps <= 1.5);
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
    CHECK(sweep_all("gelu_tanh", &KernelTable::gelu_tanh, gelu_tanh, test::kSmallest, 1e30f)
              .worst_ulps <= 4);
    CHECK(sweep_all("gelu_tanh", &KernelTable::gelu_tanh, gelu_tanh, -test::kSmallest, -1.0f)
              .worst_ulps <= 4);
    Sweep s = sweep_all("gelu_tanh", &KernelTable::gelu_tanh, gelu_tanh, -1.0f, -1e30f);
    CHECK(s.worst_absolute <= 1e-7);
}

TEST_CASE("kernels math: gelu_erf is within 8 ULP from -11 on, and 1e-7 everywhere below") {
    CHECK(sweep_all("gelu_erf", &KernelTable::gelu_erf, gelu_erf, test::kSmallest, 1e30f)
              .worst_ulps <= 8);
    CHECK(sweep_all("gelu_erf", &KernelTable::gelu_erf, gelu_erf, -test::kSmallest, -11.0f)
              .worst_ulps <= 8);
    Sweep s = sweep_all("gelu_erf", &KernelTable::gelu_erf, gelu_erf, -11.0f, -1e30f);
    CHECK(s.worst_absolute <= 1e-7);
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

TEST_CASE("kernels math: softmax's exp is within 1 ULP above -64 and 0 below") {
    test::for_each_table([&](const KernelTable& t) {
        double worst = 0;
        for (float x = -64; x <= 0; x += 0.0037f) {
            double u = test::ulps(t.sum_exp(&x, 1, 0), std::exp(static_cast<double>(x)));
            if (u > worst)
                worst = u;
        }
        CHECK(worst <= 1.0);
        float x = -64;
        CHECK(t.sum_exp(&x, 1, 0) > 0);
        x = std::nextafter(x, -100.0f);
        CHECK(t.sum_exp(&x, 1, 0) == 0);
        x = 0;
        CHECK(t.sum_exp(&x, 1, 0) == 1);
    });
}
