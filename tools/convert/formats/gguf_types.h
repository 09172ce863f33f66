// ggml's types of numbers, and what they are as f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "minigpt/config.h"

namespace minigpt::convert {

// A type whose numbers come in blocks. `unpack` writes a block's numbers as f32, exactly what the
// format defines; nullptr: the type is known, and not read unless it is a plain one.
struct GgufType {
    uint32_t id;
    const char* name;
    uint32_t block_numbers, block_bytes;
    std::optional<ElementType> plain;  // f32, f16, bf16: they are read as they are
    void (*unpack)(const unsigned char* block, float* numbers);

    // What its numbers are read as; nothing where they are not read.
    std::optional<ElementType> read_as() const {
        return plain ? plain : unpack != nullptr ? std::optional(ElementType::f32) : std::nullopt;
    }
};

// nullptr: no such type.
const GgufType* gguf_type(uint32_t id);
std::string read_gguf_types();  // the names of those that are read

// The value of an IEEE 754 half, which an f32 has exactly.
float value_of_half(uint16_t bits);

// Unpacks numbers in place: their n_blocks blocks stand at the end of the memory that the f32s
// will fill from its start.
void unpack_in_place(const GgufType& type, unsigned char* memory, uint64_t n_blocks);

}  // namespace minigpt::convert
