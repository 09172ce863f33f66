#include "ops/product.h"

#include "ops/parallel.h"

namespace minigpt {
namespace {

// A panel's block of kKc inputs, 24 KB as f32, stays in the L1 cache while the tiles of a group
// of rows pass over it; the group's block of activations, 400 KB, stays in L2 while the panels
// pass over that.
constexpr size_t kKc = 384;
constexpr size_t kGroupTiles = 44;

// Units of work a thread gets, on average, so that a slow one leaves some to the others.
constexpr size_t kUnitsPerThread = 3;

size_t divide_up(size_t n, size_t d) {
    return (n + d - 1) / d;
}

const void* advance(const void* p, ElementType type, size_t n) {
    return static_cast<const char*>(p) + n * (type == ElementType::f32 ? 4 : 2);
}

PanelGemm whole(const Product& x, size_t panel, size_t n_panels) {
    size_t j = panel * kPanel;
    size_t end = (panel + n_panels) * kPanel;
    if (end > x.n)
        end = x.n;
    return {x.c + j,
            x.ldc,
            x.a,
            x.n_rows,
            advance(x.b, x.type, panel * kPanel * x.k),
            kPanel * x.k,
            end - j,
            x.k,
            x.bias == nullptr ? nullptr : x.bias + j,
            x.accumulate,
            true};
}

// A few rows, one tile: the weights pass once, and that is the whole cost. Four panels are the
// smallest unit as one row reads four side by side.
void multiply_one_tile(const Compute& compute, const Product& x) {
    auto kernel = compute.kernels().panel_gemm[static_cast<size_t>(x.type)];
    size_t n_panels = panel_count(x.n);
    size_t n_threads = thread_count(compute.pool());
    size_t step = n_threads == 1
                      ? n_panels
                      : round_up(divide_up(n_panels, n_threads * kUnitsPerThread), size_t{4});
    for_each_unit(compute.pool(), divide_up(n_panels, step), [&](size_t unit, size_t) {
        size_t panel = unit * step;
        kernel(whole(x, panel, n_panels - panel < step ? n_panels - panel : step));
    });
}

// The tiles [tile, tile_end) times the panels [panel, panel_end).
void multiply_block(const KernelTable& kernels, const Product& x, size_t tile, size_t tile_end,
                    size_t panel, size_t panel_end) {
    auto kernel = kernels.panel_gemm[static_cast<size_t>(x.type)];
    size_t n_blocks = divide_up(x.k, kKc);
    size_t kc = n_blocks == 0 ? 0 : round_up(divide_up(x.k, n_blocks), size_t{8});
    size_t k = 0;
    do {
        size_t n_k = x.k - k < kc ? x.k - k : kc;
        bool last = k + n_k == x.k;
        for (size_t p = panel; p < panel_end; p += kernels.tile_panels) {
            size_t left = panel_end - p;
            PanelGemm g = whole(x, p, left < kernels.tile_panels ? left : kernels.tile_panels);
            g.b = advance(g.b, x.type, k * kPanel);
            g.k = n_k;
            if (k > 0)
                g.accumulate = true;
            if (!last)
                g.bias = nullptr;
            float* c = g.c;
            for (size_t t = tile; t < tile_end; ++t) {
                size_t row = first_row(x.n_rows, t);
                g.m = first_row(x.n_rows, t + 1) - row;
                g.a = x.a + row * x.k + k * g.m;
                g.c = c + row * x.ldc;
                kernel(g);
                g.prefetch = false;  // the first tile's was enough
            }
        }
        k += n_k;
    } while (k < x.k);
}

}  // namespace

void interleave_tiles(const Compute& compute, float* y, const float* x, size_t ldx, size_t n_rows,
                      size_t k) {
    ThreadPool* pool = n_rows * k < kSerialNumbers ? nullptr : compute.pool();
    for_each_unit(pool, tile_count(n_rows), [&](size_t tile, size_t) {
        size_t row = first_row(n_rows, tile);
        compute.kernels().interleave(y + row * k, x + row * ldx, ldx,
                                     first_row(n_rows, tile + 1) - row, k);
    });
}

void multiply(const Compute& compute, const Product& x) {
    size_t n_tiles = tile_count(x.n_rows);
    if (n_tiles == 0 || x.n == 0)
        return;
    if (n_tiles == 1)
        return multiply_one_tile(compute, x);
    size_t n_threads = thread_count(compute.pool());
    size_t n_panels = panel_count(x.n);
    size_t step = n_threads == 1 ? n_panels : divide_up(n_panels, n_threads * kUnitsPerThread);
    size_t n_steps = divide_up(n_panels, step);
    size_t n_groups = divide_up(n_tiles, kGroupTiles);
    if (n_groups * n_steps < n_threads)
        n_groups = divide_up(n_threads, n_steps);
    if (n_groups > n_tiles)
        n_groups = n_tiles;
    // Groups of rows are the inner index: the second finds the weights in a cache.
    for_each_unit(compute.pool(), n_steps * n_groups, [&](size_t unit, size_t) {
        size_t panel = unit / n_groups * step;
        size_t group = unit % n_groups;
        multiply_block(compute.kernels(), x, n_tiles * group / n_groups,
                       n_tiles * (group + 1) / n_groups, panel,
                       panel + step < n_panels ? panel + step : n_panels);
    });
}

}  // namespace minigpt
