// The properties of each element type, indexed by its number in the weight file.
//
// A new type needs a row here, kernels in each table, and conversions: to f32 in ops/numbers.cpp,
// from f32 in model/encode.cpp. Without them those tables do not compile.
//
// Kernel files include this, so it has constants only.
#pragma once

#include <cstddef>

#include "base/panel.h"
#include "minigpt/element_type.h"

namespace minigpt {

// The type of the activations that a product multiplies with the weights.
enum class ComputesWith {
    f32,   // unchanged activations; grouped weights become f32 first, exactly
    int8,  // activations quantized by group; the sum of a group is an integer
};

struct ElementTraits {
    ElementType type;
    const char* name;
    size_t bytes;        // of one number; 0 for grouped types
    size_t group;        // inputs in a group; 1: no groups
    size_t group_bytes;  // of a group, for all 16 outputs
    ComputesWith with;
    ElementType positions;  // the position table's type in such a file; rows cannot have groups
    ElementType tables;     // the type of the token table and the head; each row gives one logit
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
