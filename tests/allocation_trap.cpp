#include "tests/allocation_trap.h"

#include <errno.h>

#include <atomic>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTED 0
#endif
#endif
#if !defined(COUNTED)
#if defined(__GLIBC__)
#define COUNTED 1
#else
#define COUNTED 0
#endif
#endif

namespace {
std::atomic<size_t> count{0};
}

namespace minigpt {
bool allocations_are_counted() {
    return COUNTED != 0;
}
size_t n_allocations() {
    return count;
}
}  // namespace minigpt

#if COUNTED
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

void* malloc(size_t n) {
    count++;
    return __libc_malloc(n);
}
void* calloc(size_t n, size_t size) {
    count++;
    return __libc_calloc(n, size);
}
void* realloc(void* p, size_t n) {
    count++;
    return __libc_realloc(p, n);
}
void* aligned_alloc(size_t alignment, size_t n) {
    count++;
    return __libc_memalign(alignment, n);
}
int posix_memalign(void** p, size_t alignment, size_t n) {
    count++;
    *p = __libc_memalign(alignment, n);
    return *p == nullptr ? ENOMEM : 0;
}
}
#endif
