// The public ops: against float64 within bounds from length and FLT_EPSILON, the same bits on
// every Compute, and every error.
#include "minigpt/ops.h"

#include <cfloat>

#include "tests/ops/support.h"

using namespace minigpt;
using test::Numbers;

namespace {

const float kInfinity = INFINITY;

struct Matrix {
    size_t rows, columns, ld;
    std::vector<float> data;
    Matrix(size_t rows_, size_t columns_, size_t gap, Numbers& numbers)
        : rows(rows_),
          columns(columns_),
          ld(columns_ + gap),
          data(test::random_floats(rows_ * (columns_ + gap), numbers)) {}
    float at(size_t i, size_t j) const { return data[i * ld + j]; }
};

void check_gemm(size_t m, size_t n, size_t k, bool turn_a, bool turn_b, bool accumulate,
                Numbers& numbers) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    Matrix a(turn_a ? k : m, turn_a ? m : k, 3, numbers);
    Matrix b(turn_b ? n : k, turn_b ? k : n, 1, numbers);
    Matrix start(m, n, 2, numbers);
    std::vector<float> firsts[2];
    test::for_each_compute([&](const Compute& compute) {
        std::vector<float>& first = firsts[compute.bit_exact()];
        std::vector<float> c = start.data;
        for (size_t i = 0; i < m && !accumulate; ++i) {
            for (size_t j = 0; j < n; ++j)
                c[i * start.ld + j] = NAN;  // never read
        }
        size_t bytes;
        REQUIRE(gemm_workspace_bytes(m, n, k, &bytes, &compute).ok());
        test::Memory workspace(bytes);
        REQUIRE(gemm(c.data(), start.ld, a.data.data(), a.ld,
                     turn_a ? Operand::transposed : Operand::plain, b.data.data(), b.ld,
                     turn_b ? Operand::transposed : Operand::plain, m, n, k, accumulate,
                     workspace.data(), bytes, &compute)
                    .ok());
        if (!first.empty()) {
            CHECK(test::first_difference(c.data(), first.data(), c.size()) == c.size());
            return;
        }
        first = c;
        for (size_t i = 0; i < m; ++i) {
            for (size_t j = n; j < start.ld; ++j) {
                CHECK(c[i * start.ld + j] == start.data[i * start.ld + j]);
            }
            for (size_t j = 0; j < n; ++j) {
                double truth = accumulate ? static_cast<double>(start.at(i, j)) : 0;
                double sizes = std::fabs(truth);
                for (size_t p = 0; p < k; ++p) {
                    double product = static_cast<double>(turn_a ? a.at(p, i) : a.at(i, p)) *
                                     static_cast<double>(turn_b ? b.at(j, p) : b.at(p, j));
                    truth += product;
                    sizes += std::fabs(product);
                }
                // A product that is rounded before it is added is one rounding more.
                size_t n_roundings = compute.bit_exact() ? k : k + 1;
                double bound = static_cast<double>(n_roundings) * FLT_EPSILON / 2 * sizes;
                REQUIRE(std::fabs(static_cast<double>(c[i * start.ld + j]) - truth) <= bound);
            }
        }
    });
}

}  // namespace

TEST_CASE("ops gemm: transposed, accumulating, at every edge, within its bound") {
    Numbers numbers(41);
    for (int flags = 0; flags < 8; ++flags) {
        bool turn_a = (flags & 1) != 0, turn_b = (flags & 2) != 0, accumulate = (flags & 4) != 0;
        for (size_t m : {0, 1, 6, 7, 13}) {
            for (size_t n : {0, 1, 15, 17, 48}) {
                for (size_t k : {0, 1, 31}) {
                    check_gemm(m, n, k, turn_a, turn_b, accumulate, numbers);
                }
            }
        }
        check_gemm(31, 41, 400, turn_a, turn_b, accumulate, numbers);
    }
}

TEST_CASE("ops gemm: blocks of m, n and k") {
    Numbers numbers(42);
    check_gemm(270, 9, 5, false, true, true, numbers);
    check_gemm(3, 530, 5, true, false, false, numbers);
    check_gemm(7, 5, 2100, false, false, false, numbers);
    check_gemm(2, 17, 4100, true, true, true, numbers);
}

