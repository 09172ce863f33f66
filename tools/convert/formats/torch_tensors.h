// What a PyTorch object holds: tensors by name, settings, vocabularies.
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
    uint64_t span = 0;  // numbers from the first to the last; 0 where there are none
};

// A tensor or a parameter. Errors (bad_file): no tensor, more dimensions than 8, negative numbers,
// sizes and strides that multiply past 2^64 or reach outside the storage.
Status read_torch_tensor(const Pickle& pickle, PickleValue value, TorchTensor* tensor);

// The dictionary of the model's tensors in what was saved: the object itself, or its member
// `model`, `state_dict`, ...; what is left aside is noted. Errors: bad_file (none, or two).
Status find_state_dict(const Pickle& pickle, PickleValue root, PickleValue* dict,
                       std::vector<std::string>* notes);

// All tensors of a dictionary, in order. Errors, with the name: a name twice, what is no tensor.
Status read_state_dict(const Pickle& pickle, PickleValue dict, std::vector<TorchTensor>* tensors);

// nanoGPT's model_args, else any settings beside the weights that say the model's heads.
// `is_nanogpt`: which. has_bias: what they say of biases, if they do.
Status read_torch_config(const Pickle& pickle, PickleValue root, SourceConfig* config,
                         bool* is_nanogpt, std::optional<bool>* has_bias);

}  // namespace minigpt::convert
