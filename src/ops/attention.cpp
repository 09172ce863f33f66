#include "ops/attention.h"

#include <cstring>

#include "base/buffer.h"
#include "kernels/kernels.h"
#include "ops/parallel.h"
#include "ops/product.h"

namespace minigpt {
namespace {

// Rows of one head that are computed together: four tiles, whose scores over 1024 keys take
// 100 KB of L2.
constexpr size_t kBlockRows = 4 * kMaxRowTile;
// Keys that pass over the block's tiles while they are in L1: four panels of 4 KB at head_dim 64.
constexpr size_t kBlockKeys = 4 * kPanel;

size_t padded(size_t n) {
    return round_up(n, kPanel);
}

// One cache line more than the keys: rows a power of two apart would share the cache's sets.
size_t score_stride(size_t n_ctx) {
    return padded(n_ctx) + kPanel;
}

// One thread's scratch.
struct Scratch {
    float* q;       // [kBlockRows, head_dim] as tiles
    float* scores;  // [kBlockRows, score_stride]; probs after softmax
    float* probs;   // [n_ctx, kMaxRowTile]: a tile's, interleaved
};

size_t scratch_floats(size_t n_ctx, size_t head_dim) {
    return padded(kBlockRows * head_dim) + kBlockRows * score_stride(n_ctx) +
           padded(kMaxRowTile * n_ctx);
}

Scratch scratch_of(void* scratch, size_t thread, size_t n_ctx, size_t head_dim) {
    float* at = static_cast<float*>(scratch) + thread * scratch_floats(n_ctx, head_dim);
    float* scores = at + padded(kBlockRows * head_dim);
    return {at, scores, scores + kBlockRows * score_stride(n_ctx)};
}

// Rows row ... row + n_rows - 1 of a run, one head of them.
struct Block {
    const AttentionRun* run;
    size_t head, row, n_rows;

