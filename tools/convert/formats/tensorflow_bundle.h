// The protobuf messages in the index of a TensorFlow checkpoint (tensor_bundle.proto).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "minigpt/status.h"

namespace minigpt::convert {

// BundleHeaderProto, the value of the key "".
//
//     1 num_shards, 2 endianness (0 little, 1 big), 3 version {1 producer, 2 min_consumer}
//
// Errors: bad_file: no message, no shards; not_supported: big-endian data, a later version, the
// header of a version 1 checkpoint.
Status parse_bundle_header(const std::string& message, uint64_t* n_shards);

// BundleEntryProto, the value of a tensor's name.
//
//     1 dtype, 2 shape {2 dim {1 size}, 3 unknown_rank}, 3 shard_id, 4 offset, 5 size,
//     6 crc32c (fixed32, masked), 7 slices
struct BundleEntry {
    uint64_t dtype = 0;
    std::vector<uint64_t> shape;
    bool unknown_rank = false;
    uint64_t shard = 0, offset = 0, size = 0;
    uint32_t crc = 0;  // masked
    bool sliced = false;
};

// Errors (bad_file): no message, a negative size, over 16 dimensions.
Status parse_bundle_entry(const std::string& message, BundleEntry* entry);

// "DT_FLOAT" for 1; "dtype 99" for what has no name.
std::string name_of_dtype(uint64_t dtype);
constexpr uint64_t kDtFloat = 1, kDtBfloat16 = 14, kDtHalf = 19;

}  // namespace minigpt::convert
