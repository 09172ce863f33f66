// The machine's own limits. Benchmarks compare a model's rates with them.
#pragma once

#include <cstddef>

#include "minigpt/compute.h"
#include "minigpt/status.h"

namespace minigpt {

// Measures the highest rate of f32 multiply-adds that `compute`'s kernels and threads reach
// together, with chains in registers. Takes some tens of milliseconds. A multiply-add counts as
// two operations.
//
//   flops  out; operations a second
//
// Allocates nothing; safe from any thread. Errors: bad_argument (flops is null), io (no
// clock).
Status measure_fma(double* flops, const Compute* compute = nullptr);

// Measures the rate at which `compute`'s threads read memory in the way a decode does. Each thread
// reads its own parts, eight streams at a time, and all of `data` is read once. To measure memory
// and not a cache, `bytes` must be far more than the caches hold. The memory must have been
// written before: the system gives pages only to memory that was written.
//
//   rate  out; bytes a second
//   data  64-byte aligned
//
// Allocates nothing; safe from any thread. Errors: bad_argument (data is not aligned or has fewer
// than 512 bytes; rate is null), io (no clock).
Status measure_read(double* rate, const void* data, size_t bytes, const Compute* compute = nullptr);

}  // namespace minigpt
