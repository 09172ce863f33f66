// A pool of threads that sleep between calls and spin, briefly, inside one. A build without threads
// (make THREADS=0) has none and needs nothing of the system.
#pragma once

#include <atomic>
#include <cstddef>

#include "minigpt/status.h"

namespace minigpt {

// Work that any number of threads may share: each that comes by calls task(context, thread), and
// whoever is there takes of what is left. Thread 0 is the caller.
using Task = void (*)(void* context, size_t thread);

class ThreadPool {
public:
    // Starts n_threads - 1 threads. Errors: out_of_memory, io. Without threads *pool is nullptr.
    static Status create(size_t n_threads, ThreadPool** pool);
    static void destroy(ThreadPool* pool);  // nullptr is fine

    size_t n_threads() const { return n_threads_; }

    // Calls the task here and on those threads that are free in time, and returns when all that
    // began are done. A thread that the machine has no core for is not waited for: on a busy
    // machine a call is as slow as one thread, never slower. Not to be called from a task.
    // Callers from several threads take turns.
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

// f(unit, thread) for each of n units, in order on one thread, by whichever thread is free
// otherwise. Which thread computes a unit must not matter to the result.
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

// f(begin, end) on ranges that cover 0 ... n, each a multiple of `grain` long but the last: a few
// for each thread, enough to share evenly.
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
