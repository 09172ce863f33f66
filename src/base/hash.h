// The weight file's checksum: fast on any CPU, the same on all. Threads compute it in pieces.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minigpt {

class ThreadPool;

// hash64 as models/FORMAT.md defines it: each chunk of 256 KiB is hashed with its index; the sum of
// these hashes and the length are mixed. It detects damage, but does not protect against attackers.
class Hash64 {
public:
    void update(const void* data, size_t n_bytes);
    uint64_t finish();

private:
    void stripe(const unsigned char* p);
    void end_chunk();

    uint64_t lanes_[8] = {};
    uint64_t sum_ = 0;
    uint64_t n_bytes_ = 0;  // in total
    size_t in_chunk_ = 0;   // bytes of the current chunk, including those in tail_
    unsigned char tail_[64] = {};
};

// The hash of one array, computed on the pool's threads (nullptr: one thread).
uint64_t hash64(const void* data, size_t n_bytes, ThreadPool* pool = nullptr);

}  // namespace minigpt
