// Memory that holds whole files: the file's own pages (mapped), or a copy (read).
#pragma once

#include <cstddef>

namespace minigpt {

// Maps the first n_bytes > 0 of a file, read-only. The file position must be 0. A build without
// mapping (make MMAP=0) reads them. Returns nullptr and sets errno on failure.
unsigned char* map_pages(int fd, size_t n_bytes);

// The same, read into own memory, in huge pages if the system has them.
unsigned char* read_pages(int fd, size_t n_bytes);

// Releases either kind. nullptr is allowed.
void free_pages(const unsigned char* pages, size_t n_bytes);

// Releases the memory of mapped pages. They are read again when they are touched.
void forget_pages(const unsigned char* pages, size_t n_bytes);

}  // namespace minigpt
