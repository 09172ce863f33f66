#include "model/encode.h"

#include <cstdio>
#include <cstring>

#include "base/fp_environment.h"
#include "base/half.h"
#include "model/format.h"
#include "ops/numbers.h"

namespace minigpt {

ShapeText::ShapeText(size_t n_dims, size_t i, size_t j) {
    snprintf(text, sizeof text, n_dims == 2 ? "[%llu, %llu]" : "[%llu]",
             static_cast<unsigned long long>(i), static_cast<unsigned long long>(j));
}

namespace {

constexpr uint32_t kInfinityBits = 0x7f800000;
constexpr uint32_t kSmallestNormalBits = 0x00800000;

uint32_t magnitude_bits(float f) {
    return float_to_bits(f) & 0x7fffffff;
}

// What a number becomes in the file, as f32.
float rounded(float f, ElementType type) {
    if (type == ElementType::f32)
        return f;
    uint16_t half;
    narrow(&half, &f, type, 1);
    widen(&f, 1, &half, 1, type, 1);
    return f;
}

// n numbers from data[first], data[first + stride], ...
void load(float* to, const ArrayView& array, size_t first, size_t stride, size_t n) {
    widen(to, 1, static_cast<const char*>(array.data) + first * bytes_of(array.type), stride,
          array.type, n);
}

// From f32 to a type that lies in groups.
using Quantize = size_t (*)(unsigned char* y, const WeightGroup& group);
constexpr Quantize kQuantize[] = {nullptr, nullptr, nullptr, quantize_q8, quantize_q4};
static_assert(sizeof kQuantize / sizeof kQuantize[0] == kElementTypeCount, "one for each type");

// Four numbers' bits side by side, in a register of any CPU that has such.
using Lanes = uint32_t __attribute__((vector_size(16)));
using SignedLanes = int32_t __attribute__((vector_size(16)));
constexpr size_t kLanes = sizeof(Lanes) / sizeof(uint32_t);

// Whether n numbers, a multiple of kLanes, are all normal: not zero, subnormal, infinite or NaN.
// Doubling a float's bits drops its sign. Normal numbers then have the bits 2^24 ... 255 2^24 - 1.
// Adding 127 2^24 makes these the lowest signed numbers, so one comparison finds all others.
bool all_normal(const float* x, size_t n) {
    const SignedLanes last = SignedLanes{} + 0x7dffffff;
    SignedLanes others = {};
    for (size_t i = 0; i < n; i += kLanes) {
        Lanes bits;
        memcpy(&bits, x + i, sizeof bits);
        others |= reinterpret_cast<SignedLanes>(bits + bits + 0x7f000000u) > last;
    }
    return (others[0] | others[1] | others[2] | others[3]) == 0;
}

// The largest magnitude of n numbers as bits, or another that is finite where it is, and how many
// are subnormal. Most weights are normal, which is quickly seen; for the others blocks of a fixed
// size are what compilers turn into vector code.
uint32_t survey(const float* x, size_t n, uint64_t* n_subnormal) {
    if (n % kLanes == 0 && all_normal(x, n))
        return kSmallestNormalBits;
    constexpr size_t kBlock = 16;
    uint32_t largest[kBlock] = {}, subnormals[kBlock] = {};
    for (size_t i = 0; i < n; i += kBlock) {
        float block[kBlock] = {};
        memcpy(block, x + i, (n - i < kBlock ? n - i : kBlock) * sizeof(float));
        for (size_t j = 0; j < kBlock; j++) {
            uint32_t bits = magnitude_bits(block[j]);
            largest[j] = bits > largest[j] ? bits : largest[j];
            subnormals[j] += bits - 1 < kSmallestNormalBits - 1;
        }
    }
    for (size_t j = 0; j < kBlock; j++) {
        largest[0] = largest[j] > largest[0] ? largest[j] : largest[0];
        *n_subnormal += subnormals[j];
    }
    return largest[0];
}

// Refuses the number at [i, j]: it is not finite, or overflows the type.
Status refused(const TensorSpec& spec, ElementType type, float x, size_t i, size_t j) {
    const ShapeText place(spec.n_dims, i, j);
    uint32_t bits = magnitude_bits(x);
    if (bits < kInfinityBits) {
        return Status::error(Code::bad_file, "%s: %g at %s overflows %s", spec.name,
                             static_cast<double>(x), place.text, name_of(type));
    }
    return Status::error(Code::bad_file, "%s: %s at %s; expected finite weights", spec.name,
                         bits > kInfinityBits ? "NaN" : "infinity", place.text);
}

// Names the first number of a run that is not finite, or no longer is when rounded.
Status not_finite(const TensorSpec& spec, ElementType type, const float* run, size_t i, size_t j,
                  bool down) {
    size_t at = 0;
    while (magnitude_bits(rounded(run[at], type)) < kInfinityBits)
        at++;
    (down ? i : j) += at;
    return refused(spec, type, run[at], i, j);
}

}  // namespace

// Rounds the first n of run_, which begin at [i, j] of the array and go down or right. *encoded
// is where the file's numbers are.
Status Encoder::encode(const void** encoded, size_t i, size_t j, bool down, size_t n) {
    uint32_t largest;
    if (type_ == ElementType::f32) {
        *encoded = run_;
        largest = survey(run_, n, &n_subnormal_);
    } else {
        float back[kRun];
        narrow(half_, run_, type_, n);
        widen(back, 1, half_, 1, type_, n);
        *encoded = half_;
        largest = survey(back, n, &n_subnormal_);
    }
    if (largest < kInfinityBits || allow_non_finite_)
        return Status();
    return not_finite(spec_, type_, run_, i, j, down);
}

Status Encoder::run(unsigned char* scratch, size_t scratch_bytes, EncodedSink sink, void* context) {
    FpEnvironment environment;
    if (spec_.layout != Layout::panels)
        return rows(scratch, sink, context);
    return is_grouped(type_) ? groups(scratch, scratch_bytes, sink, context)
                             : panels(scratch, scratch_bytes, sink, context);
}

// Vectors and row-major tables.
Status Encoder::rows(unsigned char* scratch, EncodedSink sink, void* context) {
    bool is_vector = spec_.n_dims == 1;
    size_t n_rows = is_vector ? 1 : spec_.shape[0];
    size_t n_cols = is_vector ? spec_.shape[0] : spec_.shape[1];
    size_t stride = is_vector ? array_.row_stride : array_.col_stride;
    size_t filled = 0;
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t j = 0; j < n_cols; j += kRun) {
            size_t n = n_cols - j < kRun ? n_cols - j : kRun;
            load(run_, array_, i * array_.row_stride + j * stride, stride, n);
            const void* encoded;
            MINIGPT_TRY(encode(&encoded, is_vector ? j : i, is_vector ? 0 : j, is_vector, n));
            memcpy(scratch + filled, encoded, n * bytes_of(type_));
            filled += n * bytes_of(type_);
            bool last = i + 1 == n_rows && j + n == n_cols;
            if (!last && filled + kRun * sizeof(float) <= 64 * 1024)
                continue;
            MINIGPT_TRY(sink(context, scratch, filled));
            filled = 0;
        }
    }
    return Status();
}

