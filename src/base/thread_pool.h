// A pool of threads that sleep between calls and spin, briefly, inside one.
#pragma once

#include <cstddef>

#include "minigpt/status.h"

namespace minigpt {

// Runs a task on every thread: task(context, thread, n_threads), thread 0 being the caller.
using Task = void (*)(void* context, size_t thread, size_t n_threads);

class ThreadPool {
public:
    // Starts n_threads - 1 threads. Errors: out_of_memory, io.
    static Status create(size_t n_threads, ThreadPool** pool);
    static void destroy(ThreadPool* pool);  // nullptr is fine

    size_t n_threads() const { return n_threads_; }

    // Runs the task on all threads and returns when all are done. Not to be called from a task.
    // Callers from several threads take turns.
    void run(Task task, void* context);

private:
    ThreadPool() = default;

    size_t n_threads_ = 1;
    struct Shared;
    Shared* shared_ = nullptr;
};

size_t physical_cores();

// parallel_for(pool, n, f): f(begin, end, thread) on disjoint ranges that cover 0 ... n, each
// a multiple of `grain` long but the last. One range a thread; which thread gets which range is
// fixed. A null pool, or n of one grain, runs on the caller.
template <typename F>
void parallel_for(ThreadPool* pool, size_t n, size_t grain, F&& f) {
    if (n == 0)
        return;
    size_t n_grains = (n + grain - 1) / grain;
    if (pool == nullptr || n_grains == 1) {
        f(size_t{0}, n, size_t{0});
        return;
    }
    struct Context {
        F* f;
        size_t n, grain, n_grains;
    } context = {&f, n, grain, n_grains};
    pool->run(
        [](void* p, size_t thread, size_t n_threads) {
            Context& c = *static_cast<Context*>(p);
            size_t begin = c.n_grains * thread / n_threads * c.grain;
            size_t end = c.n_grains * (thread + 1) / n_threads * c.grain;
            if (end > c.n)
                end = c.n;
            if (begin < end)
                (*c.f)(begin, end, thread);
        },
        &context);
}

}  // namespace minigpt
