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

Status check_operand(const char* name, Operand op) {
    if (op == Operand::plain || op == Operand::transposed)
        return Status();
    return Status::error(Code::bad_argument, "%s: found %lu, expected 0 or 1", name,
                         static_cast<unsigned long>(op));
}

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

// y [k, M] = the first M columns of x [k, ldx]: a copy of known length is a few moves.
template <size_t M>
void copy_columns(float* y, const float* x, size_t ldx, size_t k) {
    for (size_t i = 0; i < k; ++i)
        memcpy(y + i * M, x + i * ldx, M * sizeof(float));
}

// y: the tiles of a transposed block, x [k, ldx] holding row i in column i.
void interleave_columns(const Compute& compute, float* y, const float* x, size_t ldx, size_t n_rows,
                        size_t k) {
    static_assert(kMaxRowTile == 6, "one copy_columns for each size of a tile");
    using Copy = void (*)(float* y, const float* x, size_t ldx, size_t k);
    constexpr Copy kCopies[] = {copy_columns<1>, copy_columns<2>, copy_columns<3>,
                                copy_columns<4>, copy_columns<5>, copy_columns<6>};
    ThreadPool* pool = n_rows * k < kSerialNumbers ? nullptr : pool_of(compute);
    for_each_unit(pool, tile_count(n_rows), [&](size_t tile, size_t) {
        size_t row = first_row(n_rows, tile);
        size_t m = first_row(n_rows, tile + 1) - row;
        kCopies[m - 1](y + row * k, x + row, ldx, k);
    });
}

// y [k, 16] = x [16, ldx] transposed, four inputs at a time: a row of x is read in pieces of 16
// bytes.
void transpose_panel(float* y, const float* x, size_t ldx, size_t k) {
    size_t i = 0;
    for (; i + 4 <= k; i += 4, y += 4 * kPanel) {
        for (size_t j = 0; j < kPanel; ++j) {
            float piece[4];
            memcpy(piece, x + j * ldx + i, sizeof piece);
            for (size_t c = 0; c < 4; ++c)
                y[c * kPanel + j] = piece[c];
        }
    }
    for (; i < k; ++i, y += kPanel) {
        for (size_t j = 0; j < kPanel; ++j)
            y[j] = x[j * ldx + i];
    }
}

// A panel of less than 16 columns, padded with zeros.
void lay_narrow_panel(float* y, const float* x, size_t ldx, Operand op, size_t width, size_t k) {
    for (size_t i = 0; i < k; ++i) {
        for (size_t j = 0; j < kPanel; ++j) {
            const size_t at = op == Operand::plain ? i * ldx + j : j * ldx + i;
            y[i * kPanel + j] = j < width ? x[at] : 0;
        }
    }
}

// y [n / 16, k, 16]: the panels of x [k, ldx], or of x [n, ldx] if transposed.
void lay_panels(const Compute& compute, float* y, const float* x, size_t ldx, Operand op, size_t n,
                size_t k) {
    ThreadPool* pool = n * k < kSerialNumbers ? nullptr : pool_of(compute);
    for_each_unit(pool, panel_count(n), [&](size_t panel, size_t) {
        size_t column = panel * kPanel;
        float* to = y + column * k;
        const float* from = x + (op == Operand::plain ? column : column * ldx);
        if (n - column < kPanel) {
            lay_narrow_panel(to, from, ldx, op, n - column, k);
        } else if (op == Operand::plain) {
            copy_columns<kPanel>(to, from, ldx, k);
        } else {
            transpose_panel(to, from, ldx, k);
        }
    });
}

}  // namespace

Status gemm_workspace_bytes(size_t m, size_t n, size_t k, size_t* bytes, const Compute*) {
    MINIGPT_TRY(check_pointer("bytes", bytes));
    bool empty = m == 0 || n == 0 || k == 0;
    *bytes = empty ? 0 : (a_floats(m, k) + b_floats(n, k)) * sizeof(float);
    return Status();
}

Status gemm(float* c, size_t ldc, const float* a, size_t lda, Operand op_a, const float* b,
            size_t ldb, Operand op_b, size_t m, size_t n, size_t k, bool accumulate,
            void* workspace, size_t workspace_bytes, const Compute* compute) {
    MINIGPT_TRY(check_operand("op_a", op_a));
    MINIGPT_TRY(check_operand("op_b", op_b));
    const bool plain_a = op_a == Operand::plain;
    const bool plain_b = op_b == Operand::plain;
    MINIGPT_TRY(check_matrix("c", m, n, ldc));
    MINIGPT_TRY(check_matrix("a", plain_a ? m : k, plain_a ? k : m, lda));
    MINIGPT_TRY(check_matrix("b", plain_b ? k : n, plain_b ? n : k, ldb));
    const bool empty = m == 0 || n == 0;
    MINIGPT_TRY(check_pointer("c", c, !empty));
    MINIGPT_TRY(check_pointer("a", a, !empty && k != 0));
    MINIGPT_TRY(check_pointer("b", b, !empty && k != 0));
    size_t needed;
    MINIGPT_TRY(gemm_workspace_bytes(m, n, k, &needed, compute));
    MINIGPT_TRY(check_workspace(workspace, workspace_bytes, needed));
    if (empty)
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
