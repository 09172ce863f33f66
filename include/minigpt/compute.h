// Which kernels run, and on how many threads.
#pragma once

#include <cstddef>

#include "minigpt/status.h"

namespace minigpt {

struct ComputeParts;  // src/ops/compute.h
struct KernelTable;   // src/kernels/kernels.h
class ThreadPool;     // src/base/thread_pool.h

// The kernel table and the thread pool that ops and sessions run on. A default-constructed Compute
// has one thread and the best table of this CPU. It owns nothing and allocates nothing.
//
// The choice changes the speed, never a bit of a result, with one exception: "sse2" and "vfp". They
// are the best tables of CPUs without fused multiply-add, and round twice where the others round
// once. Their results differ from the others', but are the same for any number of threads and on
// every such CPU.
//
// One Compute may serve many sessions and may be used from many threads. Calls that need its pool
// then take turns. It must outlive whatever uses it.
//
// After fork() the child has none of its threads: a call that needs them never returns. A child
// must create its own Compute, or use one without threads.
class Compute {
public:
    Compute();
    ~Compute();
    Compute(const Compute&) = delete;
    Compute& operator=(const Compute&) = delete;

    // n_threads: at most kMaxThreads; 0 is one per physical core. A library built with
    //            `make THREADS=0` always uses one.
    // isa:       "scalar", "avx2", "avx512", "neon", "dotprod" (NEON with q4 by dot products), ...;
    //            nullptr is the best that this CPU runs. bit_exact_isa() is the best whose results
    //            are the same on all CPUs.
    //
    // Errors: bad_argument (an unknown isa, too many threads), not_supported (this CPU lacks the
    // isa), out_of_memory, io (a thread could not be started). On error the object is unchanged.
    Status create(size_t n_threads, const char* isa = nullptr);

    size_t n_threads() const;
    const char* isa() const;  // the name of the table that runs
    bool bit_exact() const;   // whether its results are the same on all CPUs; not "sse2" and "vfp"
    // Whether it computes with subnormal numbers. armv7's NEON replaces them by zeros.
    bool keeps_subnormals() const;

    static constexpr size_t kMaxThreads = 256;

private:
    friend struct ComputeParts;

    const KernelTable* kernels_;
    ThreadPool* pool_;  // nullptr: one thread
    bool owns_pool_ = true;
};

// The names that `create` accepts in this build, best first; the last is "scalar". Returns nullptr
// for an index past the end. *present tells whether this CPU runs it; `present` may be nullptr.
const char* isa_name(size_t index, bool* present);

// The best of them that this CPU runs and whose results are the same on all CPUs.
const char* bit_exact_isa();

// Runs your own work on a Compute's threads: calls task(context, unit, thread) once for each unit
// below n_units, and returns when all are done. Any free thread may take a unit, so the result
// must not depend on which one does. thread < n_threads(); no two calls that run at the same time
// have the same `thread`.
//
// Every thread runs in round-to-nearest without flush-to-zero. Inside a task, run ops on a Compute
// of one thread: on this Compute they would never return. Allocates nothing. A null task does
// nothing.
using UnitTask = void (*)(void* context, size_t unit, size_t thread);
void run_units(const Compute& compute, size_t n_units, UnitTask task, void* context);

}  // namespace minigpt
