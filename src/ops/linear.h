// y = xW + b for weights in panels. Nothing here checks its arguments.
#pragma once

#include <cstddef>

#include "minigpt/compute.h"
#include "ops/panels.h"

namespace minigpt {

// Checks that this build has kernels for weights or a cache of this type. Errors: not_supported,
// with `what`, its type and the types that this build has.
Status check_computed(const char* what, ElementType type);

// The outputs first ... first + n_out - 1 of a matrix; `first` is a multiple of 16.
PanelMatrix outputs_of(const PanelMatrix& w, size_t first, size_t n_out);

// Bytes of scratch that linear() needs for any call of at most max_rows rows and max_n_in inputs.
// A multiple of 64.
size_t linear_scratch_bytes(const Compute& compute, size_t max_rows, size_t max_n_in);

// y[i, :] = x[i, :] W + bias. For q4, x is quantized first, see KernelTable. The number of rows in
// a call changes no bit of any row.
//
//   y        [n_rows, ldy]   out; the first w.n_out of each row; must not overlap x
//   x        [n_rows, ldx]   the first w.n_in of each row
//   bias     [w.n_out]       added last; nullptr: none
//   scratch  linear_scratch_bytes() long, 64-byte aligned, shared by all threads of the call
//
// Allocates nothing.
void linear(const Compute& compute, float* y, size_t ldy, const float* x, size_t ldx,
            const PanelMatrix& w, const float* bias, size_t n_rows, void* scratch);

}  // namespace minigpt
