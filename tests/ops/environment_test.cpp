// Whatever rounding and flushing a caller's thread is set to, results keep their bits and the
// setting is given back.
#include <cfenv>
#include <cfloat>

#include "minigpt/ops.h"
#include "tests/ops/support.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

using namespace minigpt;
using test::Numbers;

namespace {

struct Setting {
    std::string name;
    int rounding;
    bool flush;
};

// RISC-V has no flush-to-zero to be set.
#if defined(__SSE2__) || defined(__aarch64__) || defined(__arm__)
constexpr bool kCanFlush = true;
#else
constexpr bool kCanFlush = false;
#endif

void set_flush(bool on) {
#if defined(__SSE2__)
    _mm_setcsr(on ? _mm_getcsr() | 0x8040 : _mm_getcsr() & ~0x8040u);
#elif defined(__aarch64__)
    uint64_t bits;
    __asm__ volatile("mrs %0, fpcr" : "=r"(bits));
    bits = on ? bits | 1u << 24 : bits & ~uint64_t{1u << 24};
    __asm__ volatile("msr fpcr, %0" : : "r"(bits));
#elif defined(__arm__)
    uint32_t bits;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(bits));
    bits = on ? bits | 1u << 24 : bits & ~(1u << 24);
    __asm__ volatile("vmsr fpscr, %0" : : "r"(bits));
#else
    (void)on;
#endif
}

bool flushes() {
    volatile float tiny = FLT_MIN;
    return tiny * 0.5f == 0;
}

constexpr size_t kRows = 24, kWidth = 32, kNumbers = kRows * kWidth;

// The inputs, made before the setting is; the outputs of every op.
struct Everything {
    std::vector<float> x, tiny;
    test::Memory workspace;
    std::vector<float> out[11];
    double log_probability = 0;
    bool ok = true;

    Everything() : workspace(1 << 20) {
        Numbers numbers(51);
        x = test::random_floats(kNumbers, numbers, 3);
        tiny = x;
        for (float& f : tiny)
            f *= 1e-39f;  // subnormal
        for (auto& y : out)
            y.resize(kNumbers);
    }

    void keep(const Status& status) { ok = ok && status.ok(); }

    void run(const Compute& compute) {
        float* const from = x.data();
        keep(gemm(out[0].data(), kRows, from, kWidth, Operand::plain, from, kWidth,
                  Operand::transposed, kRows, kRows, kWidth, false, workspace.data(),
                  workspace.size(), &compute));
        keep(layernorm(out[1].data(), from, nullptr, nullptr, kRows, kWidth, 1e-5f, &compute));
        keep(gelu(out[2].data(), from, kNumbers, Activation::gelu_tanh, &compute));
        keep(gelu(out[3].data(), from, kNumbers, Activation::gelu_erf, &compute));
        keep(masked_softmax(out[4].data(), from, kRows, kWidth, kWidth, 3, &compute));
        keep(attention(out[5].data(), from, from, from, kRows, 0, 2, kWidth / 2, 0.25f, nullptr,
                       workspace.data(), workspace.size(), &compute));
        keep(exp_each(out[6].data(), from, kNumbers, &compute));
        keep(tanh_each(out[7].data(), from, kNumbers, &compute));
        keep(erf_each(out[8].data(), from, kNumbers, &compute));
        keep(log_each(out[9].data(), tiny.data(), kNumbers, &compute));
        keep(log_prob(&log_probability, from, kNumbers, 3, &compute));
        run_units(
            compute, kRows,
            [](void* context, size_t row, size_t) {
                Everything& all = *static_cast<Everything*>(context);
                for (size_t i = row * kWidth; i < (row + 1) * kWidth; ++i)
                    all.out[10][i] = all.tiny[i] / 3;
            },
            this);
    }
};

}  // namespace

TEST_CASE("ops environment: rounding modes and flush-to-zero change no bit and are given back") {
    const Setting settings[] = {{"up", FE_UPWARD, false},
                                {"down", FE_DOWNWARD, true},
                                {"towards zero", FE_TOWARDZERO, false},
                                {"flush", FE_TONEAREST, true}};
    test::for_each_compute([&](const Compute& compute) {
        Everything want;
        want.run(compute);
        REQUIRE(want.ok);
        for (const Setting& setting : settings) {
            CAPTURE(setting.name);
            Everything found;
            fesetround(setting.rounding);
            set_flush(setting.flush);
            bool flushed = flushes();
            found.run(compute);
            int rounding = fegetround();
            bool flushed_after = flushes();
            fesetround(FE_TONEAREST);
            set_flush(false);
            CHECK(found.ok);
            CHECK(rounding == setting.rounding);
            CHECK(flushed == (setting.flush && kCanFlush));
            CHECK(flushed_after == (setting.flush && kCanFlush));
            for (size_t i = 0; i < 11; ++i) {
                CAPTURE(i);
                CHECK(test::first_difference(found.out[i].data(), want.out[i].data(), kNumbers) ==
                      kNumbers);
            }
            CHECK(found.log_probability == want.log_probability);
        }
    });
}

TEST_CASE("ops environment: threads started under another rounding mode round to nearest") {
    Everything want, found;
    Compute one, three;
    want.run(one);
    fesetround(FE_UPWARD);
    set_flush(true);
    Status status = three.create(3);
    fesetround(FE_TONEAREST);
    set_flush(false);
    REQUIRE(status.ok());
    for (size_t repeat = 0; repeat < 20; ++repeat) {
        found.run(three);
        CHECK(test::first_difference(found.out[0].data(), want.out[0].data(), kNumbers) ==
              kNumbers);
    }
}
