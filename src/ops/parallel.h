// Work divided over a pool's threads as they come free.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/thread_pool.h"

namespace minigpt {

inline size_t thread_count(const ThreadPool* pool) {
    return pool == nullptr ? 1 : pool->n_threads();
}

// f(unit, thread) for each of n units, in order on one thread, on whichever thread is free
// otherwise: a core that others use too then holds nobody up. Which thread computes a unit must
// not matter to the result.
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
        [](void* p, size_t thread, size_t) {
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

// Numbers under which a pass over an array is not worth waking the pool.
constexpr size_t kSerialNumbers = 16384;

}  // namespace minigpt
