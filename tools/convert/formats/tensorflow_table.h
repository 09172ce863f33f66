// LevelDB's table format, which TensorFlow keeps a checkpoint's index in.
//
//     data blocks, a metaindex block, an index block: entries by ascending key
//     the last 48 bytes: the handles of the last two, zeros, the magic number
//
//     block     entries, u32 restarts[n], u32 n; then a trailer: u8 compression (0 none, 1 snappy),
//               u32 the masked CRC-32C of the block and that byte
//     entry     varints shared, n_key, n_value; n_key bytes that follow the first `shared` of the
//               key before; n_value bytes
//     restart   where an entry begins whose key is whole
//     handle    varints offset, size (without the trailer)
//
// The index block's values are the data blocks' handles, its keys at least their last keys.
#pragma once

#include <functional>
#include <string>

#include "minigpt/status.h"

namespace minigpt::convert {

constexpr char kTableMagic[] = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";  // 0xdb4775248b80fb57
constexpr size_t kMaxTable = size_t{16} << 20;

// Calls on_entry with each entry of a whole table, of at most kMaxTable bytes, in the order of
// their keys, which is strict. `value` holds for the call. Memory, and the length of all keys
// together: at most 64 MB.
//
// Errors: bad_file, with the place; not_supported: another compression; what on_entry returns.
using OnEntry = std::function<Status(const std::string& key, const std::string& value)>;
Status read_table(const std::string& bytes, const OnEntry& on_entry);

}  // namespace minigpt::convert
