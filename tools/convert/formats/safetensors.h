// safetensors: one file, or several under an index.
//
//     u64         n, the length of the header
//     n bytes     JSON: {"name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, ..}
//     the rest    the numbers, little-endian; offsets count from here
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/file.h"
#include "convert/checkpoint.h"

namespace minigpt::convert {

// One file's directory. offsets[i]: where tensors[i] begins in the file.
struct SafetensorsFile {
    std::vector<SourceTensor> tensors;
    std::vector<uint64_t> offsets;
};

// Reads and checks the header. Tensors must fill the data without a gap or an overlap, each as
// long as its type and shape say. Errors: bad_file, io.
Status read_safetensors_header(const File& file, SafetensorsFile* out);

// The weight_map of a *.index.json: tensor and file names, by tensor. Files lie in the index's
// own folder: a path is refused (bad_file).
using WeightMap = std::vector<std::pair<std::string, std::string>>;
Status read_weight_map(const std::string& path, WeightMap* map);

// Opens one file, or an index with all its files.
Status open_safetensors(const std::string& path, const OpenOptions& options,
                        std::unique_ptr<Checkpoint>* checkpoint);
Status open_safetensors_index(const std::string& path, const OpenOptions& options,
                              std::unique_ptr<Checkpoint>* checkpoint);

}  // namespace minigpt::convert
