// gemm of plain matrices: both operands are laid out as the model's are, block by block.
#include <cstring>

#include "base/fp_environment.h"
#include "minigpt/ops.h"
#include "ops/check.h"
#include "ops/parallel.h"
#include "ops/product.h"

namespace minigpt {
namespace {

// A block of b [kKb, kNb] takes 4 MB and stays in L3 while the rows pass; one of a takes 2 MB.
constexpr size_t kMb = 44 * kMaxRowTile;
constexpr size_t kNb = 512;
constexpr size_t kKb = 2048;

size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

// Floats of a's and b's blocks.
size_t a_floats(size_t m, size_t k) {
    return round_up(least(m, kMb) * least(k, kKb), kPanel);
}
size_t b_floats(size_t n, size_t k) {
    return round_up(least(n, kNb), kPanel) * least(k, kKb);
}

// y: the tiles of a transposed block, x [k, ldx] holding row i in column i.
void interleave_columns(const Compute& compute, float* y, const float* x, size_t ldx, size_t n_rows,
                        size_t k) {
    ThreadPool* pool = n_rows * k < kSerialNumbers ? nullptr : compute.pool();
    for_each_unit(pool, tile_count(n_rows), [&](size_t tile, size_t) {
        size_t row = first_row(n_rows, tile);
        size_t m = first_row(n_rows, tile + 1) - row;
        float* to = y + row * k;
        for (size_t i = 0; i < k; ++i) {
            for (size_t j = 0; j < m; ++j)
                to[i * m + j] = x[i * ldx + row + j];
        }
    });
}

// y [n / 16, k, 16]: the panels of x [k, ldx], or of x [n, ldx] if transposed.
void lay_panels(const Compute& compute, float* y, const float* x, size_t ldx, Operand op, size_t n,
                size_t k) {
    ThreadPool* pool = n * k < kSerialNumbers ? nullptr : compute.pool();
    for_each_unit(pool, panel_count(n), [&](size_t panel, size_t) {
        size_t column = panel * kPanel;
        size_t width = least(kPanel, n - column);
        float* to = y + column * k;
        for (size_t i = 0; i < k; ++i, to += kPanel) {
            size_t j = 0;
            if (op == Operand::plain) {
                for (; j < width; ++j)
                    to[j] = x[i * ldx + column + j];
            } else {
                for (; j < width; ++j)
                    to[j] = x[(column + j) * ldx + i];
            }
            for (; j < kPanel; ++j)
                to[j] = 0;
        }
    });
}

}  // namespace

Status gemm_workspace_bytes(size_t m, size_t n, size_t k, size_t* bytes, const Compute*) {
    bool empty = m == 0 || n == 0 || k == 0;
    *bytes = empty ? 0 : (a_floats(m, k) + b_floats(n, k)) * sizeof(float);
    return Status();
}

Status gemm(float* c, size_t ldc, const float* a, size_t lda, Operand op_a, const float* b,
            size_t ldb, Operand op_b, size_t m, size_t n, size_t k, bool accumulate,
            void* workspace, size_t workspace_bytes, const Compute* compute) {
    const bool plain_a = op_a == Operand::plain;
    const bool plain_b = op_b == Operand::plain;
    MINIGPT_TRY(check_matrix("c", m, n, ldc));
    MINIGPT_TRY(check_matrix("a", plain_a ? m : k, plain_a ? k : m, lda));
    MINIGPT_TRY(check_matrix("b", plain_b ? k : n, plain_b ? n : k, ldb));
    size_t needed;
    MINIGPT_TRY(gemm_workspace_bytes(m, n, k, &needed, compute));
    MINIGPT_TRY(check_workspace(workspace, workspace_bytes, needed));
    if (m == 0 || n == 0)
        return Status();
    if (k == 0) {
        for (size_t i = 0; i < m && !accumulate; ++i)
            memset(c + i * ldc, 0, n * sizeof(float));
        return Status();
    }
    FpEnvironment guard;
    const Compute own;
    const Compute& on = compute == nullptr ? own : *compute;
    float* tiles = static_cast<float*>(workspace);
    float* panels = tiles + a_floats(m, k);
    for (size_t j = 0; j < n; j += kNb) {
        size_t nb = least(kNb, n - j);
        for (size_t p = 0; p < k; p += kKb) {
            size_t kb = least(kKb, k - p);
            lay_panels(on, panels, plain_b ? b + p * ldb + j : b + j * ldb + p, ldb, op_b, nb, kb);
            for (size_t i = 0; i < m; i += kMb) {
                size_t mb = least(kMb, m - i);
                if (plain_a) {
                    interleave_tiles(on, tiles, a + i * lda + p, lda, mb, kb);
                } else {
                    interleave_columns(on, tiles, a + p * lda + i, lda, mb, kb);
                }
                multiply(on, {c + i * ldc + j, ldc, tiles, mb, panels, ElementType::f32, nb, kb,
                              nullptr, accumulate || p > 0, nullptr});
            }
        }
    }
    return Status();
}

}  // namespace minigpt
