// Each table's products against the scalar reference, and the reference against its definition.
#include "base/fma.h"
#include "tests/kernels/support.h"

using namespace minigpt;
using test::Guarded;
using test::Numbers;

namespace {

// A product with operands in guarded, oddly aligned buffers.
struct Problem {
    size_t m, n, k, type, ldc, stride;
    bool accumulate, with_bias;
    Guarded<float> a, bias, c_start;
    Guarded<uint32_t> b32;
    Guarded<uint16_t> b16;

    Problem(size_t m_, size_t n_, size_t k_, size_t type_, bool accumulate_, bool with_bias_,
            Numbers& numbers)
        : m(m_),
          n(n_),
          k(k_),
          type(type_),
          ldc(n_ + numbers.below(5)),
          stride(k_ * 16 + numbers.below(40)),
          accumulate(accumulate_),
          with_bias(with_bias_),
          a(m_ * k_, numbers.below(16)),
          bias(n_, numbers.below(16)),
          c_start(m_ * ldc),
          b32(panels() == 0 ? 0 : (panels() - 1) * stride + k_ * 16, numbers.below(16)),
          b16(b32.size(), numbers.below(16)) {
        a.fill(numbers);
        bias.fill(numbers);
        c_start.fill(numbers);
        for (size_t i = 0; i < b32.size(); ++i) {
            float x = numbers.next();
            if (numbers.below(16) == 0)
                x = 0;
            b32[i] = float_to_bits(x);
            b16[i] = type == 1 ? float_to_f16(x) : float_to_bf16(x);
        }
        // What is between panels, and in the last one's padding, is never used.
        for (size_t p = 0; p < panels(); ++p) {
            for (size_t e = 0; e < stride && p * stride + e < b32.size(); ++e) {
                bool used = e < k * 16 && p * 16 + e % 16 < n;
                if (used)
                    continue;
                b32[p * stride + e] = 0xffffffff;
                b16[p * stride + e] = 0xffff;
            }
        }
    }
    size_t panels() const { return (n + 15) / 16; }
    const void* b() { return type == 0 ? static_cast<void*>(b32.data()) : b16.data(); }
    float b_at(size_t kk, size_t j) {
        size_t at = j / 16 * stride + kk * 16 + j % 16;
        if (type == 0)
            return bits_to_float(b32[at]);
        return type == 1 ? f16_to_float(b16[at]) : bf16_to_float(b16[at]);
    }

    // c, with whatever stood between its rows.
    std::vector<float> run(const KernelTable& table, bool prefetch) {
        Guarded<float> c(m == 0 ? 0 : (m - 1) * ldc + n, 3);
        for (size_t i = 0; i < c.size(); ++i) {
            c[i] = accumulate || i % ldc >= n ? c_start[i] : NAN;  // an overwritten c is not read
        }
        table.panel_gemm[type]({c.data(), ldc, a.data(), m, b(), stride, n, k,
                                with_bias ? bias.data() : nullptr, accumulate, prefetch});
        CHECK(c.intact());
        for (size_t i = 0; i < c.size(); ++i) {
            if (i % ldc >= n)
                CHECK(test::same_bits(c[i], c_start[i]));
        }
        return std::vector<float>(c.data(), c.data() + c.size());
    }
};

const std::string type_names[] = {"f32", "f16", "bf16"};

void compare(size_t m, size_t n, size_t k, Numbers& numbers) {
    for (size_t type = 0; type < kKernelTypes; ++type) {
        Problem p(m, n, k, type, numbers.below(2) == 0, numbers.below(2) == 0, numbers);
        std::vector<float> truth = p.run(test::scalar(), false);
        test::for_each_table([&](const KernelTable& table) {
            if (!table.exact)
                return;
            CAPTURE(type_names[type]);
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            for (bool prefetch : {false, true}) {
                std::vector<float> found = p.run(table, prefetch);
                CHECK(test::first_difference(found.data(), truth.data(), truth.size()) ==
                      truth.size());
            }
        });
    }
}

}  // namespace

