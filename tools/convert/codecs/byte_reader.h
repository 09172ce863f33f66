// Reads a file from start to end, number by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/file.h"

namespace minigpt::convert {

using namespace tools;

// Fetches one window of the file at a time. It is for the numbers and texts of headers, so it has
// two bounds: `max_bytes` for all bytes it passes, `max_text` for all texts it returns. It fails
// with bad_file past either bound and past the end of the file.
class ByteReader {
public:
    ByteReader(const File* file, uint64_t max_bytes, uint64_t max_text);

    uint64_t at() const { return at_; }
    uint64_t left() const { return file_->size() - at_; }

    Status read(void* data, size_t n_bytes);
    template <typename T>
    Status number(T* value) {
        return read(value, sizeof *value);
    }
    Status text(uint64_t n_bytes, std::string* text);
    Status skip(uint64_t n_bytes);
    // Continues at `offset`. Skipped bytes do not count for either bound.
    void seek(uint64_t offset) { at_ = offset; }

private:
    Status count(uint64_t n_bytes);

    const File* file_;
    uint64_t at_ = 0;
    uint64_t bytes_left_, text_left_;
    std::vector<char> window_;
    uint64_t window_at_ = 0;  // the offset of its first byte
};

}  // namespace minigpt::convert
