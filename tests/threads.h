// How many threads a Compute has that was asked for n: a build may have none (make THREADS=0).
#pragma once

#include <cstddef>

constexpr size_t threads_of(size_t n) {
#if defined(MINIGPT_NO_threads)
    return n == 0 ? 0 : 1;
#else
    return n;
#endif
}
