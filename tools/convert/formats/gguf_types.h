// ggml's number types, and their conversion to f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "minigpt/config.h"

namespace minigpt::convert {

// A type whose numbers are stored in blocks. `unpack` converts a block to f32, exactly as the
// format defines. If it is nullptr, the type is known, but only read if it is a plain one.
struct GgufType {
    uint32_t id;
    const char* name;
    uint32_t block_numbers, block_bytes;
    std::optional<ElementType> plain;  // f32, f16, bf16: read without conversion
    void (*unpack)(const unsigned char* block, float* numbers);

    // The type that its numbers are read as; nothing if they cannot be read.
    std::optional<ElementType> read_as() const {
        return plain ? plain : unpack != nullptr ? std::optional(ElementType::f32) : std::nullopt;
    }
};

// Returns nullptr if there is no such type.
const GgufType* gguf_type(uint32_t id);
std::string read_gguf_types();  // the names of those that can be read

// The value of an IEEE 754 half, exact in f32.
float value_of_half(uint16_t bits);

// Unpacks numbers in place. The n_blocks blocks are at the end of the memory; the f32s fill the
// memory from its start.
void unpack_in_place(const GgufType& type, unsigned char* memory, uint64_t n_blocks);

}  // namespace minigpt::convert
