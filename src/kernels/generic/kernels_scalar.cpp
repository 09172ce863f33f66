// The reference: the plainest loops that are right. Every other bit-exact table gives the same
// bits.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/fma.h"
#include "base/half.h"
#include "kernels/tables.h"

namespace minigpt {

float inverse_sqrt(float x) {
    return 1.0f / std::sqrt(x);
}

namespace scalar {
namespace {

#define MINIGPT_TARGET

#include "kernels/generic/vector_scalar.inc"

inline V fma(V a, V b, V c) {
    return fma_exact(a, b, c);
}

#include "kernels/generic/kernels.inc"

// ---- products

// b [16] = element k of a panel.
inline void widen_one(float* b, const float* panel, size_t k) {
    for (size_t j = 0; j < kPanel; ++j)
        b[j] = panel[k * kPanel + j];
}
inline void widen_one(float* b, const F16* panel, size_t k) {
    for (size_t j = 0; j < kPanel; ++j)
        b[j] = f16_to_float(panel[k * kPanel + j].bits);
}
inline void widen_one(float* b, const Bf16* panel, size_t k) {
    for (size_t j = 0; j < kPanel; ++j)
        b[j] = bf16_to_float(panel[k * kPanel + j].bits);
}
inline float scale_at(const unsigned char* group, size_t j) {
    uint16_t scale;
    memcpy(&scale, group + j * sizeof scale, sizeof scale);
    return f16_to_float(scale);
}
inline void widen_one(float* b, const Q8* panel, size_t k) {
    const unsigned char* group = &panel[k / kGroup * kQ8GroupBytes].byte;
    const unsigned char* q = group + kQ8Scales + k % kGroup * kPanel;
    for (size_t j = 0; j < kPanel; ++j)
        b[j] = static_cast<float>(static_cast<int8_t>(q[j])) * scale_at(group, j);
}

void widen_q8(float* y, const void* b, size_t k) {
    for (size_t i = 0; i < k; ++i)
        widen_one(y + i * kPanel, static_cast<const Q8*>(b), i);
}

const void* panel_at(const PanelGemm& g, size_t j) {
    return static_cast<const char*>(g.b) + j / kPanel * g.b_stride;
}

// The accumulators of one panel's outputs from j on, `width` of them.
struct Tile {
    float acc[kMaxRowTile][kPanel] = {};
    size_t at, width;

    Tile(const PanelGemm& g, size_t j)
        : at(j / kPanel * g.apart), width(g.n - j < kPanel ? g.n - j : kPanel) {
        for (size_t i = 0; g.accumulate && i < g.m; ++i) {
            for (size_t e = 0; e < width; ++e)
                acc[i][e] = g.c[i * g.ldc + at + e];
        }
    }
    void finish(const PanelGemm& g) const {
        for (size_t i = 0; i < g.m; ++i) {
            for (size_t e = 0; e < width; ++e) {
                float sum = acc[i][e];
                g.c[i * g.ldc + at + e] = g.bias != nullptr ? sum + g.bias[at + e] : sum;
            }
        }
    }
};

template <typename T>
void panel_gemm_6x16(const PanelGemm& g) {
    const float* a = static_cast<const float*>(g.a);
    for (size_t j = 0; j < g.n; j += kPanel) {
        const T* panel = static_cast<const T*>(panel_at(g, j));
        Tile tile(g, j);
        for (size_t k = 0; k < g.k; ++k) {
            float b[kPanel];
            widen_one(b, panel, k);
            for (size_t i = 0; i < g.m; ++i) {
                for (size_t e = 0; e < kPanel; ++e)
                    tile.acc[i][e] = fma_exact(a[k * g.m + i], b[e], tile.acc[i][e]);
            }
        }
        tile.finish(g);
    }
}

// One group of one row and one output: the sum of (half - 8) * q over it.
int group_sum(const unsigned char* group, size_t output, const int8_t* q) {
    int sum = 0;
    for (size_t k = 0; k < kGroup / 2; ++k) {
        const unsigned char* block = group + kQ4Scales + k / 4 * kQ4BlockBytes;
        int byte = block[output * 4 + k % 4];
        sum += ((byte & 15) - kQ4Zero) * q[k];
        sum += ((byte >> 4) - kQ4Zero) * q[kGroup / 2 + k];
    }
    return sum;
}

void panel_gemm_q4_6x16(const PanelGemm& g) {
    for (size_t j = 0; j < g.n; j += kPanel) {
        const unsigned char* group = static_cast<const unsigned char*>(panel_at(g, j));
        const unsigned char* a = static_cast<const unsigned char*>(g.a);
        Tile tile(g, j);
        for (size_t k = 0; k < g.k; k += kGroup) {
            for (size_t i = 0; i < g.m; ++i) {
                float scale_a;
                memcpy(&scale_a, a + g.m * kGroup + i * sizeof scale_a, sizeof scale_a);
                for (size_t e = 0; e < kPanel; ++e) {
                    const int8_t* q = reinterpret_cast<const int8_t*>(a) + i * kGroup;
                    float sum = static_cast<float>(group_sum(group, e, q));
                    float scale = scale_a * scale_at(group, e);
                    tile.acc[i][e] = fma_exact(sum, scale, tile.acc[i][e]);
                }
            }
            a += g.m * kQuantizedBytes;
            group += kQ4GroupBytes;
        }
        tile.finish(g);
    }
}

constexpr KernelTable table() {
    KernelTable t = table_of_rows("scalar");
    t.panel_gemm[kF32] = panel_gemm_6x16<float>;
    t.panel_gemm[kF16] = MINIGPT_COMPUTED(f16, panel_gemm_6x16<F16>);
    t.panel_gemm[kBf16] = MINIGPT_COMPUTED(bf16, panel_gemm_6x16<Bf16>);
    t.panel_gemm[kQ8] = MINIGPT_COMPUTED(q8, panel_gemm_6x16<Q8>);
    t.panel_gemm[kQ4] = MINIGPT_COMPUTED(q4, panel_gemm_q4_6x16);
    t.widen_q8 = MINIGPT_COMPUTED(q8, widen_q8);
    t.interleave = interleave_scalar;
    t.exp = exp_scalar;
    t.log = log_scalar;
    t.tanh = tanh_scalar;
    t.erf = erf_scalar;
    return t;
}

}  // namespace

extern constexpr KernelTable kKernels = table();

}  // namespace scalar

void interleave_scalar(float* y, const float* x, size_t ldx, size_t m, size_t k) {
    for (size_t i = 0; i < k; ++i) {
        for (size_t j = 0; j < m; ++j)
            y[i * m + j] = x[j * ldx + i];
    }
}

void exp_scalar(float* y, const float* x, size_t n) {
    scalar::map<scalar::exp_full>(y, x, n);
}
void log_scalar(float* y, const float* x, size_t n) {
    scalar::map<scalar::log_full>(y, x, n);
}
void tanh_scalar(float* y, const float* x, size_t n) {
    scalar::map<scalar::tanh_full>(y, x, n);
}
void erf_scalar(float* y, const float* x, size_t n) {
    scalar::map<scalar::erf_full>(y, x, n);
}

#undef MINIGPT_TARGET

}  // namespace minigpt