TEST_CASE("ops gemm: sizes and workspaces that do not do are refused") {
    float x[64];
    test::Memory workspace(1 << 16);
    size_t huge = static_cast<size_t>(-1), bytes;
    auto call = [&](size_t m, size_t n, size_t k, size_t ldc, size_t lda, size_t ldb, void* at,
                    size_t size) {
        return gemm(x, ldc, x, lda, Operand::plain, x, ldb, Operand::plain, m, n, k, false, at,
                    size)
            .code();
    };
    REQUIRE(gemm_workspace_bytes(2, 3, 4, &bytes).ok());
    CHECK(call(2, 3, 4, 2, 4, 3, workspace.data(), bytes) == Code::bad_shape);
    CHECK(call(2, 3, 4, 3, 3, 3, workspace.data(), bytes) == Code::bad_shape);
    CHECK(call(2, 3, 4, 3, 4, 2, workspace.data(), bytes) == Code::bad_shape);
    CHECK(call(huge, 3, 4, 3, 4, 3, workspace.data(), bytes) == Code::bad_shape);
    CHECK(call(2, huge, 4, huge, 4, huge, workspace.data(), bytes) == Code::bad_shape);
    CHECK(call(2, 3, huge / 2, 3, huge / 2, 3, workspace.data(), bytes) == Code::bad_shape);
    CHECK(call(2, 3, 4, 3, 4, 3, workspace.data(), bytes - 1) == Code::bad_argument);
    CHECK(call(2, 3, 4, 3, 4, 3, nullptr, bytes) == Code::bad_argument);
    CHECK(call(2, 3, 4, 3, 4, 3, workspace.floats() + 1, bytes) == Code::bad_argument);
    CHECK(call(0, 3, 4, 3, 4, 3, nullptr, 0) == Code::ok);
    Status status =
        gemm(x, 3, x, 4, Operand::plain, x, 3, Operand::plain, 2, 3, 4, false, workspace.data(), 1);
    CHECK(std::string(status.message()).find("found 1") != std::string::npos);
    REQUIRE(gemm_workspace_bytes(huge, huge, huge, &bytes).ok());
    CHECK(bytes <= 7000000);
}

TEST_CASE("ops layernorm: within its bound of float64, any of w and b absent, in place") {
    Numbers numbers(43);
    for (size_t n : {1, 2, 15, 16, 17, 768, 1000}) {
        std::vector<float> x = test::random_floats(3 * n, numbers, 5);
        std::vector<float> w = test::random_floats(n, numbers), b = test::random_floats(n, numbers);
        for (float& f : x)
            f += 3;
        for (int have = 0; have < 4; ++have) {
            const float* with_w = have & 1 ? w.data() : nullptr;
            const float* with_b = have & 2 ? b.data() : nullptr;
            std::vector<float> y(x.size(), NAN), again = x;
            REQUIRE(layernorm(y.data(), x.data(), with_w, with_b, 3, n, 1e-5f).ok());
            REQUIRE(layernorm(again.data(), again.data(), with_w, with_b, 3, n, 1e-5f).ok());
            CHECK(test::first_difference(y.data(), again.data(), y.size()) == y.size());
            for (size_t i = 0; i < 3; ++i) {
                double mean = 0, var = 0;
                for (size_t j = 0; j < n; ++j)
                    mean += static_cast<double>(x[i * n + j]);
                mean /= static_cast<double>(n);
                for (size_t j = 0; j < n; ++j) {
                    double d = static_cast<double>(x[i * n + j]) - mean;
                    var += d * d;
                }
                var /= static_cast<double>(n);
                double inverse = 1 / std::sqrt(var + static_cast<double>(1e-5f));
                for (size_t j = 0; j < n; ++j) {
                    double t = (static_cast<double>(x[i * n + j]) - mean) * inverse;
                    if (with_w)
                        t *= static_cast<double>(w[j]);
                    if (with_b)
                        t += static_cast<double>(b[j]);
                    // The mean of numbers up to 8 is off by their lanes' length in roundings.
                    double lane = static_cast<double>(n) / 16 + 8;
                    double bound = (lane + 8) * FLT_EPSILON * (8 * inverse + std::fabs(t) + 1);
                    REQUIRE(std::fabs(static_cast<double>(y[i * n + j]) - t) <= bound);
                }
            }
        }
    }
    float one = 1;
    CHECK(layernorm(&one, &one, nullptr, nullptr, 1, 0, 1e-5f).code() == Code::bad_shape);
    CHECK(layernorm(&one, &one, nullptr, nullptr, 1, 1, 0).code() == Code::bad_argument);
    CHECK(layernorm(&one, &one, nullptr, nullptr, 1, 1, NAN).code() == Code::bad_argument);
    CHECK(layernorm(&one, &one, nullptr, nullptr, static_cast<size_t>(-1), 2, 1).code() ==
          Code::bad_shape);
    CHECK(layernorm(nullptr, nullptr, nullptr, nullptr, 0, 4, 1e-5f).ok());
}

