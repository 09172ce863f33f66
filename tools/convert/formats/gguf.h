// GGUF, versions 2 and 3, of the architecture gpt2 (ggml's docs/gguf.md).
//
//     char[4]  "GGUF"
//     u32      version
//     u64      n_tensors, n_keys
//     keys     text name, u32 kind of value, value
//     tensors  text name, u32 n_dims, u64 dimensions (innermost first), u32 type, u64 offset
//     data     each tensor at its offset from the start of the data; the offset and the start are
//              multiples of general.alignment
//
// A text is a u64 length and its bytes, an array a u32 kind, a u64 count and its elements.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/file.h"
#include "convert/checkpoint.h"
#include "convert/formats/gguf_types.h"

namespace minigpt::convert {

// A key's value, of one of the kinds that GPT-2 needs.
struct GgufValue {
    enum class Kind { unsigned_int, signed_int, real, boolean, text, texts, ints, other };
    Kind kind = Kind::other;
    uint64_t number = 0;  // unsigned_int, boolean; signed_int: its two's complement
    double real = 0;
    std::string text;
    std::vector<std::string> texts;  // texts
    std::vector<int64_t> ints;       // ints
};

struct GgufTensor {
    std::string name;
    std::vector<uint64_t> shape;  // slowest first
    const GgufType* type = nullptr;
    uint64_t offset = 0;   // in the file
    uint64_t n_bytes = 0;  // in the file
};

struct GgufFile {
    uint32_t version = 0;
    std::map<std::string, GgufValue> keys;  // only those for which is_wanted() holds
    std::vector<GgufTensor> tensors;
};

// Reads the keys and tensor infos, and checks the place of each tensor: inside the file, aligned,
// no overlaps, and only padding between.
//
// Errors: io; bad_file, with the key or tensor; not_supported: another version, the other byte
// order, an unknown type.
Status read_gguf_header(const File& file, GgufFile* out);

}  // namespace minigpt::convert
