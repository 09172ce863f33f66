#include "convert/formats/mgpt_panels.h"

#include <algorithm>
#include <cstring>

#include "convert/formats/gguf_types.h"

namespace minigpt::convert {
namespace {

constexpr size_t kPanel = 16;  // outputs
constexpr size_t kGroup = 32;  // inputs that share a scale
constexpr size_t kScaleBytes = kPanel * 2;
constexpr size_t kGroupBytes8 = kScaleBytes + kGroup * kPanel;
constexpr size_t kGroupBytes4 = kScaleBytes + kGroup * kPanel / 2;

// Panels that lie one after the other.
struct Outputs {
    size_t begin, end;
    const unsigned char* from;
};

// A matrix's line of a panel is 16 neighbours of one row.
void unpack_matrix(const TensorInfo& t, const Outputs& outputs, unsigned char* to) {
    const unsigned char* from = outputs.from;
    size_t n_in = t.spec.n_in(), n_out = t.spec.n_out(), size = bytes_of(t.type);
    for (size_t begin = outputs.begin; begin < outputs.end; begin += kPanel) {
        size_t n = std::min(kPanel, n_out - begin);
        for (size_t k = 0; k < n_in; k++, from += kPanel * size)
            memcpy(to + (k * n_out + begin) * size, from, n * size);
    }
}

// A table's is 16 numbers of a column.
void unpack_table(const TensorInfo& t, const Outputs& outputs, unsigned char* to) {
    const unsigned char* from = outputs.from;
    size_t n_in = t.spec.n_in(), n_out = t.spec.n_out(), size = bytes_of(t.type);
    for (size_t begin = outputs.begin; begin < outputs.end;
         begin += kPanel, from += kPanel * n_in * size) {
        size_t n = std::min(kPanel, n_out - begin);
        for (size_t j = 0; j < n; j++) {
            unsigned char* row = to + (begin + j) * n_in * size;
            for (size_t k = 0; k < n_in; k++)
                memcpy(row + k * size, from + (k * kPanel + j) * size, size);
        }
    }
}

int code8(const unsigned char* codes, size_t k, size_t out) {
    return static_cast<signed char>(codes[k * kPanel + out]);
}

// Four inputs of an output lie together, and share their bytes with those 16 further on.
int code4(const unsigned char* codes, size_t k, size_t out) {
    unsigned char byte = codes[k % 16 / 4 * 64 + 4 * out + k % 4];
    return (k < 16 ? byte & 15 : byte >> 4) - 8;
}

template <typename Code>
void unpack_groups(const TensorInfo& t, const Outputs& outputs, size_t group_bytes, Code code,
                   unsigned char* to) {
    const unsigned char* group = outputs.from;
    size_t n_in = t.spec.n_in(), n_out = t.spec.n_out();
    size_t in_stride = t.spec.is_table ? 1 : n_out, out_stride = t.spec.is_table ? n_in : 1;
    for (size_t out0 = outputs.begin; out0 < outputs.end; out0 += kPanel) {
        for (size_t k0 = 0; k0 < n_in; k0 += kGroup, group += group_bytes) {
            float scales[kPanel];
            for (size_t j = 0; j < kPanel; j++) {
                uint16_t half;
                memcpy(&half, group + 2 * j, sizeof half);
                scales[j] = value_of_half(half);
            }
            for (size_t k = 0; k < std::min(kGroup, n_in - k0); k++) {
                for (size_t j = 0; j < std::min(kPanel, n_out - out0); j++) {
                    float x = static_cast<float>(code(group + kScaleBytes, k, j)) * scales[j];
                    size_t at = (k0 + k) * in_stride + (out0 + j) * out_stride;
                    memcpy(to + at * sizeof x, &x, sizeof x);
                }
            }
        }
    }
}

}  // namespace

size_t n_panels(const TensorInfo& tensor) {
    return (tensor.spec.n_out() + kPanel - 1) / kPanel;
}

size_t panel_bytes(const TensorInfo& tensor) {
    return static_cast<size_t>(tensor.bytes / n_panels(tensor));
}

const unsigned char* unpack_panels(const TensorInfo& tensor, size_t first, size_t n,
                                   unsigned char* to) {
    Outputs outputs = {
        first * kPanel, std::min((first + n) * kPanel, tensor.spec.n_out()),
        static_cast<const unsigned char*>(tensor.data) + first * panel_bytes(tensor)};
    if (tensor.type == ElementType::q8)
        unpack_groups(tensor, outputs, kGroupBytes8, code8, to);
    else if (tensor.type == ElementType::q4)
        unpack_groups(tensor, outputs, kGroupBytes4, code4, to);
    else
        (tensor.spec.is_table ? unpack_table : unpack_matrix)(tensor, outputs, to);
    return outputs.from;
}

}  // namespace minigpt::convert
