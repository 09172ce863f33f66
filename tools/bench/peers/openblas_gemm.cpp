// OpenBLAS at the shapes of `bench ops --gemm`: lines of "m n k GFLOP/s". Needs -lopenblas.
#include <chrono>
#include <cstdio>
#include <vector>

// The CBLAS interface: row-major 101, not transposed 111.
extern "C" void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                            const float* a, int lda, const float* b, int ldb, float beta, float* c,
                            int ldc);

int main() {
    using Clock = std::chrono::steady_clock;
    const int kShapes[][2] = {{2304, 768}, {768, 768}, {3072, 768}, {768, 3072}};
    for (const auto& shape : kShapes) {
        int n = shape[0], k = shape[1];
        for (int m : {1, 6, 64, 512}) {
            std::vector<float> a(static_cast<size_t>(m) * k, 0.5f);
            std::vector<float> b(static_cast<size_t>(k) * n, 0.25f);
            std::vector<float> c(static_cast<size_t>(m) * n);
            auto run = [&] {
                cblas_sgemm(101, 111, 111, m, n, k, 1, a.data(), k, b.data(), n, 0, c.data(), n);
            };
            run();
            int times = 0;
            auto begin = Clock::now();
            std::chrono::duration<double> taken{};
            do {
                run();
                times++;
                taken = Clock::now() - begin;
            } while (taken.count() < 0.05);
            printf("%d %d %d %.2f\n", m, n, k, 2.0 * m * n * k * times / taken.count() / 1e9);
        }
    }
    return 0;
}
