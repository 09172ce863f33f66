// Unpacking of deflated data (RFC 1951), into memory of a known size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/file.h"

namespace minigpt::convert {

using namespace tools;

// Deflated data in a file.
struct Deflated {
    const File* file;
    uint64_t offset, n_bytes;
};

// Unpacks all of it to out [n_out]; that many bytes must come out, and no input may be left.
// Allocates nothing but a window of the input; time is linear in n_bytes and n_out.
//
// Errors: io; bad_file: what RFC 1951 does not have, another length, far more blocks than n_out
// bytes need.
Status inflate(const Deflated& from, unsigned char* out, size_t n_out);

// Unpacks the first n_out bytes, and looks at nothing after.
Status inflate_first(const Deflated& from, unsigned char* out, size_t n_out);

// The most that n_bytes of deflated data can become: 258 bytes for each two bits.
constexpr uint64_t kMaxInflation = 1032;

}  // namespace minigpt::convert
