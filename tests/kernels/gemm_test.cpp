// Each table's products against the scalar reference, and the reference against its definition; a
// table that multiplies and adds against a definition that does.
#include "tests/element_types.h"
#include "tests/kernels/support.h"

using namespace minigpt;
using test::Guarded;
using test::Numbers;

namespace {

// Bytes of an element; of what strides count where elements are grouped.
constexpr size_t kElementBytes[kElementTypeCount] = {4, 2, 2, 1, 1};
const std::string type_names[] = {"f32", "f16", "bf16", "q8", "q4"};

size_t groups(size_t k) {
    return (k + kGroup - 1) / kGroup;
}

// From one panel to the next without a gap.
size_t panel_bytes(size_t type, size_t k) {
    if (type == kQ8)
        return groups(k) * kQ8GroupBytes;
    return type == kQ4 ? groups(k) * kQ4GroupBytes : k * 16 * kElementBytes[type];
}

// A product with operands in guarded, oddly aligned buffers. Weights are random bytes: nothing
// that a kernel may not use is a number.
struct Problem {
    size_t m, n, k, type, ldc, stride;
    bool accumulate, with_bias;
    Guarded<float> bias, c_start;
    Guarded<unsigned char> b;
    Guarded<uint32_t> a;

    Problem(size_t m_, size_t n_, size_t k_, size_t type_, bool accumulate_, bool with_bias_,
            Numbers& numbers)
        : m(m_),
          n(n_),
          k(k_),
          type(type_),
          ldc(n_ + numbers.below(5)),
          stride(panel_bytes(type, k) + numbers.below(20) * (type == 0 ? 4 : 2)),
          accumulate(accumulate_),
          with_bias(with_bias_),
          bias(n_, numbers.below(16)),
          c_start(m_ * ldc),
          b(n == 0 ? 0 : (n - 1) / 16 * stride + panel_bytes(type, k),
            type == 0 ? 4 * numbers.below(4) : 2 * numbers.below(8)),
          a(type == kQ4 ? groups(k) * m * kQuantizedBytes / 4 : m * k, numbers.below(16)) {
        bias.fill(numbers);
        c_start.fill(numbers);
        fill_b(numbers);
        for (size_t i = 0; i < a.size(); ++i)
            a[i] = float_to_bits(numbers.next());
        if (type == kQ4)
            fill_quantized(numbers);
    }

    // Where element [kk, j] lies, and of q8 and q4 its scale.
    unsigned char* at(size_t kk, size_t j) {
        if (type == kQ8) {
            return group(kk, j) + kQ8Scales + kk % 32 * 16 + j % 16;
        } else if (type == kQ4) {
            return group(kk, j) + kQ4Scales + kk % 16 / 4 * 64 + j % 16 * 4 + kk % 4;
        }
        return b.data() + j / 16 * stride + (kk * 16 + j % 16) * kElementBytes[type];
    }
    unsigned char* group(size_t kk, size_t j) {
        return b.data() + j / 16 * stride + kk / 32 * (type == kQ8 ? kQ8GroupBytes : kQ4GroupBytes);
    }
    unsigned char* scale(size_t kk, size_t j) { return group(kk, j) + j % 16 * 2; }

    // What is between panels, and in the last one's padding, stays NaN.
    void fill_b(Numbers& numbers) {
        bool extreme = numbers.below(2) == 0;
        for (size_t j = 0; j < n; ++j) {
            for (size_t kk = 0; kk < k; ++kk) {
                float x = numbers.below(16) == 0 ? 0 : numbers.next();
                uint16_t half = type == 2 ? float_to_bf16(x) : float_to_f16(x);
                if (type >= kQ8 && kk % 32 == 0)
                    memcpy(scale(kk, j), &half, 2);
                if (type == 0) {
                    memcpy(at(kk, j), &x, 4);
                } else if (type == kQ8) {
                    *at(kk, j) = static_cast<unsigned char>(numbers.below(255) - 127);
                } else if (type == kQ4) {
                    unsigned char* byte = at(kk, j);
                    int value =
                        static_cast<int>(extreme ? numbers.below(2) * 15 : numbers.below(16));
                    int other = kk % 32 < 16 ? *byte & 0xf0 : *byte & 15;
                    *byte = static_cast<unsigned char>(kk % 32 < 16 ? other | value
                                                                    : other | value << 4);
                } else {
                    memcpy(at(kk, j), &half, 2);
                }
            }
        }
    }

    unsigned char* a_group(size_t g) {
        return reinterpret_cast<unsigned char*>(a.data()) + g * m * kQuantizedBytes;
    }
    int8_t q_at(size_t i, size_t kk) {
        return static_cast<int8_t>(a_group(kk / 32)[i * 32 + kk % 32]);
    }
    float scale_a(size_t i, size_t kk) {
        float f;
        memcpy(&f, a_group(kk / 32) + m * 32 + i * 4, 4);
        return f;
    }

