// Operations on single numbers or single rows. Nothing here checks its arguments.
#pragma once

#include <cstddef>

#include "minigpt/compute.h"
#include "minigpt/config.h"

namespace minigpt {

// y += x.
//
//   y, x  [n]
void add(const Compute& compute, float* y, const float* x, size_t n);

// x = gelu(x), see minigpt/ops.h.
//
//   x  [n]
void gelu_in_place(const Compute& compute, float* x, size_t n, Activation activation);

// Layernorm of each row. w and b may be nullptr; y may be x. See minigpt/ops.h.
//
//   y     [n_rows, ldy]  out
//   x     [n_rows, ldx]
//   w, b  [n_embd]
void layernorm_rows(const Compute& compute, float* y, size_t ldy, const float* x, size_t ldx,
                    const float* w, const float* b, size_t n_rows, size_t n_embd, float eps);

}  // namespace minigpt
