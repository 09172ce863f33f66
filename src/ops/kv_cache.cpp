#include "ops/kv_cache.h"

#include <cstring>

#include "base/buffer.h"
#include "base/rounding.h"
#include "ops/panels.h"
#include "ops/parallel.h"

namespace minigpt {
namespace {

size_t padded(size_t n) {
    return round_up(n, kPanel);
}

size_t key_panel_bytes(ElementType type, size_t head_dim) {
    return static_cast<size_t>(panel_bytes(type, head_dim));
}

size_t value_panel_bytes(ElementType type, size_t n_ctx) {
    return static_cast<size_t>(panel_bytes(type, padded(n_ctx)));
}

size_t value_bytes(ElementType type, size_t n_head, size_t head_dim, size_t n_ctx) {
    return n_head * panel_count(head_dim) * value_panel_bytes(type, n_ctx);
}

// Where a head's part of k, of v and of v's scales begins.
struct Head {
    char* k;
    char* v;
    float* scales;  // q8 alone
    size_t n_ctx;
};

Head head_of(const KvCache& c, const void* k, const void* v, size_t n_ctx, size_t head) {
    // A prefix is read only; which of the two it is, is the caller's to know.
    char* keys = static_cast<char*>(const_cast<void*>(k));
    char* values = static_cast<char*>(const_cast<void*>(v));
    char* scales = values + value_bytes(c.type, c.n_head, c.head_dim, n_ctx);
    return {keys + head * panel_count(n_ctx) * key_panel_bytes(c.type, c.head_dim),
            values + head * panel_count(c.head_dim) * value_panel_bytes(c.type, n_ctx),
            reinterpret_cast<float*>(scales) + head * n_ctx, n_ctx};
}

Head own_head(const KvCache& c, size_t head) {
    return head_of(c, c.k, c.v, c.n_ctx, head);
}

// The head of the cache that position j lies in; *j becomes its place there.
Head head_at(const KvCache& c, size_t head, size_t* j) {
    if (*j < c.n_prefix)
        return head_of(c, c.prefix_k, c.prefix_v, c.prefix_ctx, head);
    *j -= c.n_prefix;
    return own_head(c, head);
}

uint16_t to_f16_in_range(float x) {
    constexpr float kLargest = 65504;
    return float_to_f16(x > kLargest ? kLargest : x < -kLargest ? -kLargest : x);
}

void put(void* cache, ElementType type, size_t n, float x) {
    if (type == ElementType::f32) {
        static_cast<float*>(cache)[n] = x;
    } else {
        static_cast<uint16_t*>(cache)[n] = to_f16_in_range(x);
    }
}

// The largest magnitude of x [n]; NaN if a number is not finite.
float largest_magnitude(const float* x, size_t n) {
    uint32_t largest = 0;
    for (size_t i = 0; i < n; ++i) {
        uint32_t magnitude = float_to_bits(x[i]) & 0x7fffffff;
        largest = magnitude > largest ? magnitude : largest;
    }
    return bits_to_float(largest < 0x7f800000 ? largest : 0x7fc00000);
}

// Group g of the panel that position `at` lies in: its scale, and 32 of its channels.
void put_q8_keys(char* panel, size_t at, const float* x, size_t head_dim) {
    for (size_t e0 = 0; e0 < head_dim; e0 += kGroup, panel += kQ8GroupBytes) {
        size_t n = head_dim - e0 < kGroup ? head_dim - e0 : kGroup;
        float largest = largest_magnitude(x + e0, n);
        uint16_t scale = largest == largest ? stored_scale(largest / 127.0f) : kHalfNaN;
        if (scale == kHalfInfinity)
            scale = to_f16_in_range(largest / 127.0f);
        float inv = inverse(scale);
        reinterpret_cast<uint16_t*>(panel)[at % kPanel] = scale;
        int8_t* q = reinterpret_cast<int8_t*>(panel + kQ8Scales) + at % kPanel;
        for (size_t e = 0; e < n; ++e)
            q[e * kPanel] = to_q8(x[e0 + e], inv);
    }
}

// Position `at` of the panels of v: the whole head has one scale, and the groups' are 1.
void put_q8_values(const Head& head, size_t panel_bytes, size_t at, const float* x,
                   size_t head_dim) {
    constexpr uint16_t kHalfOne = 0x3c00;
    // Under 2^-80 a reciprocal could overflow, and nothing is lost.
    constexpr float kLeast = 0x1p-80f;
    float largest = largest_magnitude(x, head_dim);
    float scale = largest < kLeast ? 0.0f : largest / 127.0f;
    float inv = scale > 0 ? 1.0f / scale : 0.0f;
    head.scales[at] = scale;
    char* group = head.v + at / kGroup * kQ8GroupBytes;
    for (size_t e0 = 0; e0 < head_dim; e0 += kPanel, group += panel_bytes) {
        uint16_t* scales = reinterpret_cast<uint16_t*>(group);
        int8_t* q = reinterpret_cast<int8_t*>(group + kQ8Scales) + at % kGroup * kPanel;
        size_t n = head_dim - e0 < kPanel ? head_dim - e0 : kPanel;
        for (size_t e = 0; e < kPanel && at % kGroup == 0; ++e)
            scales[e] = kHalfOne;
        for (size_t e = 0; e < n; ++e)
            q[e] = to_q8(x[e0 + e], inv);
    }
}

// The keys and values of one head at position `at` of the cache's own.
void put_position(const KvCache& c, const Head& head, size_t at, const float* k, const float* v) {
    char* keys = head.k + at / kPanel * key_panel_bytes(c.type, c.head_dim);
    if (c.type == ElementType::q8) {
        put_q8_keys(keys, at, k, c.head_dim);
        put_q8_values(head, value_panel_bytes(c.type, c.n_ctx), at, v, c.head_dim);
        return;
    }
    for (size_t e = 0; e < c.head_dim; ++e) {
        put(keys, c.type, e * kPanel + at % kPanel, k[e]);
        put(head.v, c.type, (e / kPanel * padded(c.n_ctx) + at) * kPanel + e % kPanel, v[e]);
    }
}

}  // namespace

size_t k_cache_bytes(ElementType type, size_t n_head, size_t head_dim, size_t n_ctx) {
    return n_head * panel_count(n_ctx) * key_panel_bytes(type, head_dim);
}

size_t v_cache_bytes(ElementType type, size_t n_head, size_t head_dim, size_t n_ctx) {
    size_t scales = type == ElementType::q8 ? n_head * n_ctx * sizeof(float) : 0;
    return value_bytes(type, n_head, head_dim, n_ctx) + scales;
}

CachePanels cached_keys(const KvCache& cache, size_t head, size_t j) {
    Head at = head_at(cache, head, &j);
    size_t bytes = key_panel_bytes(cache.type, cache.head_dim);
    return {at.k + j / kPanel * bytes, bytes, nullptr};
}

CachePanels cached_values(const KvCache& cache, size_t head, size_t j) {
    Head at = head_at(cache, head, &j);
    size_t bytes = value_panel_bytes(cache.type, at.n_ctx);
    return {at.v + static_cast<size_t>(panel_bytes(cache.type, j)), bytes,
            cache.type == ElementType::q8 ? at.scales + j : nullptr};
}

void kv_append(const Compute& compute, const AttentionRun* runs, size_t n_runs, const float* k,
               const float* v, size_t ld) {
    size_t n_units = 0, n_numbers = 0;
    for (size_t r = 0; r < n_runs; ++r) {
        n_units += runs[r].cache.n_head;
        n_numbers += runs[r].n_rows * runs[r].cache.n_head * runs[r].cache.head_dim;
    }
    ThreadPool* pool = n_numbers < kSerialNumbers ? nullptr : pool_of(compute);
    for_each_unit(pool, n_units, [&](size_t unit, size_t) {
        const AttentionRun* run = runs;
        while (unit >= run->cache.n_head)
            unit -= run++->cache.n_head;
        const Head head = own_head(run->cache, unit);
        for (size_t i = 0; i < run->n_rows; ++i) {
            const size_t from = (run->first_row + i) * ld + unit * run->cache.head_dim;
            put_position(run->cache, head, run->n_past + i - run->cache.n_prefix, k + from,
                         v + from);
        }
    });
}

void kv_copy(const KvCache& cache, const KvCache& from, size_t first, size_t n) {
    const size_t key_bytes = key_panel_bytes(cache.type, cache.head_dim);
    const size_t to_bytes = value_panel_bytes(cache.type, cache.n_ctx);
    const size_t from_bytes = value_panel_bytes(cache.type, from.n_ctx);
    for (size_t h = 0; h < cache.n_head; ++h) {
        const Head to = own_head(cache, h), source = own_head(from, h);
        memcpy(to.k, source.k + first / kPanel * key_bytes, panel_count(n) * key_bytes);
        const char* values = source.v + static_cast<size_t>(panel_bytes(cache.type, first));
        for (size_t p = 0; p < panel_count(cache.head_dim); ++p) {
            memcpy(to.v + p * to_bytes, values + p * from_bytes,
                   static_cast<size_t>(panel_bytes(cache.type, n)));
        }
        if (cache.type == ElementType::q8)
            memcpy(to.scales, source.scales + first, n * sizeof(float));
    }
}

}  // namespace minigpt
