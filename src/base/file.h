// Files: mapped or read whole; written under a temporary name and then renamed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "minigpt/status.h"

namespace minigpt {

// The whole of a regular file in memory, read-only and page-aligned: mapped, or read if it cannot
// be mapped. Errors: io, bad_file (empty), not_supported (larger than the address space).
Status map_file(const char* path, const unsigned char** data, size_t* n_bytes);
// The same, read into own memory, in huge pages if the system has them.
Status read_file(const char* path, const unsigned char** data, size_t* n_bytes);
void unmap_file(const unsigned char* data, size_t n_bytes);

// A file that appears complete or not at all. Until commit() an older file stays as it was. A
// killed process leaves no temporary file if the system has nameless files (O_TMPFILE, and /proc).
class OutputFile {
public:
    OutputFile() = default;
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    // Reserves n_bytes, zero-filled, so that a full disk is found here. The path is copied. Errors:
    // io, bad_argument (an empty path), not_supported, out_of_memory.
    Status create(const char* path, uint64_t n_bytes);
    Status write(uint64_t offset, const void* data, size_t n_bytes);
    // Maps what was written so far, read-only. Call it once. unmap_file ends the mapping; until
    // then forget_pages (base/pages.h) can release its memory. Errors: io, out_of_memory,
    // not_supported.
    Status map(const unsigned char** data, size_t* n_bytes);
    Status commit();

private:
    static constexpr size_t kNameBytes = 40;  // for a temporary name, without its folder

    Status open_temporary(mode_t mode);
    bool next_name();

    int fd_ = -1;
    int n_names_ = 0;
    char* path_ = nullptr;       // the target, with symbolic links resolved
    char* temporary_ = nullptr;  // the name until commit(); unused while the file is nameless
    bool named_ = false;
};

}  // namespace minigpt