TEST_CASE("ops softmax: masked rows and extreme scores") {
    test::for_each_compute([&](const Compute& compute) {
        float p[4];
        auto row = [&](std::vector<float> scores) {
            size_t n = scores.size();
            REQUIRE(masked_softmax(p, scores.data(), 1, n, n, n, &compute).ok());
        };
        row({-kInfinity, -kInfinity});
        CHECK(p[0] == 0.0f);
        CHECK(p[1] == 0.0f);
        row({-1e4f, -1e4f});
        CHECK(p[0] == 0.5f);
        CHECK(p[1] == 0.5f);
        row({-FLT_MAX, -FLT_MAX});
        CHECK(p[0] == 0.5f);
        row({FLT_MAX, -FLT_MAX});
        CHECK(p[0] == 1.0f);
        CHECK(p[1] == 0.0f);
        row({-kInfinity, -20000.0f, -kInfinity});
        CHECK(p[0] == 0.0f);
        CHECK(p[1] == 1.0f);
        CHECK(p[2] == 0.0f);
        row({0, -64, -64.001f});
        CHECK(p[1] > 0.0f);
        CHECK(p[2] == 0.0f);
        row({0, NAN});
        CHECK(std::isnan(p[0]));
        CHECK(std::isnan(p[1]));
        row({0, kInfinity});
        CHECK(std::isnan(p[0]));
        row({-kInfinity, NAN});
        CHECK(std::isnan(p[1]));
    });
}

TEST_CASE("ops softmax: row i sees keys j <= n_past + i, the rest is 0 and never read") {
    Numbers numbers(44);
    for (size_t n_past : {0, 1, 3, 17}) {
        const size_t n_rows = 6, n_keys = 9, ld = 11;
        std::vector<float> scores = test::random_floats(n_rows * ld, numbers, 3);
        for (size_t i = 0; i < n_rows; ++i) {
            for (size_t j = n_past + i + 1; j < n_keys; ++j)
                scores[i * ld + j] = NAN;
        }
        std::vector<float> firsts[2];
        test::for_each_compute([&](const Compute& compute) {
            std::vector<float>& first = firsts[compute.bit_exact()];
            std::vector<float> p = scores;
            REQUIRE(masked_softmax(p.data(), p.data(), n_rows, n_keys, ld, n_past, &compute).ok());
            for (size_t i = 0; i < n_rows; ++i) {
                double sum = 0;
                for (size_t j = 0; j < n_keys && j <= n_past + i; ++j) {
                    sum += std::exp(static_cast<double>(scores[i * ld + j]));
                }
                for (size_t j = 0; j < n_keys; ++j) {
                    double truth = std::exp(static_cast<double>(scores[i * ld + j])) / sum;
                    if (j > n_past + i)
                        truth = 0;
                    double found = static_cast<double>(p[i * ld + j]);
                    CHECK(std::fabs(found - truth) <= truth * 12 * FLT_EPSILON);
                }
                for (size_t j = n_keys; j < ld; ++j)
                    CHECK(p[i * ld + j] == scores[i * ld + j]);
            }
            if (first.empty())
                first = p;
            CHECK(test::first_difference(p.data(), first.data(), p.size()) == p.size());
        });
    }
    float x = 5;
    CHECK(masked_softmax(&x, &x, 1, 1, 0, 0).code() == Code::bad_shape);
    CHECK(masked_softmax(&x, &x, static_cast<size_t>(-1), 2, 2, 0).code() == Code::bad_shape);
    CHECK(masked_softmax(&x, &x, 0, 1, 1, 0).ok());
    CHECK(x == 5);
    REQUIRE(masked_softmax(&x, &x, 1, 1, 1, static_cast<size_t>(-1)).ok());
    CHECK(x == 1);
}

