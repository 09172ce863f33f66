// Maps a checkpoint's names and shapes to the tensors of our file. None may be missing or left
// over.
#pragma once

#include <optional>
#include <vector>

#include "convert/checkpoint.h"

namespace minigpt::convert {

struct PlannedTensor {
    TensorSpec spec;
    size_t source;    // index in Checkpoint::tensors
    bool transposed;  // the source's dimensions are in the other order
};

struct Plan {
    Config config;
    std::vector<PlannedTensor> tensors;  // all of the model's, in tensor_spec's order
    size_t n_ignored = 0;                // buffers without information
    // A separate head although embeddings are tied. Its numbers must equal the token table's.
    std::optional<size_t> tied_copy;
    // The type of all matrices and the position table; f32 if they differ. An f32 position table,
    // norms and biases do not count: many formats keep them in f32 for any type of the matrices.
    ElementType own_type = ElementType::f32;
    bool is_quantized = false;  // some matrices are quantized
    std::vector<std::string> notes;
};

// Errors, each with the tensor's name: a parameter that is missing, left over, listed twice, of
// another shape, or of a type that weights cannot have; sizes that no model has; a vocabulary
// larger than the token table.
Status make_plan(const Checkpoint& checkpoint, Plan* plan);

}  // namespace minigpt::convert