    // Quantized rows. Some are extreme in every place, in one sign or both.
    void fill_quantized(Numbers& numbers) {
        for (size_t g = 0; g < groups(k); ++g) {
            for (size_t i = 0; i < m; ++i) {
                int sum = 0;
                size_t kind = numbers.below(4);
                for (size_t e = 0; e < 32; ++e) {
                    int q = static_cast<int>(numbers.below(255)) - 127;
                    if (kind == 0)
                        q = 127;
                    if (kind == 1)
                        q = -127;
                    if (kind == 2)
                        q = q < 0 ? -127 : 127;
                    if (g * 32 + e >= k)
                        q = 0;
                    sum += q;
                    a_group(g)[i * 32 + e] = static_cast<unsigned char>(q);
                }
                float f = numbers.next();
                int16_t pair[2] = {static_cast<int16_t>(-4 * sum), static_cast<int16_t>(-4 * sum)};
                memcpy(a_group(g) + m * 32 + i * 4, &f, 4);
                memcpy(a_group(g) + m * 36 + i * 4, pair, 4);
            }
        }
    }

    float half_at(const unsigned char* p) {
        uint16_t half;
        memcpy(&half, p, 2);
        return type == 2 ? bf16_to_float(half) : f16_to_float(half);
    }
    float b_at(size_t kk, size_t j) {
        if (type == kQ8)
            return static_cast<float>(static_cast<int8_t>(*at(kk, j))) * half_at(scale(kk, j));
        if (type != 0)
            return half_at(at(kk, j));
        float x;
        memcpy(&x, at(kk, j), 4);
        return x;
    }

    // The definition: one multiply-add of the table's after another, of products or of groups.
    float sum(const KernelTable& table, size_t i, size_t j) {
        float acc = accumulate ? c_start[i * ldc + j] : 0.0f;
        for (size_t kk = 0; type != kQ4 && kk < k; ++kk)
            acc = test::multiply_add(table, bits_to_float(a[kk * m + i]), b_at(kk, j), acc);
        for (size_t kk = 0; type == kQ4 && kk < k; kk += 32) {
            int whole = 0;
            for (size_t e = kk; e < kk + 32 && e < k; ++e) {
                int byte = *at(e, j);
                whole += ((e % 32 < 16 ? byte & 15 : byte >> 4) - 8) * q_at(i, e);
            }
            float both = scale_a(i, kk) * half_at(scale(kk, j));
            acc = test::multiply_add(table, static_cast<float>(whole), both, acc);
        }
        return with_bias ? acc + bias[j] : acc;
    }

    // What the table has to give, with whatever stands between c's rows.
    std::vector<float> truth(const KernelTable& table) {
        std::vector<float> c(m == 0 ? 0 : (m - 1) * ldc + n);
        for (size_t i = 0; i < c.size(); ++i)
            c[i] = i % ldc < n ? sum(table, i / ldc, i % ldc) : c_start[i];
        return c;
    }

    PanelGemm operands(float* c) {
        return {
            c,         ldc, a.data(), m, b.data(), stride, n, k, with_bias ? bias.data() : nullptr,
            accumulate};
    }

    // c, with whatever stood between its rows.
    std::vector<float> run(const KernelTable& table, bool reads_on = false) {
        Guarded<float> c(m == 0 ? 0 : (m - 1) * ldc + n, 3);
        for (size_t i = 0; i < c.size(); ++i) {
            c[i] = accumulate || i % ldc >= n ? c_start[i] : NAN;  // an overwritten c is not read
        }
        PanelGemm g = operands(c.data());
        if (reads_on) {  // from inside b to past its end
            g.next = b.data() + b.size() / 2;
            g.next_bytes = b.size();
        }
        table.panel_gemm[type](g);
        CHECK(c.intact());
        for (size_t i = 0; i < c.size(); ++i) {
            if (i % ldc >= n)
                CHECK(test::same_bits(c[i], c_start[i]));
        }
        return std::vector<float>(c.data(), c.data() + c.size());
    }
};

void compare(size_t m, size_t n, size_t k, Numbers& numbers) {
    for (ElementType each : test::computed()) {
        const size_t type = static_cast<size_t>(each);
        Problem p(m, n, k, type, numbers.below(2) == 0, numbers.below(2) == 0, numbers);
        const std::vector<float> reference = p.run(test::scalar());
        test::for_each_table([&](const KernelTable& table) {
            std::vector<float> truth = table.bit_exact ? reference : p.truth(table);
            CAPTURE(type_names[type]);
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            for (bool reads_on : {false, true}) {
                std::vector<float> found = p.run(table, reads_on);
                CHECK(test::first_difference(found.data(), truth.data(), truth.size()) ==
                      truth.size());
            }
        });
    }
}

}  // namespace

