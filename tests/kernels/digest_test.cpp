// The bits themselves, so that two machines agree and not only the tables of one.
#include "tests/kernels/support.h"

using namespace minigpt;
using test::Numbers;

namespace {

// FNV-1a over the bits, all NaN being one.
uint64_t digest(const std::vector<float>& x) {
    uint64_t hash = 14695981039346656037u;
    for (float f : x) {
        uint32_t bits = f != f ? 0x7fc00000 : float_to_bits(f);
        for (int i = 0; i < 4; ++i)
            hash = (hash ^ (bits >> 8 * i & 0xff)) * 1099511628211u;
    }
    return hash;
}

// Every kernel's output on inputs that any machine makes alike.
std::vector<float> outputs(const KernelTable& table) {
    Numbers numbers(61);
    const size_t n = 2000;
    std::vector<float> x(n), w(n), y(n), all;
    for (float& f : x)
        f = numbers.next(12);
    for (float& f : w)
        f = numbers.next();
    auto keep = [&](size_t count) { all.insert(all.end(), y.begin(), y.begin() + count); };
    for (auto f : {table.gelu_tanh, table.gelu_erf, table.exp, table.log, table.tanh, table.erf}) {
        f(y.data(), x.data(), n);
        keep(n);
    }
    table.layernorm(y.data(), x.data(), w.data(), w.data(), n, 1e-5f);
    keep(n);
    table.softmax(y.data(), x.data(), n - 3, 0.125f);
    keep(n - 3);
    all.push_back(table.maximum(x.data(), n));
    all.push_back(table.sum_exp(x.data(), n, 12));
    for (size_t m = 1; m <= kMaxRowTile; ++m) {  // m rows, three panels, 40 inputs
        table.panel_gemm[0]({y.data(), 48, x.data(), m, w.data(), 640 * sizeof(float), 45, 40,
                             w.data() + 7, false});
        for (size_t i = 0; i < m; ++i)
            all.insert(all.end(), &y[i * 48], &y[i * 48] + 45);
    }
    return all;
}

}  // namespace

TEST_CASE("kernels digest: the bits are those of every other machine") {
    test::for_each_table([&](const KernelTable& table) {
        if (!table.bit_exact)
            return;
        CHECK(digest(outputs(table)) == 7513096898619557508u);
    });
}