// [n_out / 16][n_in][16]: as many whole panels at a time as fit the scratch, or a part of one.
// The array is read along whichever of its axes lies closer together.
Status Encoder::panels(unsigned char* scratch, size_t scratch_bytes, EncodedSink sink,
                       void* context) {
    size_t n_in = spec_.n_in(), n_out = spec_.n_out();
    size_t k_bytes = kPanel * bytes_of(type_);
    size_t k_most = scratch_bytes / k_bytes;
    size_t k_step = n_in < k_most ? n_in : k_most;
    size_t out_step = k_most / k_step * kPanel;
    bool along_k = array_.row_stride < array_.col_stride ? !spec_.is_table : spec_.is_table;
    for (size_t out0 = 0; out0 < n_out; out0 += out_step) {
        size_t n_o = n_out - out0 < out_step ? n_out - out0 : out_step;
        size_t n_panels = (n_o + kPanel - 1) / kPanel;
        // Several panels are only ever taken with all of k.
        for (size_t k0 = 0; k0 < n_in; k0 += k_step) {
            size_t n_k = n_in - k0 < k_step ? n_in - k0 : k_step;
            size_t bytes = n_panels * n_k * k_bytes;
            if (n_o % kPanel != 0)
                memset(scratch, 0, bytes);
            MINIGPT_TRY(along_k ? fill_along_k(scratch, out0, n_o, k0, n_k)
                                : fill_along_out(scratch, out0, n_o, k0, n_k));
            MINIGPT_TRY(sink(context, scratch, bytes));
        }
    }
    return Status();
}

