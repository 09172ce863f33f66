// Each op at the shapes of GPT-2 124M.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "bench/bench.h"
#include "common/error.h"
#include "minigpt/machine_limits.h"
#include "minigpt/ops.h"

namespace minigpt::benchmarks {
namespace {

constexpr size_t kEmbd = 768, kHeads = 12, kHeadDim = 64, kRows = 512, kVocab = 50257;
constexpr size_t kReadBytes = size_t{256} << 20;

// Arrays of one measurement, 64-byte aligned, filled with small numbers.
class Arrays {
public:
    float* add(size_t n) {
        owned_.emplace_back(new float[n + 16]);
        float* p = owned_.back().get();
        while (reinterpret_cast<uintptr_t>(p) % 64 != 0)
            p++;
        for (size_t i = 0; i < n; i++)
            p[i] = static_cast<float>(i % 31) / 16 - 1;
        return p;
    }

private:
    std::vector<std::unique_ptr<float[]>> owned_;
};

double seconds_of(const std::function<void()>& f, size_t times) {
    auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < times; i++)
        f();
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    return taken.count() / static_cast<double>(times);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// Runs what is to be measured, and beside it what the machine can do, in turns.
class Bench {
public:
    Bench(const OpsOptions& options, const Compute& compute)
        : options_(options), compute_(compute), memory_(arrays_.add(kReadBytes / sizeof(float))) {}

    // flop, bytes: of one run of f; one of them may be 0.
    void measure(const char* name, double flop, double bytes, const std::function<void()>& f) {
        double once = std::max(seconds_of(f, 1), 1e-7);
        size_t times = static_cast<size_t>(std::min(options_.seconds / once, 1e6)) + 1;
        std::vector<double> seconds, peaks, reads;
        for (size_t i = 0; i < options_.repeats; i++) {
            double peak = 0, read = 0;
            tools::require(measure_fma(&peak, &compute_), "fma peak");
            tools::require(measure_read(&read, memory_, kReadBytes, &compute_), "read bandwidth");
            peaks.push_back(peak);
            reads.push_back(read);
            seconds.push_back(seconds_of(f, times));
        }
        double s = median(seconds);
        printf("%-32s %12.1f us", name, s * 1e6);
        if (flop > 0)
            printf(" %8.1f GFLOP/s %6.3f of peak", flop / s / 1e9, flop / s / median(peaks));
        if (bytes > 0)
            printf(" %8.1f GB/s %6.3f of reads", bytes / s / 1e9, bytes / s / median(reads));
        printf("\n");
    }

    // A product alone, without the limits: what peers print too.
    void print_gemm(size_t m, size_t n, size_t k, const std::function<void()>& f) {
        double once = std::max(seconds_of(f, 1), 1e-7);
        size_t times = static_cast<size_t>(options_.seconds / once) + 1;
        std::vector<double> seconds;
        for (size_t i = 0; i < options_.repeats; i++)
            seconds.push_back(seconds_of(f, times));
        double flop = 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
        printf("%zu %zu %zu %.2f\n", m, n, k, flop / median(seconds) / 1e9);
    }

