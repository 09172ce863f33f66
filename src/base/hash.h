// The weight file's checksum: fast on any CPU, the same on all, computed in pieces by threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minigpt {

class ThreadPool;

// hash64 as models/FORMAT.md defines it: chunks of 256 KiB are hashed each with its index, and
// the sum of those, with the length, is mixed. It finds damage; it resists no adversary.
class Hash64 {
public:
    void update(const void* data, size_t n_bytes);
    uint64_t finish();

private:
    void stripe(const unsigned char* p);
    void end_chunk();

    uint64_t lanes_[8] = {};
    uint64_t sum_ = 0;
    uint64_t n_bytes_ = 0;  // in all
    size_t in_chunk_ = 0;   // bytes of this chunk, those in tail_ included
    unsigned char tail_[64] = {};
};

// The same of one array, on the pool's threads (nullptr: one).
uint64_t hash64(const void* data, size_t n_bytes, ThreadPool* pool = nullptr);

}  // namespace minigpt
