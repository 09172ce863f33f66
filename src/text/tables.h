// The tokenizer's tables as they lie in a weight file, and look-ups in them.
// models/FORMAT.md describes them byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "minigpt/status.h"
#include "minigpt/tokenizer.h"

namespace minigpt {

constexpr char kTokenizerMagic[4] = {'M', 'G', 'T', 'K'};
constexpr uint32_t kTokenizerVersion = 1;

struct TokenizerHeader {
    char magic[4];
    uint32_t version;
    uint64_t bytes;       // of all the tables, this header included
    uint64_t text_bytes;  // of all tokens together
    uint32_t kind;        // TokenizerKind
    uint32_t n_tokens;
    int32_t eos;
    uint32_t n_specials;
    uint32_t longest_special;  // in bytes
    uint32_t n_merges;
    uint32_t longest_token;  // in bytes
    uint32_t index_bits;     // the index has 1 << index_bits slots
    uint32_t index_seed;
    uint32_t index_probes;  // how many slots a look-up has to visit, at most
    uint32_t merge_bits;
    uint32_t merge_seed;
    uint32_t merge_probes;
    uint32_t reserved[5];
};
static_assert(sizeof(TokenizerHeader) == 96, "the header is part of the file format");

constexpr uint32_t kNone = 0xffffffff;       // an empty slot, no token, no rank
constexpr uint32_t kWholeWord = 0x80000000;  // in IndexSlot::id: merging gives this token alone
constexpr uint32_t kMaxProbes = 16;          // bounds a look-up in any table
constexpr uint32_t kMinBits = 4;             // for the two hash tables
constexpr uint32_t kMaxBits = 30;
constexpr uint32_t kMaxTokens = 1 << 28;
constexpr uint32_t kMaxSpecialBytes = 1024;  // bounds the search for special tokens in text

struct IndexSlot {
    uint32_t hash;  // the low half of hash_bytes()
    uint32_t id;    // kNone: empty; else the token, with or without the bit kWholeWord
};

struct MergeSlot {
    uint32_t left, right;  // left == kNone: empty
    uint32_t rank, merged;
};

// The sections, in the file's order; each begins at a multiple of 8 bytes.
struct Tables {
    const TokenizerHeader* header;
    const IndexSlot* index;             // [1 << index_bits]
    const MergeSlot* merges;            // [1 << merge_bits]; bpe only
    const uint32_t* offsets;            // [n_tokens + 1], into text
    const uint32_t* byte_ids;           // [256]: the token of a single byte, or kNone
    const uint32_t* specials;           // [n_specials], by id
    const uint32_t* specials_by_bytes;  // [n_specials], the same, ordered by their bytes
    const char* text;                   // [text_bytes]
};

// Computes where the sections of `header` lie. In a valid table the total is header->bytes. The
// header's counts must be within the limits above.
uint64_t lay_out(const TokenizerHeader* header, Tables* tables);

// Checks the header, and that the sections fill exactly `bytes`. The contents of the sections are
// checked when they are used. Errors: bad_file.
Status open_tables(const void* data, size_t bytes, Tables* tables);

// The bytes of a token. Returns false if a damaged table points outside itself.
inline bool token_bytes(const Tables& t, uint32_t id, const char** bytes, size_t* n_bytes) {
    if (id >= t.header->n_tokens)
        return false;
    uint32_t begin = t.offsets[id], end = t.offsets[id + 1];
    if (begin > end || end > t.header->text_bytes)
        return false;
    *bytes = t.text + begin;
    *n_bytes = end - begin;
    return true;
}

inline uint64_t load8(const char* p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

// The first n < 8 bytes at p, padded with zeros. Reads only these n bytes.
inline uint64_t load_part(const char* p, size_t n) {
    if (n >= 4) {
        uint32_t low, high;
        memcpy(&low, p, sizeof low);
        memcpy(&high, p + n - 4, sizeof high);
        return low | static_cast<uint64_t>(high) << (n - 4) * 8;
    }
    if (n == 0)
        return 0;
    auto at = [&](size_t i) { return uint64_t{static_cast<unsigned char>(p[i])} << i * 8; };
    return at(0) | at(n / 2) | at(n - 1);
}

// Odd constants with evenly spread bits: the golden ratio's, and two of xxHash64's primes.
constexpr uint64_t kMix1 = 0x9e3779b97f4a7c15;
constexpr uint64_t kMix2 = 0xc2b2ae3d27d4eb4f;
constexpr uint64_t kMix3 = 0x165667b19e3779f9;

inline uint64_t hash_bytes(const char* p, size_t n, uint32_t seed) {
    uint64_t h = seed * kMix3 + n;
    for (; n >= 8; p += 8, n -= 8) {
        h = (h ^ load8(p)) * kMix1;
        h ^= h >> 32;
    }
    h = (h ^ load_part(p, n)) * kMix1;
    return (h ^ h >> 32) * kMix2;
}

inline uint64_t hash_pair(uint32_t left, uint32_t right, uint32_t seed) {
    uint64_t h = (left + right * kMix1 + seed * kMix3) * kMix2;
    return (h ^ h >> 32) * kMix1;
}

// The slot of the token with these bytes, or nullptr.
inline const IndexSlot* find_token(const Tables& t, const char* bytes, size_t n_bytes) {
    const TokenizerHeader& header = *t.header;
    if (n_bytes == 0 || n_bytes > header.longest_token)
        return nullptr;
    uint64_t hash = hash_bytes(bytes, n_bytes, header.index_seed);
    size_t mask = (size_t{1} << header.index_bits) - 1;
    size_t slot = static_cast<size_t>(hash >> (64 - header.index_bits));
    for (uint32_t probe = 0; probe < header.index_probes; probe++, slot = (slot + 1) & mask) {
        const IndexSlot& s = t.index[slot];
        if (s.id == kNone)
            return nullptr;
        if (s.hash != static_cast<uint32_t>(hash))
            continue;
        const char* found;
        size_t n_found;
        if (token_bytes(t, s.id & ~kWholeWord, &found, &n_found) && n_found == n_bytes &&
            memcmp(found, bytes, n_bytes) == 0) {
            return &s;
        }
    }
    return nullptr;
}

// The merge of a pair, or nullptr.
inline const MergeSlot* find_merge(const Tables& t, uint32_t left, uint32_t right) {
    const TokenizerHeader& header = *t.header;
    uint64_t hash = hash_pair(left, right, header.merge_seed);
    size_t mask = (size_t{1} << header.merge_bits) - 1;
    size_t slot = static_cast<size_t>(hash >> (64 - header.merge_bits));
    for (uint32_t probe = 0; probe < header.merge_probes; probe++, slot = (slot + 1) & mask) {
        const MergeSlot& s = t.merges[slot];
        if (s.left == left && s.right == right)
            return &s;
        if (s.left == kNone)
            return nullptr;
    }
    return nullptr;
}

// Where encoded tokens go.
struct IdSink {
    int32_t* ids;  // [capacity]
    size_t capacity;
    size_t n;
};

// Appends a token. Returns false if the id is outside the vocabulary (a damaged table) or there is
// no room. put_id_error then says which: bad_file or bad_argument.
Status put_id_error(const Tables& t, const IdSink& sink, uint32_t id);
inline bool put_id(const Tables& t, IdSink* sink, uint32_t id) {
    if (id >= t.header->n_tokens || sink->n == sink->capacity)
        return false;
    sink->ids[sink->n++] = static_cast<int32_t>(id);
    return true;
}

}  // namespace minigpt