Status Encoder::fill_along_out(unsigned char* scratch, size_t out0, size_t n_o, size_t k0,
                               size_t n_k) {
    size_t in_stride = spec_.is_table ? array_.col_stride : array_.row_stride;
    size_t out_stride = spec_.is_table ? array_.row_stride : array_.col_stride;
    size_t width = bytes_of(type_);
    for (size_t k = 0; k < n_k; k++) {
        for (size_t o = 0; o < n_o; o += kRun) {
            size_t n = n_o - o < kRun ? n_o - o : kRun;
            size_t in = k0 + k, out = out0 + o;
            load(run_, array_, in * in_stride + out * out_stride, out_stride, n);
            const void* encoded;
            MINIGPT_TRY(encode(&encoded, spec_.is_table ? out : in, spec_.is_table ? in : out,
                               spec_.is_table, n));
            const char* from = static_cast<const char*>(encoded);
            for (size_t p = 0; p < n; p += kPanel) {
                size_t in_panel = n - p < kPanel ? n - p : kPanel;
                unsigned char* to = scratch + ((o + p) * n_k + k * kPanel) * width;
                memcpy(to, from + p * width, in_panel * width);
            }
        }
    }
    return Status();
}

Status Encoder::fill_along_k(unsigned char* scratch, size_t out0, size_t n_o, size_t k0,
                             size_t n_k) {
    size_t in_stride = spec_.is_table ? array_.col_stride : array_.row_stride;
    size_t out_stride = spec_.is_table ? array_.row_stride : array_.col_stride;
    for (size_t o = 0; o < n_o; o++) {
        for (size_t k = 0; k < n_k; k += kRun) {
            size_t n = n_k - k < kRun ? n_k - k : kRun;
            size_t in = k0 + k, out = out0 + o;
            load(run_, array_, in * in_stride + out * out_stride, in_stride, n);
            const void* encoded;
            MINIGPT_TRY(encode(&encoded, spec_.is_table ? out : in, spec_.is_table ? in : out,
                               !spec_.is_table, n));
            size_t at = (o / kPanel * n_k + k) * kPanel + o % kPanel;
            if (type_ == ElementType::f32) {
                float* to = reinterpret_cast<float*>(scratch) + at;
                for (size_t i = 0; i < n; i++)
                    to[i * kPanel] = run_[i];
            } else {
                uint16_t* to = reinterpret_cast<uint16_t*>(scratch) + at;
                for (size_t i = 0; i < n; i++)
                    to[i * kPanel] = half_[i];
            }
        }
    }
    return Status();
}

// q8 and q4: [n_out / 16][n_in / 32] groups.
Status Encoder::groups(unsigned char* scratch, size_t scratch_bytes, EncodedSink sink,
                       void* context) {
    size_t group_bytes = static_cast<size_t>(panel_bytes(type_, kGroup));
    size_t filled = 0;
    for (size_t out = 0; out < spec_.n_out(); out += kPanel) {
        for (size_t k = 0; k < spec_.n_in(); k += kGroup) {
            MINIGPT_TRY(group(scratch + filled, out, k));
            filled += group_bytes;
            bool last = out + kPanel >= spec_.n_out() && k + kGroup >= spec_.n_in();
            if (!last && filled + group_bytes <= scratch_bytes)
                continue;
            MINIGPT_TRY(sink(context, scratch, filled));
            filled = 0;
        }
    }
    return Status();
}

// The group of 16 outputs and 32 inputs from [k0, out0] on, and what refuses it.
Status Encoder::group(unsigned char* to, size_t out0, size_t k0) {
    size_t in_stride = spec_.is_table ? array_.col_stride : array_.row_stride;
    size_t out_stride = spec_.is_table ? array_.row_stride : array_.col_stride;
    size_t n_o = spec_.n_out() - out0 < kPanel ? spec_.n_out() - out0 : kPanel;
    size_t n_k = spec_.n_in() - k0 < kGroup ? spec_.n_in() - k0 : kGroup;
    if (n_o < kPanel || n_k < kGroup)
        memset(group_.x, 0, sizeof group_.x);
    if (out_stride < in_stride) {
        for (size_t k = 0; k < n_k; k++)
            load(group_.x[k], array_, (k0 + k) * in_stride + out0 * out_stride, out_stride, n_o);
    } else {
        for (size_t o = 0; o < n_o; o++) {
            load(run_, array_, k0 * in_stride + (out0 + o) * out_stride, in_stride, n_k);
            for (size_t k = 0; k < n_k; k++)
                group_.x[k][o] = run_[k];
        }
    }
    size_t bad = kQuantize[static_cast<size_t>(type_)](to, group_);
    if (bad == kPanel || allow_non_finite_)
        return Status();
    // The first number that is not finite, or else the largest.
    size_t at = 0;
    for (size_t k = 1; k < n_k; k++) {
        uint32_t largest = magnitude_bits(group_.x[at][bad]);
        if (largest < kInfinityBits && magnitude_bits(group_.x[k][bad]) > largest)
            at = k;
    }
    size_t in = k0 + at, out = out0 + bad;
    return refused(spec_, type_, group_.x[at][bad], spec_.is_table ? out : in,
                   spec_.is_table ? in : out);
}

}  // namespace minigpt
