#include "ops/product.h"

#include "ops/parallel.h"

namespace minigpt {
namespace {

// A panel's block of kKc inputs, 24 KB as f32, stays in the L1 cache while the tiles of a group
// of rows pass over it; the group's block of activations, 400 KB, stays in L2 while the panels
// pass over that.
constexpr size_t kKc = 384;
constexpr size_t kGroupTiles = 44;

// Of q4 a panel's block is 14 KB, and the group's activations 500 KB.
constexpr size_t kKcInt8 = 4 * kKc;

// The most tiles for which reading the weights counts more than multiplying, and what they pass
// over together: 4 KB of each stream, in L1 while the next 4 KB come from memory.
constexpr size_t kFewTiles = 6;
constexpr size_t kFewBytes = 4096;

// Units of work a thread gets, on average, so that a slow one leaves some to the others.
constexpr size_t kUnitsPerThread = 3;

size_t divide_up(size_t n, size_t d) {
    return (n + d - 1) / d;
}

const void* after(const void* p, uint64_t n_bytes) {
    return static_cast<const char*>(p) + static_cast<size_t>(n_bytes);
}

// A tile of m rows from input k on, `row` rows into a.
const void* tile_at(const Product& x, size_t row, size_t m, size_t k) {
    if (traits_of(x.type).with == ComputesWith::int8)
        return after(x.a, quantized_bytes(row, x.k) + quantized_bytes(m, k));
    return static_cast<const float*>(x.a) + row * x.k + k * m;
}

// n_panels of them, `apart` from one to the next.
PanelGemm panels_of(const Product& x, size_t panel, size_t n_panels, size_t apart) {
    size_t j = panel * kPanel;
    size_t last = (panel + (n_panels - 1) * apart) * kPanel;
    PanelGemm g = {};
    g.c = x.c + j;
    g.ldc = x.ldc;
    g.b = after(x.b, panel * panel_bytes(x.type, x.k));
    g.b_stride = apart * static_cast<size_t>(panel_bytes(x.type, x.k));
    g.n = (n_panels - 1) * kPanel + (x.n - last < kPanel ? x.n - last : kPanel);
    g.k = x.k;
    g.bias = x.bias == nullptr ? nullptr : x.bias + j;
    g.accumulate = x.accumulate;
    g.apart = apart * kPanel;
    return g;
}

// Small products stay on their thread.
ThreadPool* pool_for(const Compute& compute, const Product& x) {
    return x.n_rows * x.n * x.k < kSerialProducts ? nullptr : pool_of(compute);
}

// The inputs k ... k + n_k - 1 of g, whose b begins there, times the tiles [tile, tile_end). Each
// tile asks for its share of `next`, as much as g reads of each panel; nullptr: of nothing.
void multiply_tiles(const KernelTable& kernels, const Product& x, PanelGemm g, ElementType type,
                    size_t k, size_t n_k, size_t tile, size_t tile_end, const void* next) {
    size_t share = divide_up(static_cast<size_t>(panel_bytes(type, n_k)), tile_end - tile);
    float* c = g.c;
    g.k = n_k;
    if (k > 0)
        g.accumulate = true;
    if (k + n_k < x.k)
        g.bias = nullptr;
    for (size_t t = tile; t < tile_end; ++t) {
        size_t row = first_row(x.n_rows, t);
        g.m = first_row(x.n_rows, t + 1) - row;
        g.a = tile_at(x, row, g.m, k);
        g.c = c + row * x.ldc;
        if (next != nullptr) {
            g.next = after(next, (t - tile) * share);
            g.next_bytes = share;
        }
        kernels.panel_gemm[static_cast<size_t>(type)](g);
    }
}

// All tiles, a few, times one panel of each stream.
void multiply_streams(const KernelTable& kernels, const Product& x, PanelGemm g) {
    size_t n_tiles = tile_count(x.n_rows);
    size_t kc = kFewBytes / static_cast<size_t>(panel_bytes(x.type, kGroup)) * kGroup;
    // The streams are read side by side by one tile, if its kernel takes as many panels.
    bool flows = x.n_rows == 1 || (n_tiles == 1 && kernels.tile_panels == kStreams);
    if (flows)
        kc = x.k;
    const void* b = g.b;
    size_t k = 0;
    do {
        size_t n_k = x.k - k < kc ? x.k - k : kc;
        g.b = after(b, panel_bytes(x.type, k));
        const void* next = after(g.b, flows ? kAhead : panel_bytes(x.type, n_k));
        multiply_tiles(kernels, x, g, x.type, k, n_k, 0, n_tiles, next);
        k += n_k;
    } while (k < x.k);
}

// A few rows: the weights pass once, and that is the whole cost. Stream s is the panels from
// s * n_quads on; those that are left over are neighbours.
void multiply_few(const Compute& compute, const Product& x) {
    ThreadPool* pool = pool_for(compute, x);
    size_t n_threads = thread_count(pool);
    size_t n_panels = panel_count(x.n), n_quads = n_panels / kStreams;
    size_t n_units = n_threads == 1 ? 1 : n_threads * kUnitsPerThread;
    for_each_unit(pool, n_units, [&](size_t unit, size_t) {
        size_t end = n_quads * (unit + 1) / n_units;
        for (size_t quad = n_quads * unit / n_units; quad < end; ++quad)
            multiply_streams(kernels_of(compute), x, panels_of(x, quad, kStreams, n_quads));
        size_t done = n_quads * kStreams;
        if (unit + 1 == n_units && done < n_panels)
            multiply_streams(kernels_of(compute), x, panels_of(x, done, n_panels - done, 1));
    });
}

// Inputs of a block; a multiple of a group, but for the last.
size_t block_inputs(ElementType type, size_t k) {
    size_t most = traits_of(type).with == ComputesWith::int8 ? kKcInt8 : kKc;
    size_t n_blocks = divide_up(k, most);
    return n_blocks == 0 ? 0 : round_up(divide_up(k, n_blocks), kGroup);
}

// The first n_k inputs of g's panels of q8 as f32, in `wide`, in their place.
void widen_panels(const KernelTable& kernels, PanelGemm* g, size_t n_k, float* wide) {
    for (size_t p = 0; p * kPanel < g->n; ++p)
        kernels.widen_q8(wide + p * n_k * kPanel, after(g->b, p * g->b_stride), n_k);
    g->b = wide;
    g->b_stride = n_k * kPanel * sizeof(float);
}

// The tiles [tile, tile_end) times the panels [panel, panel_end). wide: where a block of weights
// becomes f32, once for all tiles; nullptr: nowhere.
void multiply_block(const KernelTable& kernels, const Product& x, size_t tile, size_t tile_end,
                    size_t panel, size_t panel_end, float* wide) {
    const size_t kc = block_inputs(x.type, x.k);
    size_t k = 0;
    do {
        size_t n_k = x.k - k < kc ? x.k - k : kc;
        for (size_t p = panel; p < panel_end; p += kernels.tile_panels) {
            size_t left = panel_end - p;
            size_t n_panels = left < kernels.tile_panels ? left : kernels.tile_panels;
            PanelGemm g = panels_of(x, p, n_panels, 1);
            g.b = after(g.b, panel_bytes(x.type, k));
            if (wide != nullptr) {
                widen_panels(kernels, &g, n_k, wide);
                multiply_tiles(kernels, x, g, ElementType::f32, k, n_k, tile, tile_end, nullptr);
            } else {
                const void* next = after(g.b, n_panels * panel_bytes(x.type, x.k));
                multiply_tiles(kernels, x, g, x.type, k, n_k, tile, tile_end, next);
            }
        }
        k += n_k;
    } while (k < x.k);
}

// Floats of one thread's block.
size_t wide_floats(const Compute& compute, size_t k) {
    size_t kc = k < kKc ? k : kKc;
    return kernels_of(compute).tile_panels * kPanel * kc;
}

}  // namespace

void interleave_tiles(const Compute& compute, float* y, const float* x, size_t ldx, size_t n_rows,
                      size_t k) {
    ThreadPool* pool = n_rows * k < kSerialNumbers ? nullptr : pool_of(compute);
    for_each_unit(pool, tile_count(n_rows), [&](size_t tile, size_t) {
        size_t row = first_row(n_rows, tile);
        kernels_of(compute).interleave(y + row * k, x + row * ldx, ldx,
                                       first_row(n_rows, tile + 1) - row, k);
    });
}

void quantize_tiles(const Compute& compute, void* y, const float* x, size_t ldx, size_t n_rows,
                    size_t k) {
    ThreadPool* pool = n_rows * k < kSerialNumbers ? nullptr : pool_of(compute);
    for_each_unit(pool, tile_count(n_rows), [&](size_t tile, size_t) {
        size_t row = first_row(n_rows, tile);
        kernels_of(compute).quantize(static_cast<char*>(y) + quantized_bytes(row, k), x + row * ldx,
                                     ldx, first_row(n_rows, tile + 1) - row, k);
    });
}

size_t wide_bytes(const Compute& compute, size_t k) {
    return thread_count(pool_of(compute)) *
           round_up(wide_floats(compute, k) * sizeof(float), kAlign);
}

void multiply(const Compute& compute, const Product& x) {
    size_t n_tiles = tile_count(x.n_rows);
    if (n_tiles == 0 || x.n == 0)
        return;
    if (n_tiles <= kFewTiles)
        return multiply_few(compute, x);
    ThreadPool* pool = pool_for(compute, x);
    size_t n_threads = thread_count(pool);
    size_t n_panels = panel_count(x.n);
    size_t step = n_panels;
    if (n_threads > 1)
        step = round_up(divide_up(n_panels, n_threads * kUnitsPerThread),
                        kernels_of(compute).tile_panels);
    size_t n_steps = divide_up(n_panels, step);
    size_t n_groups = divide_up(n_tiles, kGroupTiles);
    if (n_groups * n_steps < n_threads)
        n_groups = divide_up(n_threads, n_steps);
    if (n_groups > n_tiles)
        n_groups = n_tiles;
    // f16 and bf16 are widened in the kernel, at no cost: it has loads to spare.
    const ElementTraits& traits = traits_of(x.type);
    bool widens = x.scratch != nullptr && is_grouped(x.type) && traits.with == ComputesWith::f32;
    size_t wide_stride = round_up(wide_floats(compute, x.k), kPanel);
    // Groups of rows are the inner index: the second finds the weights in a cache.
    for_each_unit(pool, n_steps * n_groups, [&](size_t unit, size_t thread) {
        size_t panel = unit / n_groups * step;
        size_t group = unit % n_groups;
        multiply_block(kernels_of(compute), x, n_tiles * group / n_groups,
                       n_tiles * (group + 1) / n_groups, panel,
                       panel + step < n_panels ? panel + step : n_panels,
                       widens ? static_cast<float*>(x.scratch) + thread * wide_stride : nullptr);
    });
}

}  // namespace minigpt
