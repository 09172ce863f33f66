// A thread pool. Threads sleep between calls and spin briefly inside one. A build without threads
// (make THREADS=0) has no pool and needs nothing from the system.
#pragma once

#include <atomic>
#include <cstddef>

#include "minigpt/status.h"

namespace minigpt {

// Work for any number of threads. Each thread that takes part calls task(context, thread) and takes
// pieces of work until none are left. Thread 0 is the caller.
using Task = void (*)(void* context, size_t thread);

class ThreadPool {
public:
    // Starts n_threads - 1 threads. Errors: out_of_memory, io. Without threads *pool is nullptr.
    static Status create(size_t n_threads, ThreadPool** pool);
    static void destroy(ThreadPool* pool);  // nullptr is allowed

    size_t n_threads() const { return n_threads_; }

    // Calls the task on this thread and on all pool threads that are free in time. Returns when all
    // calls that began are done. It does not wait for a thread without a free core: on a busy
    // machine a call may be as slow as with one thread, but not slower. Must not be called from a
    // task. Calls from several threads take turns.
    void run(Task task, void* context);

private:
    ThreadPool() = default;

    size_t n_threads_ = 1;
    struct Shared;
    Shared* shared_ = nullptr;
};

size_t physical_cores();

inline size_t thread_count(const ThreadPool* pool) {
    return pool == nullptr ? 1 : pool->n_threads();
}

// Calls f(unit, thread) for each of n units. With one thread they run in order; else any free
// thread takes the next unit. The result must not depend on which thread computes a unit.
template <typename F>
void for_each_unit(ThreadPool* pool, size_t n, F&& f) {
    if (pool == nullptr || n <= 1) {
        for (size_t unit = 0; unit < n; ++unit)
            f(unit, size_t{0});
        return;
    }
    struct Context {
        F* f;
        size_t n;
        std::atomic<size_t> next;
    } context = {&f, n, {0}};
    pool->run(
        [](void* p, size_t thread) {
            Context& c = *static_cast<Context*>(p);
            for (;;) {
                size_t unit = c.next.fetch_add(1, std::memory_order_relaxed);
                if (unit >= c.n)
                    return;
                (*c.f)(unit, thread);
            }
        },
        &context);
}

// Calls f(begin, end) on ranges that cover 0 ... n. Each is a multiple of `grain` long, except the
// last. There are a few ranges for each thread, enough to share the work evenly.
template <typename F>
void parallel_for(ThreadPool* pool, size_t n, size_t grain, F&& f) {
    size_t n_grains = n / grain + (n % grain != 0);
    size_t n_units = pool == nullptr ? 1 : 4 * pool->n_threads();
    if (n_units > n_grains)
        n_units = n_grains;
    for_each_unit(pool, n_units, [&](size_t unit, size_t) {
        size_t begin = n_grains * unit / n_units * grain;
        size_t end = n_grains * (unit + 1) / n_units * grain;
        f(begin, end < n ? end : n);
    });
}

}  // namespace minigpt
