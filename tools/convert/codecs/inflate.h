// Unpacks deflated data (RFC 1951) into memory of a known size.
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

// Unpacks all data to out [n_out]. It must give exactly n_out bytes and use all input. Allocates
// only a window of the input. Time is linear in n_bytes and n_out.
//
// Errors: io; bad_file: data that RFC 1951 does not allow, another length, far more blocks than
// n_out bytes need.
Status inflate(const Deflated& from, unsigned char* out, size_t n_out);

// Unpacks the first n_out bytes and ignores the rest.
Status inflate_first(const Deflated& from, unsigned char* out, size_t n_out);

// The most bytes that n_bytes of deflated data can unpack to: 258 bytes for each two bits.
constexpr uint64_t kMaxInflation = 1032;

}  // namespace minigpt::convert
