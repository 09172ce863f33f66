// Encodes a caller's array for the weight file: checks it, rounds it, lays it out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/writer.h"
#include "model/quantize.h"

namespace minigpt {

// "[3, 4]", or "[3]" for one dimension: a shape, or an index in an array.
struct ShapeText {
    char text[48];
    ShapeText(size_t n_dims, size_t i, size_t j);
};

// Takes the next bytes of a tensor.
using EncodedSink = Status (*)(void* context, const void* data, size_t n_bytes);

class Encoder {
public:
    // array: has spec's shape. type: the file's type; q8 and q4 only for panels.
    Encoder(const ArrayView& array, const TensorSpec& spec, ElementType type, bool allow_non_finite)
        : array_(array), spec_(spec), type_(type), allow_non_finite_(allow_non_finite) {}

    // How many numbers were subnormal as f32, the type that kernels compute with.
    uint64_t n_subnormal() const { return n_subnormal_; }

    // Sends the tensor to the sink, in the order of the file. scratch: 64-byte aligned, at least
    // 64 KiB. Errors: bad_file with the index of a number that is not finite; the sink's errors.
    Status run(unsigned char* scratch, size_t scratch_bytes, EncodedSink sink, void* context);

private:
    Status rows(unsigned char* scratch, EncodedSink sink, void* context);
    Status panels(unsigned char* scratch, size_t scratch_bytes, EncodedSink sink, void* context);
    Status groups(unsigned char* scratch, size_t scratch_bytes, EncodedSink sink, void* context);
    Status group(unsigned char* to, size_t out0, size_t k0);
    Status fill_along_k(unsigned char* scratch, size_t out0, size_t n_o, size_t k0, size_t n_k);
    Status fill_along_out(unsigned char* scratch, size_t out0, size_t n_o, size_t k0, size_t n_k);
    Status encode(const void** encoded, size_t i, size_t j, bool down, size_t n);

    const ArrayView& array_;
    const TensorSpec& spec_;
    ElementType type_;
    bool allow_non_finite_;
    uint64_t n_subnormal_ = 0;
    static constexpr size_t kRun = 256;  // numbers rounded at a time
    alignas(64) float run_[kRun];
    alignas(64) uint16_t half_[kRun];
    WeightGroup group_;
};

}  // namespace minigpt