TEST_CASE("kernels gemm: the reference is one fma after another, upwards, then the bias") {
    Numbers numbers(1);
    for (size_t type = 0; type < kKernelTypes; ++type) {
        for (bool accumulate : {false, true}) {
            for (bool with_bias : {false, true}) {
                Problem p(5, 37, 29, type, accumulate, with_bias, numbers);
                std::vector<float> c = p.run(test::scalar(), false);
                for (size_t i = 0; i < p.m; ++i) {
                    for (size_t j = 0; j < p.n; ++j) {
                        float acc = accumulate ? p.c_start[i * p.ldc + j] : 0.0f;
                        for (size_t k = 0; k < p.k; ++k) {
                            acc = fma_exact(p.a[k * p.m + i], p.b_at(k, j), acc);
                        }
                        if (with_bias)
                            acc += p.bias[j];
                        CHECK(test::same_bits(c[i * p.ldc + j], acc));
                    }
                }
            }
        }
    }
}

TEST_CASE("kernels gemm: every table has the reference's bits at every edge") {
    Numbers numbers(2);
    for (size_t m = 1; m <= kMaxRowTile; ++m) {
        for (size_t n : {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 79, 129}) {
            for (size_t k : {0, 1, 2, 3, 7, 8, 17, 64})
                compare(m, n, k, numbers);
        }
    }
}

TEST_CASE("kernels gemm: every table has the reference's bits at the model's shapes") {
    Numbers numbers(3);
    compare(1, 2304, 768, numbers);
    compare(1, 768, 3072, numbers);
    compare(6, 768, 384, numbers);
    compare(6, 64, 1021, numbers);
    compare(4, 1021, 64, numbers);
    compare(1, 257, 768, numbers);
}

TEST_CASE("kernels gemm: a sum that begins at +0 stays +0 over negative zeros") {
    test::for_each_table([&](const KernelTable& table) {
        float a[2] = {0.0f, 0.0f}, b[32], c[16];
        for (float& x : b)
            x = -1;
        table.panel_gemm[0]({c, 16, a, 1, b, 32, 16, 2, nullptr, false, false});
        for (float x : c)
            CHECK(float_to_bits(x) == 0);
    });
}

TEST_CASE("kernels gemm: subnormals and the largest numbers of the reduced types are exact") {
    test::for_each_table([&](const KernelTable& table) {
        if (!table.exact)
            return;
        for (uint32_t base = 0; base < 0x10000; base += 16) {
            uint16_t b[16];
            float f16[16], bf16[16], one = 1;
            for (uint32_t j = 0; j < 16; ++j)
                b[j] = static_cast<uint16_t>(base + j);
            table.panel_gemm[1]({f16, 16, &one, 1, b, 16, 16, 1, nullptr, false, false});
            table.panel_gemm[2]({bf16, 16, &one, 1, b, 16, 16, 1, nullptr, false, false});
            for (uint32_t j = 0; j < 16; ++j) {
                float want = f16_to_float(b[j]) + 0.0f;  // -0 is added to +0
                REQUIRE(test::same_bits(f16[j], want));
                want = bf16_to_float(b[j]) + 0.0f;
                bool subnormal = (b[j] & 0x7f80) == 0 && (b[j] & 0x7f) != 0;
                if (!test::kSubnormals && subnormal)
                    continue;
                REQUIRE(test::same_bits(bf16[j], want));
            }
        }
    });
}

TEST_CASE("kernels interleave: [m, k] becomes [k, m]") {
    Numbers numbers(4);
    test::for_each_table([&](const KernelTable& table) {
        for (size_t m = 1; m <= kMaxRowTile; ++m) {
            for (size_t k : {0, 1, 3, 4, 5, 7, 8, 9, 31, 64, 101}) {
                size_t ldx = k + numbers.below(9);
                Guarded<float> x(k == 0 ? 0 : (m - 1) * ldx + k, numbers.below(16));
                Guarded<float> y(m * k, numbers.below(16));
                x.fill(numbers);
                table.interleave(y.data(), x.data(), ldx, m, k);
                CHECK(y.intact());
                for (size_t i = 0; i < k; ++i) {
                    for (size_t j = 0; j < m; ++j) {
                        REQUIRE(test::same_bits(y[i * m + j], x[j * ldx + i]));
                    }
                }
            }
        }
    });
}
