// How an array's numbers are stored.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minigpt {

// The values are those of the weight file. In q8 and q4, each group of 32 inputs has an f16 scale
// for each output: 8.5 and 4.5 bits a weight.
enum class ElementType : uint32_t { f32 = 0, f16 = 1, bf16 = 2, q8 = 3, q4 = 4 };

const char* name_of(ElementType type);  // "?" for an unknown value
// Bytes of one number; 0 for the grouped types (q8, q4).
size_t bytes_of(ElementType type);

}  // namespace minigpt
