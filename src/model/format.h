// The weight file as structs, with the fields of models/FORMAT.md. Little-endian.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer.h"
#include "minigpt/writer.h"
#include "ops/panels.h"

namespace minigpt {

constexpr unsigned char kMagic[8] = {0x89, 'M', 'G', 'P', 'T', '\r', '\n', 0x1a};
constexpr uint32_t kFormatVersion = 1;

enum : uint32_t {
    kFlagTied = 1,
    kFlagScaleAttn = 2,
    kFlagScaleByLayer = 4,
    kFlagSubnormals = 8,
    kFlagsAll = 15,
};

struct FileHeader {
    unsigned char magic[8];
    uint32_t version;
    uint32_t header_bytes;  // this struct, the sections and the directory; a multiple of 64
    uint64_t file_bytes;
    uint64_t header_hash;  // hash64 of header_bytes with these 8 bytes as zeros
    uint32_t n_vocab, n_rows, n_ctx, n_embd, n_head, n_layer, n_ff;
    float layer_norm_epsilon;
    uint32_t activation;
    uint32_t biases;
    uint32_t flags;
    uint32_t n_sections;
    uint32_t n_tensors;
    uint32_t reserved[11];  // zeros
};
static_assert(sizeof(FileHeader) == 128 && offsetof(FileHeader, n_vocab) == 32, "packed");

enum class Section : uint32_t { provenance = 1, tokenizer = 2, self_test = 3 };

struct FileSection {
    uint32_t kind;
    uint32_t reserved;  // 0
    uint64_t offset;    // a multiple of 64
    uint64_t bytes;
    uint64_t hash;
};
static_assert(sizeof(FileSection) == 32, "packed");

struct FileTensor {
    char name[48];  // zero-padded
    uint32_t type;
    uint32_t layout;
    uint64_t shape[2];
    uint64_t offset;  // a multiple of 64
    uint64_t bytes;
    uint64_t hash;
};
static_assert(sizeof(FileTensor) == 96, "packed");

// The numbers that stand for them in a file.
static_assert(static_cast<uint32_t>(ElementType::f32) == 0 &&
                  static_cast<uint32_t>(ElementType::f16) == 1 &&
                  static_cast<uint32_t>(ElementType::bf16) == 2 &&
                  static_cast<uint32_t>(ElementType::q8) == 3 &&
                  static_cast<uint32_t>(ElementType::q4) == 4 && kElementTypeCount == 5,
              "FORMAT.md's element types");

// Bytes of a tensor in the file. Both arguments come from a checked Config, so nothing overflows.
inline uint64_t stored_bytes(const TensorSpec& spec, ElementType type) {
    if (spec.layout == Layout::panels)
        return panel_count(spec.n_out()) * panel_bytes(type, spec.n_in());
    return static_cast<uint64_t>(spec.shape[0]) * spec.shape[1] * traits_of(type).bytes;
}

// The element type of a tensor in a file that is written with this type.
inline ElementType stored_type(const TensorSpec& spec, const WriterOptions& options) {
    if (spec.layout == Layout::vector || (spec.layout == Layout::rows && options.f32_positions))
        return ElementType::f32;
    const ElementTraits& t = traits_of(options.type);
    return spec.layout == Layout::rows ? t.positions : spec.is_table ? t.tables : t.type;
}

inline uint64_t align_up(uint64_t n) {
    return (n + kAlign - 1) / kAlign * kAlign;
}

}  // namespace minigpt
