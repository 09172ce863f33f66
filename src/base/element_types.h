// What the library knows of each element type, by its number in the weight file.
//
// A new type is its row here, its kernels in each table, and its conversions: to f32 in
// ops/numbers.cpp, from f32 in model/encode.cpp. Their tables do not compile without it.
//
// Constants alone, as kernel files include this.
#pragma once

#include <cstddef>

#include "base/panel.h"
#include "minigpt/element_type.h"

namespace minigpt {

// What a product multiplies the weights with.
enum class ComputesWith {
    f32,   // activations as they are; grouped weights become f32 first, exactly
    int8,  // activations quantized a group at a time: the sums inside a group are integers
};

struct ElementTraits {
    ElementType type;
    const char* name;
    size_t bytes;        // of one number; 0: they lie in groups
    size_t group;        // inputs of a panel that lie together; 1: each alone
    size_t group_bytes;  // of those, all 16 outputs
    ComputesWith with;
    ElementType positions;  // the position table's type in such a file: rows have no groups
    ElementType tables;  // of the token table and the head, whose every row is a logit of its own
};

constexpr ElementTraits kElementTypes[] = {
    {ElementType::f32, "f32", 4, 1, 4 * kPanel, ComputesWith::f32, ElementType::f32,
     ElementType::f32},
    {ElementType::f16, "f16", 2, 1, 2 * kPanel, ComputesWith::f32, ElementType::f16,
     ElementType::f16},
    {ElementType::bf16, "bf16", 2, 1, 2 * kPanel, ComputesWith::f32, ElementType::bf16,
     ElementType::bf16},
    {ElementType::q8, "q8", 0, kGroup, kQ8GroupBytes, ComputesWith::f32, ElementType::f16,
     ElementType::q8},
    {ElementType::q4, "q4", 0, kGroup, kQ4GroupBytes, ComputesWith::int8, ElementType::f16,
     ElementType::q8},
};
constexpr size_t kElementTypeCount = sizeof kElementTypes / sizeof kElementTypes[0];

}  // namespace minigpt