    // Keys that row i of the block sees.
    size_t keys(size_t i) const { return run->n_past + row + i + 1; }
};

// A single row waits for memory alone: `bytes` of each panel, from `ahead` on, come meanwhile.
void set_next(PanelGemm* g, size_t ahead, size_t bytes) {
    g->next = static_cast<const char*>(g->b) + ahead;
    g->next_bytes = bytes;
}

// scores[i, j] = q[i] . k[j] for the keys that some row of i's tile sees.
void compute_scores(const KernelTable& kernels, const Block& block, const float* q, size_t ldq,
                    const Scratch& scratch, size_t ld_scores) {
    const KvCache& cache = block.run->cache;
    const size_t head_dim = cache.head_dim;
    const auto panel_gemm = kernels.panel_gemm[static_cast<size_t>(cache.type)];
    const size_t n_tiles = tile_count(block.n_rows);
    const float* tiles = q;
    if (block.n_rows > 1) {
        for (size_t t = 0; t < n_tiles; ++t) {
            size_t i = first_row(block.n_rows, t);
            kernels.interleave(scratch.q + i * head_dim, q + i * ldq, ldq,
                               first_row(block.n_rows, t + 1) - i, head_dim);
        }
        tiles = scratch.q;
    }
    for (size_t j = 0, next; j < block.keys(block.n_rows - 1); j = next) {
        // A single row has nothing to pass over twice.
        next = block.n_rows == 1 ? block.keys(0) : j + kBlockKeys;
        if (j < cache.n_prefix && cache.n_prefix < next)
            next = cache.n_prefix;
        CachePanels keys = cached_keys(cache, block.head, j);
        for (size_t t = 0; t < n_tiles; ++t) {
            size_t i = first_row(block.n_rows, t);
            size_t end = first_row(block.n_rows, t + 1);
            size_t n_keys = block.keys(end - 1);
            if (n_keys <= j)
                continue;
            size_t n = n_keys < next ? n_keys - j : next - j;
            PanelGemm g = {scratch.scores + i * ld_scores + j,
                           ld_scores,
                           tiles + i * head_dim,
                           end - i,
                           keys.b,
                           keys.b_stride,
                           n,
                           head_dim,
                           nullptr,
                           false};
            size_t panel = static_cast<size_t>(panel_bytes(cache.type, head_dim));
            if (end - i == 1)
                set_next(&g, kStreams * panel, panel);
            panel_gemm(g);
        }
    }
}

// probs[j] *= the scale of value j, where values have scales.
void scale_probs(float* probs, const Block& block, size_t n_keys) {
    const KvCache& cache = block.run->cache;
    if (cache.type != ElementType::q8)
        return;
    for (size_t j = 0, end; j < n_keys; j = end) {
        end = j < cache.n_prefix && cache.n_prefix < n_keys ? cache.n_prefix : n_keys;
        const float* scales = cached_values(cache, block.head, j).scales;
        for (size_t i = j; i < end; ++i)
            probs[i] *= scales[i - j];
    }
}

// c (+)= the sum over keys `from` ... `to` - 1 of a[key] v[key]: m rows of one head.
//
//   a  [to - from, m]
void add_values(const KernelTable& kernels, const Block& block, float* c, size_t ldc,
                const float* a, size_t m, size_t from, size_t to) {
    const KvCache& cache = block.run->cache;
    const auto panel_gemm = kernels.panel_gemm[static_cast<size_t>(cache.type)];
    for (size_t j = from, end; j < to; j = end) {
        end = j < cache.n_prefix && cache.n_prefix < to ? cache.n_prefix : to;
        CachePanels values = cached_values(cache, block.head, j);
        PanelGemm g = {c,
                       ldc,
                       a + (j - from) * m,
                       m,
                       values.b,
                       values.b_stride,
                       cache.head_dim,
                       end - j,
                       nullptr,
                       j != 0};
        if (m == 1)
            set_next(&g, kAhead, static_cast<size_t>(panel_bytes(cache.type, end - j)));
        panel_gemm(g);
    }
}

// out[i] = sum of probs[i, j] v[j]. The keys that all rows of a tile see are one product; each
// row then goes on alone over its own last keys, and never multiplies by a masked zero.
void weigh_values(const KernelTable& kernels, const Block& block, float* out, size_t ld_out,
                  const Scratch& scratch, size_t ld_scores) {
    const size_t unit = value_unit(block.run->cache.type);
    for (size_t t = 0; t < tile_count(block.n_rows); ++t) {
        size_t i = first_row(block.n_rows, t);
        size_t end = first_row(block.n_rows, t + 1);
        size_t common = end - i > 1 ? block.keys(i) / unit * unit : 0;
        const float* probs = scratch.scores + i * ld_scores;
        if (common > 0) {
            kernels.interleave(scratch.probs, probs, ld_scores, end - i, common);
            add_values(kernels, block, out + i * ld_out, ld_out, scratch.probs, end - i, 0, common);
        }
        for (; i < end; ++i, probs += ld_scores) {
            add_values(kernels, block, out + i * ld_out, ld_out, probs + common, 1, common,
                       block.keys(i));
        }
    }
}

void copy_probs(float* probs, const Block& block, const float* from, size_t ld_scores) {
    size_t n_keys = block.run->n_past + block.run->n_rows;
    float* to = probs + (block.head * block.run->n_rows + block.row) * n_keys;
    for (size_t i = 0; i < block.n_rows; ++i, to += n_keys) {
        memcpy(to, from + i * ld_scores, block.keys(i) * sizeof(float));
        for (size_t j = block.keys(i); j < n_keys; ++j)
            to[j] = 0;
    }
}

size_t blocks_of(const AttentionRun& run) {
    return run.cache.n_head * ((run.n_rows + kBlockRows - 1) / kBlockRows);
}

// The unit-th block of all runs. Within a run the heads' last blocks, which have the most keys,
// come first, and the short ones fill the gaps at the end.
Block block_of(const AttentionRun* runs, size_t unit) {
    while (unit >= blocks_of(*runs))
        unit -= blocks_of(*runs++);
    size_t n_blocks = blocks_of(*runs) / runs->cache.n_head;
    size_t row = (n_blocks - 1 - unit / runs->cache.n_head) * kBlockRows;
    size_t left = runs->n_rows - row;
    return {runs, unit % runs->cache.n_head, row, left < kBlockRows ? left : kBlockRows};
}

}  // namespace

size_t attention_scratch_bytes(const Compute& compute, size_t n_ctx, size_t head_dim) {
    return thread_count(pool_of(compute)) * scratch_floats(n_ctx, head_dim) * sizeof(float);
}

void attention(const Compute& compute, float* out, size_t ld_out, const float* q, size_t ldq,
               const AttentionRun* runs, size_t n_runs, float scale, void* scratch, float* probs) {
    size_t n_units = 0, n_ctx = 0, n_numbers = 0;
    for (size_t r = 0; r < n_runs; ++r) {
        const AttentionRun& run = runs[r];
        n_units += blocks_of(run);
        n_numbers += run.n_rows * (run.n_past + run.n_rows) * run.cache.n_head * run.cache.head_dim;
        size_t positions = run.cache.n_prefix + run.cache.n_ctx;
        n_ctx = positions > n_ctx ? positions : n_ctx;
    }
    if (n_units == 0)
        return;
    const size_t head_dim = runs->cache.head_dim;
    ThreadPool* pool = n_numbers < kSerialNumbers ? nullptr : pool_of(compute);
    const KernelTable& kernels = kernels_of(compute);
    for_each_unit(pool, n_units, [&](size_t unit, size_t thread) {
        Block block = block_of(runs, unit);
        Scratch mine = scratch_of(scratch, thread, n_ctx, head_dim);
        size_t ld_scores = score_stride(n_ctx);
        size_t row = block.run->first_row + block.row;
        size_t column = block.head * head_dim;
        compute_scores(kernels, block, q + row * ldq + column, ldq, mine, ld_scores);
        for (size_t i = 0; i < block.n_rows; ++i) {
            float* x = mine.scores + i * ld_scores;
            kernels.softmax(x, x, block.keys(i), scale);
        }
        if (probs != nullptr)
            copy_probs(probs, block, mine.scores, ld_scores);
        for (size_t i = 0; i < block.n_rows; ++i)
            scale_probs(mine.scores + i * ld_scores, block, block.keys(i));
        weigh_values(kernels, block, out + row * ld_out + column, ld_out, mine, ld_scores);
    });
}

}  // namespace minigpt