    void gemms();
    void rows();
    void attentions();

private:
    const OpsOptions& options_;
    const Compute& compute_;
    Arrays arrays_;
    float* memory_;
};

void Bench::gemms() {
    // c_attn, c_proj, c_fc, the MLP's c_proj: [n_out, n_in].
    const size_t kShapes[][2] = {
        {3 * kEmbd, kEmbd}, {kEmbd, kEmbd}, {4 * kEmbd, kEmbd}, {kEmbd, 4 * kEmbd}};
    for (const auto& shape : kShapes) {
        size_t n = shape[0], k = shape[1];
        for (size_t m : {1, 6, 64, 512}) {
            Arrays arrays;
            float *a = arrays.add(m * k), *b = arrays.add(k * n), *c = arrays.add(m * n);
            size_t bytes = 0;
            tools::require(gemm_workspace_bytes(m, n, k, &bytes, &compute_), "gemm");
            void* workspace = arrays.add(bytes / sizeof(float) + 1);
            auto run = [&] {
                tools::require(gemm(c, n, a, k, Operand::plain, b, n, Operand::plain, m, n, k,
                                    false, workspace, bytes, &compute_),
                               "gemm");
            };
            if (options_.gemm_only) {
                print_gemm(m, n, k, run);
                continue;
            }
            char name[64];
            snprintf(name, sizeof name, "gemm %zu x %zu x %zu", m, n, k);
            double products =
                static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
            measure(name, 2 * products, 0, run);
        }
    }
}

void Bench::rows() {
    size_t n = kRows * kEmbd, wide = 4 * n, scores = kRows * kRows;
    Arrays arrays;
    float *x = arrays.add(wide), *y = arrays.add(wide), *w = arrays.add(kEmbd);
    auto bytes = [](size_t numbers) { return 2.0 * sizeof(float) * static_cast<double>(numbers); };
    measure("layernorm 512 x 768", 0, bytes(n), [&] {
        tools::require(layernorm(y, x, w, w, kRows, kEmbd, 1e-5f, &compute_), "layernorm");
    });
    measure("gelu_tanh 512 x 3072", 0, bytes(wide),
            [&] { tools::require(gelu(y, x, wide, Activation::gelu_tanh, &compute_), "gelu"); });
    measure("gelu_erf 512 x 3072", 0, bytes(wide),
            [&] { tools::require(gelu(y, x, wide, Activation::gelu_erf, &compute_), "gelu"); });
    measure("masked_softmax 512 x 512", 0, bytes(scores), [&] {
        tools::require(masked_softmax(y, x, kRows, kRows, kRows, 0, &compute_), "masked_softmax");
    });
    double ignored = 0;
    measure("log_prob 50257", 0, sizeof(float) * static_cast<double>(kVocab),
            [&] { tools::require(log_prob(&ignored, x, kVocab, 7, &compute_), "log_prob"); });
}

void Bench::attentions() {
    struct Shape {
        size_t n_rows, n_past;
    };
    for (Shape s : {Shape{512, 0}, Shape{64, 448}, Shape{1, 10}, Shape{1, 511}, Shape{1, 1023}}) {
        size_t keys = s.n_rows + s.n_past;
        Arrays arrays;
        float *q = arrays.add(s.n_rows * kEmbd), *out = arrays.add(s.n_rows * kEmbd);
        float *k = arrays.add(keys * kEmbd), *v = arrays.add(keys * kEmbd);
        size_t bytes = 0;
        tools::require(
            attention_workspace_bytes(s.n_rows, s.n_past, kHeads, kHeadDim, &bytes, &compute_),
            "attention");
        void* workspace = arrays.add(bytes / sizeof(float) + 1);
        char name[64];
        snprintf(name, sizeof name, "attention %zu after %zu", s.n_rows, s.n_past);
        double pairs = static_cast<double>(s.n_rows) * static_cast<double>(s.n_past) +
                       static_cast<double>(s.n_rows * (s.n_rows + 1) / 2);
        measure(name, 4 * pairs * kEmbd, 0, [&] {
            tools::require(attention(out, q, k, v, s.n_rows, s.n_past, kHeads, kHeadDim,
                                     1 / std::sqrt(static_cast<float>(kHeadDim)), nullptr,
                                     workspace, bytes, &compute_),
                           "attention");
        });
    }
}

}  // namespace

void run_ops(const OpsOptions& options, const Compute& compute) {
    Bench bench(options, compute);
    if (!options.gemm_only)
        printf("%zu threads, %s; medians of %zu\n", compute.n_threads(), compute.isa(),
               options.repeats);
    bench.gemms();
    if (options.gemm_only)
        return;
    bench.rows();
    bench.attentions();
}

}  // namespace minigpt::benchmarks
