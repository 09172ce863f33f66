// Which kernels run, and on how many threads.
#pragma once

#include <cstddef>

#include "minigpt/status.h"

namespace minigpt {

struct ComputeParts;  // src/ops/compute.h
struct KernelTable;   // src/kernels/kernels.h
class ThreadPool;     // src/base/thread_pool.h

// The kernel table and the thread pool that ops and sessions run on. The choice changes the
// speed and never a bit of a result, with one exception: "sse2" and "vfp", the best tables of CPUs
// that have no fused multiply-add, round twice where the others round once. Their bits are their
// own, the same for any number of threads and on every such CPU. A default-constructed Compute is
// one thread and the best table of this CPU; it owns nothing and allocates nothing.
//
// One Compute may serve many sessions and may be used from many threads; calls that need its
// pool then take turns. It must outlive whatever uses it. Its threads are the process's that made
// it: in a child of fork() they do not run, and a call that needs them waits for ever. A child
// makes a Compute of its own, or uses one without threads.
class Compute {
public:
    Compute();
    ~Compute();
    Compute(const Compute&) = delete;
    Compute& operator=(const Compute&) = delete;

    // n_threads: 0 is one per physical core; at most kMaxThreads. A library made by
    // `make THREADS=0` has one, whatever is asked for.
    // isa: "scalar", "avx2", "avx512", "neon", "dotprod" (NEON with q4 by dot products), ...;
    // nullptr is the best this CPU runs, bit_exact_isa() the best whose bits are everyone's.
    //
    // Errors: bad_argument (an unknown isa, too many threads), not_supported (this CPU lacks the
    // isa), out_of_memory, io (a thread could not be started). On error the object is unchanged.
    Status create(size_t n_threads, const char* isa = nullptr);

    size_t n_threads() const;
    const char* isa() const;  // the name of the table that runs
    bool bit_exact() const;   // whether its bits are everyone's: not "sse2" and "vfp"
    // Whether it computes with subnormal numbers; armv7's NEON takes zeros in their place.
    bool keeps_subnormals() const;

    static constexpr size_t kMaxThreads = 256;

private:
    friend struct ComputeParts;

    const KernelTable* kernels_;
    ThreadPool* pool_;  // nullptr: one thread
    bool owns_pool_ = true;
};

// The names `create` knows on this build, best first, ending in "scalar"; nullptr past the end.
// `present` (may be nullptr) says whether this CPU runs it.
const char* isa_name(size_t index, bool* present);

// The best of them that this CPU runs and whose bits are everyone's.
const char* bit_exact_isa();

// Work of one's own on a Compute's threads: task(context, unit, thread) once for each unit below
// n_units, by whichever thread is free; returns when all are done. thread < n_threads(), and no
// two calls at a time have the same. Which thread computes a unit must not matter to the result.
//
// Every thread runs in round-to-nearest without flush-to-zero. Inside a task ops run on a Compute
// of one thread, never on this one, which would wait for itself. Allocates nothing. A null
// task does nothing.
using UnitTask = void (*)(void* context, size_t unit, size_t thread);
void run_units(const Compute& compute, size_t n_units, UnitTask task, void* context);

}  // namespace minigpt
