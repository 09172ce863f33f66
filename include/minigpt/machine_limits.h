// What the machine can do at most: what a benchmark holds a model's rates against.
#pragma once

#include <cstddef>

#include "minigpt/compute.h"
#include "minigpt/status.h"

namespace minigpt {

// The highest rate of f32 multiply-adds that `compute`'s kernels and threads reach together:
// chains in registers, some tens of milliseconds. A multiply-add counts as two operations.
//
//   flops  out; operations a second
//
// Allocates nothing; safe from any thread. Errors: bad_argument (flops is null), io (no
// clock).
Status measure_fma(double* flops, const Compute* compute = nullptr);

// The rate at which `compute`'s threads read memory as a decode does: eight streams at a time,
// each thread on its own parts, all of it once. It is the memory's rate, and not a cache's, where
// `bytes` is far more than the caches hold. The pages must be there: memory that was never written
// is read from nowhere.
//
//   rate  out; bytes a second
//   data  64-byte aligned
//
// Allocates nothing; safe from any thread. Errors: bad_argument (data is not aligned, or of less
// than 512 bytes; rate is null), io (no clock).
Status measure_read(double* rate, const void* data, size_t bytes, const Compute* compute = nullptr);

}  // namespace minigpt