TEST_CASE("ops attention: float64's within a bound, probs are rows of 1, a split changes no bit") {
    Numbers numbers(45);
    const size_t n = 33, n_head = 3, head_dim = 20, width = n_head * head_dim;
    std::vector<float> q = test::random_floats(n * width, numbers, 2);
    std::vector<float> k = test::random_floats(n * width, numbers, 2);
    std::vector<float> v = test::random_floats(n * width, numbers);
    std::vector<float> firsts[2];
    test::for_each_compute([&](const Compute& compute) {
        std::vector<float>& first = firsts[compute.bit_exact()];
        size_t bytes;
        REQUIRE(attention_workspace_bytes(n, 0, n_head, head_dim, &bytes, &compute).ok());
        test::Memory workspace(bytes);
        std::vector<float> out(n * width, NAN), probs(n_head * n * n, NAN), last(8 * width, NAN);
        REQUIRE(attention(out.data(), q.data(), k.data(), v.data(), n, 0, n_head, head_dim, 0.25f,
                          probs.data(), workspace.data(), bytes, &compute)
                    .ok());
        REQUIRE(attention(last.data(), q.data() + 25 * width, k.data(), v.data(), 8, 25, n_head,
                          head_dim, 0.25f, nullptr, workspace.data(), bytes, &compute)
                    .ok());
        CHECK(test::first_difference(last.data(), out.data() + 25 * width, 8 * width) == 8 * width);
        if (!first.empty()) {
            CHECK(test::first_difference(out.data(), first.data(), out.size()) == out.size());
            return;
        }
        first = out;
        for (size_t h = 0; h < n_head; ++h) {
            for (size_t i = 0; i < n; ++i) {
                double p[n], sum = 0, total = 0;
                for (size_t j = 0; j <= i; ++j) {
                    double score = 0;
                    for (size_t e = 0; e < head_dim; ++e) {
                        score += static_cast<double>(q[i * width + h * head_dim + e]) *
                                 static_cast<double>(k[j * width + h * head_dim + e]);
                    }
                    sum += p[j] = std::exp(score * 0.25);
                }
                // Scores are sums of 20 products up to 4, times 1/4: that much goes into exp.
                const double bound = (20 * 20 + 16) * FLT_EPSILON;
                for (size_t j = 0; j < n; ++j) {
                    double found = static_cast<double>(probs[(h * n + i) * n + j]);
                    double truth = j <= i ? p[j] / sum : 0;
                    total += found;
                    REQUIRE(std::fabs(found - truth) <= bound * truth);
                }
                CHECK(std::fabs(total - 1) <= 40 * FLT_EPSILON);
                for (size_t e = 0; e < head_dim; ++e) {
                    double truth = 0;
                    for (size_t j = 0; j <= i; ++j) {
                        truth += p[j] / sum * static_cast<double>(v[j * width + h * head_dim + e]);
                    }
                    double found = static_cast<double>(out[i * width + h * head_dim + e]);
                    REQUIRE(std::fabs(found - truth) <= bound + 33 * FLT_EPSILON);
                }
            }
        }
    });
}

TEST_CASE("ops attention: sizes and workspaces that do not do are refused") {
    float x[16] = {};
    size_t huge = static_cast<size_t>(-1), bytes;
    CHECK(attention_workspace_bytes(huge, 1, 1, 1, &bytes).code() == Code::bad_shape);
    CHECK(attention_workspace_bytes(huge / 64, 0, 8, 8, &bytes).code() == Code::bad_shape);
    CHECK(attention_workspace_bytes(2, 2, huge, 2, &bytes).code() == Code::bad_shape);
    CHECK(attention_workspace_bytes(2, 2, 2, huge, &bytes).code() == Code::bad_shape);
    REQUIRE(attention_workspace_bytes(0, 0, 2, 2, &bytes).ok());
    CHECK(bytes == 0);
    CHECK(attention(nullptr, nullptr, nullptr, nullptr, 0, 0, 2, 2, 1, nullptr, nullptr, 0).ok());
    REQUIRE(attention_workspace_bytes(1, 0, 2, 2, &bytes).ok());
    test::Memory workspace(bytes);
    CHECK(attention(x, x, x, x, 1, 0, 2, 2, 1, nullptr, workspace.data(), bytes - 1).code() ==
          Code::bad_argument);
    CHECK(attention(x, x, x, x, 1, 0, 2, 2, 1, nullptr, workspace.floats() + 1, bytes).code() ==
          Code::bad_argument);
}

TEST_CASE("ops masked_softmax: writes its rows' columns and no others, at every n_past") {
    const size_t n_rows = 6, n_keys = 9, ld = 10;
    for (size_t n_past = 0; n_past <= 12; n_past++) {
        CAPTURE(n_past);
        std::vector<float> scores(n_rows * ld, 1.0f), probs(n_rows * ld, -7.0f);
        REQUIRE(masked_softmax(probs.data(), scores.data(), n_rows, n_keys, ld, n_past).ok());
        for (size_t i = 0; i < n_rows; ++i) {
            const size_t visible = std::min(n_keys, n_past + i + 1);
            size_t n_wrong = 0;
            for (size_t j = 0; j < n_keys; ++j) {
                float p = probs[i * ld + j];
                n_wrong +=
                    j < visible ? std::fabs(p * static_cast<float>(visible) - 1) > 1e-6f : p != 0;
            }
            CHECK(n_wrong == 0);
            CHECK(probs[i * ld + n_keys] == -7.0f);
        }
    }
}

