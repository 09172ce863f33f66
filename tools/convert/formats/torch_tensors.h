// The contents of a PyTorch object: tensors by name, settings, vocabularies.
#pragma once

#include <string>
#include <vector>

#include "convert/checkpoint.h"
#include "convert/formats/torch_file.h"

namespace minigpt::convert {

// Element [i, j, ...] is number offset + i * strides[0] + j * strides[1] + ... of a storage.
struct TorchTensor {
    std::string name;
    TorchStorageName storage;
    uint64_t offset = 0;  // in numbers, the storage's `first` included
    std::vector<uint64_t> shape, strides;
    uint64_t numel = 0;
    uint64_t span = 0;  // distance from the first to the last number, plus 1; 0 without numbers
};

// Reads a tensor or a parameter. Errors (bad_file): not a tensor, more than 8 dimensions, negative
// numbers, sizes and strides that multiply past 2^64 or reach outside the storage.
Status read_torch_tensor(const Pickle& pickle, PickleValue value, TorchTensor* tensor);

// Finds the dictionary of the model's tensors in a saved object: the object itself, or its member
// `model`, `state_dict`, ... Ignored members are noted. Errors: bad_file (none, or two).
Status find_state_dict(const Pickle& pickle, PickleValue root, PickleValue* dict,
                       std::vector<std::string>* notes);

// Reads all tensors of a dictionary, in order. Errors, with the name: a name twice, not a tensor.
Status read_state_dict(const Pickle& pickle, PickleValue dict, std::vector<TorchTensor>* tensors);

// Finds nanoGPT's model_args, else any settings beside the weights that state the number of heads.
// `is_nanogpt`: which of the two. has_bias: whether they state biases, if they do.
Status read_torch_config(const Pickle& pickle, PickleValue root, SourceConfig* config,
                         bool* is_nanogpt, std::optional<bool>* has_bias);

}  // namespace minigpt::convert
