// TensorFlow's checkpoints, the format in which OpenAI published GPT-2.
//
//     PREFIX.index                  a table from names to places
//     PREFIX.data-00000-of-00002    the numbers, little-endian
//     hparams.json                  n_vocab, n_ctx, n_embd, n_head, n_layer
//     checkpoint                    names the latest PREFIX in the folder
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "convert/checkpoint.h"

namespace minigpt::convert {

// The name of the index file that the file `checkpoint` in a folder gives as the latest; empty if
// it gives none. Errors: io, bad_file.
Status latest_tensorflow(const std::string& folder, std::string* name);

// Reads hparams.json. Errors (bad_file): a size that is missing, zero or not a number.
Status parse_hparams(const std::string& json, SourceConfig* config);

// LevelDB's table format. TensorFlow stores a checkpoint's index in it.
//
//     data blocks, a metaindex block, an index block: their entries in ascending order of keys
//     the last 48 bytes: handles of the metaindex and the index block, zeros, the magic number
//
//     block     entries, u32 restarts[n], u32 n; then a trailer: u8 compression (0 none, 1 snappy),
//               u32 the masked CRC-32C of the block and that byte
//     entry     varints shared, n_key, n_value; n_key bytes that follow the first `shared` of the
//               key before; n_value bytes
//     restart   the offset of an entry with a whole key
//     handle    varints offset, size (without the trailer)
//
// The index block's values are handles of the data blocks. Each key is at least the last key of its
// data block.

constexpr char kTableMagic[] = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";  // 0xdb4775248b80fb57
constexpr size_t kMaxTable = size_t{16} << 20;

// Calls on_entry with each entry of a whole table, of at most kMaxTable bytes. Keys must be in
// strictly ascending order. `value` is valid during the call. Memory, and the length of all keys
// together: at most 64 MB.
//
// Errors: bad_file, with the place; not_supported: another compression; errors of on_entry.
using OnEntry = std::function<Status(const std::string& key, const std::string& value)>;
Status read_table(const std::string& bytes, const OnEntry& on_entry);

// The protobuf messages in the index of a TensorFlow checkpoint (tensor_bundle.proto).

// BundleHeaderProto, the value of the key "".
//
//     1 num_shards, 2 endianness (0 little, 1 big), 3 version {1 producer, 2 min_consumer}
//
// Errors: bad_file: not a message, no shards; not_supported: big-endian data, a later version, the
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

// Errors (bad_file): not a message, a negative size, over 16 dimensions.
Status parse_bundle_entry(const std::string& message, BundleEntry* entry);

// The name of a dtype: "DT_FLOAT" for 1; "dtype 99" for an unknown one.
std::string name_of_dtype(uint64_t dtype);
constexpr uint64_t kDtFloat = 1, kDtBfloat16 = 14, kDtHalf = 19;

}  // namespace minigpt::convert
