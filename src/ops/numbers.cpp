#include "ops/numbers.h"

#include <cstring>

#include "base/half.h"

namespace minigpt {
namespace {

template <typename Stored, float (*to_float)(Stored)>
void widen_as(float* y, size_t y_stride, const void* x, size_t x_stride, size_t n) {
    const char* from = static_cast<const char*>(x);
    for (size_t i = 0; i < n; i++) {
        Stored stored;
        memcpy(&stored, from + i * x_stride * sizeof stored, sizeof stored);
        y[i * y_stride] = to_float(stored);
    }
}

// n inputs of an output of one group, from `first` on.
void read_q8(float* y, size_t stride, const unsigned char* group, size_t out, size_t first,
             size_t n) {
    uint16_t half;
    memcpy(&half, group + out * sizeof half, sizeof half);
    float scale = f16_to_float(half);
    const unsigned char* q = group + kQ8Scales + first * kPanel + out;
    for (size_t i = 0; i < n; i++)
        y[i * stride] = static_cast<float>(static_cast<int8_t>(q[i * kPanel])) * scale;
}

void read_q4(float* y, size_t stride, const unsigned char* group, size_t out, size_t first,
             size_t n) {
    uint16_t half;
    memcpy(&half, group + out * sizeof half, sizeof half);
    float scale = f16_to_float(half);
    const unsigned char* blocks = group + kQ4Scales + 4 * out;
    for (size_t i = 0; i < n; i++) {
        size_t k = first + i, at = k % (kGroup / 2);
        unsigned char both = blocks[at / 4 * kQ4BlockBytes + at % 4];
        int q = (k < kGroup / 2 ? both & 15 : both >> 4) - kQ4Zero;
        y[i * stride] = static_cast<float>(q) * scale;
    }
}

const unsigned char* panel_of(const PanelMatrix& w, size_t out) {
    return static_cast<const unsigned char*>(w.data) +
           out / kPanel * static_cast<size_t>(panel_bytes(w.type, w.n_in));
}

// A type has one of the two.
struct Reader {
    void (*plain)(float* y, size_t y_stride, const void* x, size_t x_stride, size_t n);
    void (*group)(float* y, size_t stride, const unsigned char* group, size_t out, size_t first,
                  size_t n);
};
constexpr Reader kReaders[] = {
    {widen_as<uint32_t, bits_to_float>, nullptr},
    {widen_as<uint16_t, f16_to_float>, nullptr},
    {widen_as<uint16_t, bf16_to_float>, nullptr},
    {nullptr, read_q8},
    {nullptr, read_q4},
};
static_assert(sizeof kReaders / sizeof kReaders[0] == kElementTypeCount, "one for each type");

}  // namespace

void widen(float* y, size_t y_stride, const void* x, size_t x_stride, ElementType type, size_t n) {
    if (type == ElementType::f32 && y_stride == 1 && x_stride == 1) {
        memcpy(y, x, n * sizeof(float));
        return;
    }
    kReaders[static_cast<size_t>(type)].plain(y, y_stride, x, x_stride, n);
}

void narrow(uint16_t* y, const float* x, ElementType type, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = type == ElementType::f16 ? float_to_f16(x[i]) : float_to_bf16(x[i]);
}

void read_output(float* y, size_t stride, const PanelMatrix& w, size_t out, size_t first,
                 size_t n) {
    const unsigned char* panel = panel_of(w, out);
    const ElementTraits& t = traits_of(w.type);
    out %= kPanel;
    if (t.bytes != 0)
        return widen(y, stride, panel + (first * kPanel + out) * t.bytes, kPanel, w.type, n);
    for (size_t i = 0; i < n;) {
        size_t at = (first + i) % t.group;
        size_t step = t.group - at < n - i ? t.group - at : n - i;
        kReaders[static_cast<size_t>(w.type)].group(
            y + i * stride, stride, panel + (first + i) / t.group * t.group_bytes, out, at, step);
        i += step;
    }
}

void read_output(uint16_t* y, size_t stride, const PanelMatrix& w, size_t out, size_t first,
                 size_t n) {
    const uint16_t* from = reinterpret_cast<const uint16_t*>(panel_of(w, out));
    for (size_t i = 0; i < n; i++)
        y[i * stride] = from[(first + i) * kPanel + out % kPanel];
}

}  // namespace minigpt
