#include "base/pages.h"

#include <errno.h>
#include <unistd.h>

#include <cstdint>

#include "base/buffer.h"

#if !defined(MINIGPT_NO_mmap)
#include <sys/mman.h>
#endif

namespace minigpt {
namespace {

bool read_all(int fd, unsigned char* to, size_t n_bytes) {
    while (n_bytes != 0) {
        ssize_t n = read(fd, to, n_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO;  // the file shrank
        if (n <= 0)
            return false;
        to += n;
        n_bytes -= static_cast<size_t>(n);
    }
    return true;
}

#if defined(MINIGPT_NO_mmap)

unsigned char* allocate_pages(size_t n_bytes) {
    void* p = nullptr;
    errno = posix_memalign(&p, kAlign, n_bytes);
    return errno == 0 ? static_cast<unsigned char*>(p) : nullptr;
}

#else

constexpr size_t kHugePage = size_t{2} << 20;

// n_bytes of zeros that begin where a huge page can, nullptr if there is no memory. Anonymous
// pages, so that free_pages need not know which way a file came in.
unsigned char* allocate_pages(size_t n_bytes) {
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t used = round_up(n_bytes, page);
    size_t mapped = used + kHugePage;
    void* p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return nullptr;
    unsigned char* begin = static_cast<unsigned char*>(p);
    size_t before = (kHugePage - reinterpret_cast<uintptr_t>(p) % kHugePage) % kHugePage;
    if (before != 0)
        munmap(begin, before);
    munmap(begin + before + used, kHugePage - before);
#if defined(MADV_HUGEPAGE)
    // Where it is refused, the pages are what the system gives anyway.
    (void)madvise(begin + before, used, MADV_HUGEPAGE);
#endif
    return begin + before;
}

#endif

}  // namespace

unsigned char* read_pages(int fd, size_t n_bytes) {
    unsigned char* pages = allocate_pages(n_bytes);
    if (pages == nullptr || read_all(fd, pages, n_bytes))
        return pages;
    int error = errno;
    free_pages(pages, n_bytes);
    errno = error;
    return nullptr;
}

#if defined(MINIGPT_NO_mmap)

unsigned char* map_pages(int fd, size_t n_bytes) {
    return read_pages(fd, n_bytes);
}
void free_pages(const unsigned char* pages, size_t) {
    free(const_cast<unsigned char*>(pages));
}
void forget_pages(const unsigned char*, size_t) {}

#else

unsigned char* map_pages(int fd, size_t n_bytes) {
    void* p = mmap(nullptr, n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    return p == MAP_FAILED ? nullptr : static_cast<unsigned char*>(p);
}
void free_pages(const unsigned char* pages, size_t n_bytes) {
    if (pages != nullptr)
        munmap(const_cast<unsigned char*>(pages), n_bytes);
}
void forget_pages(const unsigned char* pages, size_t n_bytes) {
    madvise(const_cast<unsigned char*>(pages), n_bytes, MADV_DONTNEED);
}

#endif

}  // namespace minigpt
