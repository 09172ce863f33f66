// Memory that holds whole files: a file's own pages, or others that it is read into.
#pragma once

#include <cstddef>

namespace minigpt {

// The first n_bytes > 0 of a file whose position is its beginning, mapped read-only; a build
// without mapping (make MMAP=0) reads them. nullptr with errno where that cannot be.
unsigned char* map_pages(int fd, size_t n_bytes);

// The same, read into memory of their own: in huge pages, where the system has them.
unsigned char* read_pages(int fd, size_t n_bytes);

// Ends either. nullptr is fine.
void free_pages(const unsigned char* pages, size_t n_bytes);

// Gives the memory of mapped pages back; they are read again when they are touched.
void forget_pages(const unsigned char* pages, size_t n_bytes);

}  // namespace minigpt
