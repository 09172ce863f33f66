// The parts of a Compute that only the library sees.
#pragma once

#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "minigpt/compute.h"

namespace minigpt {

struct ComputeParts {
    static const KernelTable& kernels(const Compute& compute) { return *compute.kernels_; }
    static ThreadPool* pool(const Compute& compute) { return compute.pool_; }

    // Uses another Compute's threads, and kernels with the same bits that keep subnormal numbers.
    // The other must outlive `compute`; it may be the same object.
    static void share(Compute& compute, const Compute& other);
};

inline const KernelTable& kernels_of(const Compute& compute) {
    return ComputeParts::kernels(compute);
}

// nullptr: one thread.
inline ThreadPool* pool_of(const Compute& compute) {
    return ComputeParts::pool(compute);
}

}  // namespace minigpt