TEST_CASE("kernels gemm: the reference is one fma after another, upwards, then the bias") {
    Numbers numbers(1);
    for (ElementType each : test::computed()) {
        const size_t type = static_cast<size_t>(each);
        for (bool accumulate : {false, true}) {
            for (bool with_bias : {false, true}) {
                Problem p(5, 37, 77, type, accumulate, with_bias, numbers);
                std::vector<float> c = p.run(test::scalar());
                for (size_t i = 0; i < p.m; ++i) {
                    for (size_t j = 0; j < p.n; ++j)
                        CHECK(test::same_bits(c[i * p.ldc + j], p.sum(test::scalar(), i, j)));
                }
            }
        }
    }
}

TEST_CASE("kernels gemm: every table has the definition's bits at every edge") {
    Numbers numbers(2);
    for (size_t m = 1; m <= kMaxRowTile; ++m) {
        for (size_t n : {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 79, 129}) {
            for (size_t k : {0, 1, 2, 3, 7, 8, 17, 31, 32, 33, 48, 64})
                compare(m, n, k, numbers);
        }
    }
}

TEST_CASE("kernels gemm: every table has the definition's bits at the model's shapes") {
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
        table.panel_gemm[0]({c, 16, a, 1, b, 32 * sizeof(float), 16, 2, nullptr, false});
        for (float x : c)
            CHECK(float_to_bits(x) == 0);
    });
}