TEST_CASE("ops log_prob: float64's within its bound, and the same on every Compute") {
    Numbers numbers(46);
    for (size_t n : {1, 2, 17, 50257}) {
        std::vector<float> logits = test::random_floats(n, numbers, 20);
        double sum = 0;
        for (float l : logits)
            sum += std::exp(static_cast<double>(l));
        for (size_t id : {size_t{0}, n / 2, n - 1}) {
            double truth = static_cast<double>(logits[id]) - std::log(sum), firsts[2] = {};
            test::for_each_compute([&](const Compute& compute) {
                double found, &first = firsts[compute.bit_exact()];
                REQUIRE(
                    log_prob(&found, logits.data(), n, static_cast<int32_t>(id), &compute).ok());
                CHECK(std::fabs(found - truth) <= static_cast<double>(n) / 16 * FLT_EPSILON + 1e-6);
                if (first == 0)
                    first = found;
                CHECK(found == first);
            });
        }
    }
}

TEST_CASE("ops log_prob: infinities, NaN and ids outside") {
    double result;
    float some[3] = {-kInfinity, 0, 0}, none[2] = {-kInfinity, -kInfinity}, bad[2] = {0, NAN};
    REQUIRE(log_prob(&result, some, 3, 0).ok());
    CHECK(result == -INFINITY);
    REQUIRE(log_prob(&result, some, 3, 1).ok());
    CHECK(std::fabs(result + std::log(2.0)) < 1e-7);
    REQUIRE(log_prob(&result, none, 2, 0).ok());
    CHECK(result == -INFINITY);
    REQUIRE(log_prob(&result, bad, 2, 0).ok());
    CHECK(std::isnan(result));
    CHECK(log_prob(&result, some, 3, 3).code() == Code::bad_id);
    CHECK(log_prob(&result, some, 3, -1).code() == Code::bad_id);
    Status empty = log_prob(&result, some, 0, 0);
    CHECK(empty.code() == Code::bad_id);
    CHECK(std::string(empty.message()) == "id: found 0; there are no logits");
}

TEST_CASE("ops elementwise: the kernels' bits for any number of threads; in place; refusals") {
    Numbers numbers(47);
    const size_t n = 40003;
    std::vector<float> x = test::random_floats(n, numbers, 9);
    using Each = Status (*)(float*, const float*, size_t, const Compute*);
    const Each each[] = {exp_each,
                         log_each,
                         tanh_each,
                         erf_each,
                         [](float* y, const float* from, size_t count, const Compute* compute) {
                             return gelu(y, from, count, Activation::gelu_erf, compute);
                         },
                         [](float* y, const float* from, size_t count, const Compute* compute) {
                             return gelu(y, from, count, Activation::gelu_tanh, compute);
                         }};
    for (Each f : each) {
        std::vector<float> firsts[2];
        test::for_each_compute([&](const Compute& compute) {
            std::vector<float>& first = firsts[compute.bit_exact()];
            std::vector<float> y = x;
            REQUIRE(f(y.data(), y.data(), n, &compute).ok());
            if (first.empty()) {
                first.resize(n);
                REQUIRE(f(first.data(), x.data(), n, &compute).ok());
            }
            CHECK(test::first_difference(y.data(), first.data(), n) == n);
        });
        CHECK(f(nullptr, nullptr, 0, nullptr).ok());
        CHECK(f(nullptr, nullptr, static_cast<size_t>(-1), nullptr).code() == Code::bad_shape);
    }
    CHECK(gelu(x.data(), x.data(), 1, static_cast<Activation>(2)).code() == Code::bad_argument);
}

TEST_CASE("ops run_units: every unit once, on threads of the Compute, which may run ops") {
    test::for_each_compute([](const Compute& compute) {
        for (size_t n : {0, 1, 2, 50}) {
            struct Seen {
                size_t n_threads;
                std::vector<float> times, thread;
            } seen = {compute.n_threads(), std::vector<float>(n), std::vector<float>(n)};
            run_units(
                compute, n,
                [](void* context, size_t unit, size_t thread) {
                    Seen& all = *static_cast<Seen*>(context);
                    float zero = 0, one;
                    all.times[unit] += exp_each(&one, &zero, 1).ok() ? one : 2;
                    all.thread[unit] = static_cast<float>(thread);
                },
                &seen);
            for (size_t i = 0; i < n; ++i) {
                CHECK(seen.times[i] == 1);
                CHECK(seen.thread[i] < static_cast<float>(seen.n_threads));
            }
        }
    });
}
