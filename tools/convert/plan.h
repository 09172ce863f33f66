// From a checkpoint's names and shapes to the tensors of our file: nothing missing, nothing left.
#pragma once

#include <optional>
#include <vector>

#include "convert/checkpoint.h"

namespace minigpt::convert {

struct PlannedTensor {
    TensorSpec spec;
    size_t source;    // of Checkpoint::tensors
    bool transposed;  // the source's dimensions are the other way round
};

struct Plan {
    Config config;
    std::vector<PlannedTensor> tensors;  // all of the model's, in tensor_spec's order
    size_t n_ignored = 0;                // buffers that carry nothing
    // A head that stands beside tied embeddings: its numbers must be the token table's.
    std::optional<size_t> tied_copy;
    // Of all matrices and the position table; f32 where they differ. An f32 position table is left
    // aside, and so are norms and biases: many formats keep those in f32 whatever the matrices are.
    ElementType own_type = ElementType::f32;
    bool is_quantized = false;  // some matrices are
    std::vector<std::string> notes;
};

// Errors, each with the tensor's name: a parameter that is missing, left over, there twice, of
// another shape, or of a type that weights do not have; sizes that no model has; a vocabulary
// larger than the token table.
Status make_plan(const Checkpoint& checkpoint, Plan* plan);

}  // namespace minigpt::convert