TEST_CASE("kernels gemm: subnormals and the largest numbers of the reduced types are exact") {
    if (test::computed({ElementType::f16, ElementType::bf16}).size() < 2)
        return;
    test::for_each_table([&](const KernelTable& table) {
        for (uint32_t base = 0; base < 0x10000; base += 16) {
            uint16_t b[16];
            float f16[16], bf16[16], one = 1;
            for (uint32_t j = 0; j < 16; ++j)
                b[j] = static_cast<uint16_t>(base + j);
            table.panel_gemm[1]({f16, 16, &one, 1, b, sizeof b, 16, 1, nullptr, false});
            table.panel_gemm[2]({bf16, 16, &one, 1, b, sizeof b, 16, 1, nullptr, false});
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

TEST_CASE("kernels gemm: panels whose outputs lie apart have the bits of neighbours") {
    Numbers numbers(7);
    for (ElementType each : test::computed()) {
        const size_t type = static_cast<size_t>(each);
        for (size_t m = 1; m <= kMaxRowTile; ++m) {
            for (size_t n : {17, 53, 64, 144}) {
                Problem p(m, n, 40, type, numbers.below(2) == 0, false, numbers);
                test::for_each_table([&](const KernelTable& table) {
                    std::vector<float> truth = p.run(table);
                    // c and the bias with 5 numbers behind each panel's.
                    size_t apart = 21, ldc = n / 16 * apart + n % 16;
                    Guarded<float> c(m * ldc, 3), bias(ldc, 5);
                    auto place = [&](size_t j) { return j / 16 * apart + j % 16; };
                    for (size_t i = 0; i < c.size(); ++i)
                        c[i] = NAN;
                    for (size_t j = 0; j < n; ++j) {
                        bias[place(j)] = p.bias[j];
                        for (size_t i = 0; i < m; ++i)
                            c[i * ldc + place(j)] = p.c_start[i * p.ldc + j];
                    }
                    PanelGemm g = p.operands(c.data());
                    g.ldc = ldc;
                    g.apart = apart;
                    g.bias = bias.data();
                    table.panel_gemm[type](g);
                    CHECK(c.intact());
                    for (size_t i = 0; i < m; ++i) {
                        size_t at = 0;
                        for (size_t j = 0; j < n; ++at) {
                            if (at != place(j)) {
                                REQUIRE(std::isnan(c[i * ldc + at]));
                                continue;
                            }
                            float want = truth[i * p.ldc + j] + p.bias[j];
                            REQUIRE(test::same_bits(c[i * ldc + at], want));
                            j++;
                        }
                    }
                });
            }
        }
    }
}

TEST_CASE("kernels widen_q8: a panel becomes f32, exactly") {
    if (test::computed({ElementType::q8}).empty())
        return;
    Numbers numbers(5);
    for (size_t k : {0, 1, 7, 31, 32, 33, 100}) {
        Problem p(1, 16, k, kQ8, false, false, numbers);
        test::for_each_table([&](const KernelTable& table) {
            Guarded<float> y(k * 16, numbers.below(16));
            table.widen_q8(y.data(), p.b.data(), k);
            CHECK(y.intact());
            for (size_t i = 0; i < k * 16; ++i)
                REQUIRE(test::same_bits(y[i], p.b_at(i / 16, i % 16)));
        });
    }
}

// The definition in plain words, of a row's group.
static void quantize_one(std::vector<int>& q, float& scale, const float* x, size_t n, bool fused) {
    q.assign(32, 0);
    float largest = 0;
    bool finite = true;
    for (size_t i = 0; i < n; ++i) {
        finite = finite && std::isfinite(x[i]);
        largest = std::fmax(largest, std::fabs(x[i]));
    }
    scale = finite ? 0 : NAN;
    if (!finite || largest < std::ldexp(1.0f, -80))
        return;
    scale = largest / 127.0f;
    float inverse = 127.0f / largest;
    for (size_t i = 0; i < n; ++i) {  // exact in double, then to the nearest even
        double product = static_cast<double>(x[i]) * inverse;
        q[i] = static_cast<int>(std::nearbyint(fused ? product : static_cast<float>(product)));
    }
}

TEST_CASE("kernels quantize: rows are int8 times their group's largest magnitude / 127") {
    Numbers numbers(6);
    for (size_t m = 1; m <= kMaxRowTile; ++m) {
        for (size_t k : {0, 1, 5, 16, 31, 32, 33, 40, 64, 101}) {
            size_t ldx = k + numbers.below(9), n_groups = groups(k);
            Guarded<float> x(k == 0 ? 0 : (m - 1) * ldx + k, numbers.below(16));
            for (size_t i = 0; i < x.size(); ++i) {
                // Magnitudes from far below 2^-80 up to the largest there are, by group.
                int exponent = static_cast<int>(i % ldx / 32 * 61 + i / ldx * 37) % 250 - 123;
                x[i] = std::ldexp(numbers.next(), exponent);
                if (numbers.below(300) == 0)
                    x[i] = numbers.below(2) == 0 ? NAN : -INFINITY;
                if (numbers.below(20) == 0)
                    x[i] = numbers.below(2) == 0 ? std::ldexp(1.0f, exponent) : 0.0f;
            }
            test::for_each_table([&](const KernelTable& table) {
                Guarded<uint32_t> y(n_groups * m * kQuantizedBytes / 4, numbers.below(16));
                table.quantize(y.data(), x.data(), ldx, m, k);
                CHECK(y.intact());
                for (size_t g = 0; g < n_groups; ++g) {
                    const char* to =
                        reinterpret_cast<const char*>(y.data()) + g * m * kQuantizedBytes;
                    for (size_t i = 0; i < m; ++i) {
                        std::vector<int> q;
                        float scale, found_scale;
                        size_t n = k - g * 32 < 32 ? k - g * 32 : 32;
                        quantize_one(q, scale, x.data() + i * ldx + g * 32, n, table.bit_exact);
                        int sum = 0;
                        for (size_t e = 0; e < 32; ++e) {
                            REQUIRE(static_cast<int8_t>(to[i * 32 + e]) == q[e]);
                            sum += q[e];
                        }
                        int16_t minus_4[2];
                        memcpy(&found_scale, to + m * 32 + i * 4, 4);
                        memcpy(minus_4, to + m * 36 + i * 4, 4);
                        REQUIRE(test::same_bits(found_scale, scale));
                        REQUIRE(minus_4[0] == -4 * sum);
                        REQUIRE(minus_4[1] == -4 * sum);
                    }
                }
            });
        }
    }
}

TEST_CASE("kernels quantize: a group of 2^-80 is quantized, one of less is zeros") {
    const float least = std::ldexp(1.0f, -80);
    test::for_each_table([&](const KernelTable& table) {
        for (float largest : {least, -least, std::nextafter(least, 0.0f)}) {
            const bool is_zero = std::fabs(largest) < least;
            float x[32] = {}, scale;
            x[7] = largest;
            uint32_t y[kQuantizedBytes / 4];
            table.quantize(y, x, 32, 1, 32);
            const int8_t* q = reinterpret_cast<const int8_t*>(y);
            memcpy(&scale, q + 32, 4);
            CHECK(q[7] == (is_zero ? 0 : largest < 0 ? -127 : 127));
            CHECK(scale == (is_zero ? 0 : least / 127));
        }
    });
}

TEST_CASE("kernels quantize: what is not finite makes every output of q4 NaN") {
    if (test::computed({ElementType::q4}).empty())
        return;
    test::for_each_table([&](const KernelTable& table) {
        float x[64], c[16];
        unsigned char b[2 * kQ4GroupBytes] = {};
        uint32_t a[2 * kQuantizedBytes / 4];
        for (float bad : {NAN, INFINITY, -INFINITY}) {
            for (float& f : x)
                f = 1;
            x[40] = bad;
            table.quantize(a, x, 64, 1, 64);
            table.panel_gemm[kQ4]({c, 16, a, 1, b, sizeof b, 16, 64, nullptr, false});
            for (float f : c)
                CHECK(std::isnan(f));
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
