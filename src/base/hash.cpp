#include "base/hash.h"

#include <atomic>
#include <cstring>

#include "base/thread_pool.h"

namespace minigpt {
namespace {

constexpr size_t kStripe = 64;
constexpr size_t kChunk = 256 * 1024;
// Odd, with mixed bits: 2^64 over the golden ratio, and its square root's.
constexpr uint64_t kPrime1 = 0x9e3779b97f4a7c15;
constexpr uint64_t kPrime2 = 0xc2b2ae3d27d4eb4f;

inline uint64_t mix(uint64_t h) {
    h = (h ^ h >> 32) * kPrime2;
    h = (h ^ h >> 29) * kPrime1;
    return h ^ h >> 32;
}

// Eight lanes, so that eight multiplications are under way at once. Each step is a bijection of
// the lane: a single changed word always changes the result.
inline void absorb(uint64_t lanes[8], const unsigned char* p) {
    for (int i = 0; i < 8; i++) {
        uint64_t word;
        memcpy(&word, p + 8 * i, 8);
        uint64_t h = (lanes[i] ^ word) * kPrime1;
        lanes[i] = h << 29 | h >> 35;
    }
}

inline uint64_t fold(const uint64_t lanes[8], uint64_t index, uint64_t n_bytes) {
    uint64_t h = mix(index + kPrime1) + n_bytes;
    for (int i = 0; i < 8; i++)
        h = mix(h ^ lanes[i]);
    return h;
}

uint64_t hash_chunk(const unsigned char* p, size_t n_bytes, uint64_t index) {
    uint64_t lanes[8] = {};
    size_t i = 0;
    for (; i + kStripe <= n_bytes; i += kStripe)
        absorb(lanes, p + i);
    if (i < n_bytes) {
        unsigned char last[kStripe] = {};
        memcpy(last, p + i, n_bytes - i);
        absorb(lanes, last);
    }
    return fold(lanes, index, n_bytes);
}

}  // namespace

void Hash64::stripe(const unsigned char* p) {
    absorb(lanes_, p);
}

void Hash64::end_chunk() {
    size_t held = in_chunk_ % kStripe;
    if (held != 0) {
        memset(tail_ + held, 0, kStripe - held);
        stripe(tail_);
    }
    uint64_t index = n_bytes_ == 0 ? 0 : (n_bytes_ - 1) / kChunk;
    sum_ += fold(lanes_, index, in_chunk_);
    memset(lanes_, 0, sizeof lanes_);
    in_chunk_ = 0;
}

void Hash64::update(const void* data, size_t n_bytes) {
    const unsigned char* p = static_cast<const unsigned char*>(data);
    while (n_bytes != 0) {
        size_t held = in_chunk_ % kStripe;
        size_t take = kStripe - held < n_bytes ? kStripe - held : n_bytes;
        if (take == kStripe) {
            stripe(p);
        } else {
            memcpy(tail_ + held, p, take);
            if (held + take == kStripe)
                stripe(tail_);
        }
        p += take;
        n_bytes -= take;
        n_bytes_ += take;
        in_chunk_ += take;
        if (in_chunk_ == kChunk)
            end_chunk();
    }
}

uint64_t Hash64::finish() {
    if (in_chunk_ != 0)
        end_chunk();
    return mix(sum_ + n_bytes_);
}

namespace {

// What threads add to. Without threads a plain number: some CPUs have no atomic one of 64 bits.
class SharedSum {
public:
#if defined(MINIGPT_NO_threads)
    void add(uint64_t part) {
        sum_ += part;
    }
    uint64_t get() const {
        return sum_;
    }

private:
    uint64_t sum_ = 0;
#else
    void add(uint64_t part) {
        sum_.fetch_add(part, std::memory_order_relaxed);
    }
    uint64_t get() const {
        return sum_.load();
    }

private:
    std::atomic<uint64_t> sum_{0};
#endif
};

}  // namespace

uint64_t hash64(const void* data, size_t n_bytes, ThreadPool* pool) {
    const unsigned char* p = static_cast<const unsigned char*>(data);
    size_t n_chunks = n_bytes / kChunk + (n_bytes % kChunk != 0);
    SharedSum sum;
    parallel_for(pool, n_chunks, 1, [&](size_t begin, size_t end) {
        uint64_t part = 0;
        for (size_t i = begin; i < end; i++) {
            size_t at = i * kChunk;
            part += hash_chunk(p + at, n_bytes - at < kChunk ? n_bytes - at : kChunk, i);
        }
        sum.add(part);
    });
    return mix(sum.get() + n_bytes);
}

}  // namespace minigpt
