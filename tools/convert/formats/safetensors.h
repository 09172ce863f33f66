// safetensors: one file, or several under an index.
//
//     u64         n, the length of the header
//     n bytes     JSON: {"name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, ..}
//     the rest    the numbers, little-endian; offsets count from here
#pragma once

#include <string>
#include <vector>

#include "common/file.h"
#include "convert/checkpoint.h"

namespace minigpt::convert {

// One file's directory. offsets[i]: the offset of tensors[i] in the file.
struct SafetensorsFile {
    std::vector<SourceTensor> tensors;
    std::vector<uint64_t> offsets;
};

// Reads and checks the header. Tensors must fill the data without gaps or overlaps. Each must have
// the length that follows from its type and shape. Errors: bad_file, io.
Status read_safetensors_header(const File& file, SafetensorsFile* out);

}  // namespace minigpt::convert
