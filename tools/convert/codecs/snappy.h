// Snappy's raw format, the compression of a table's blocks.
#pragma once

#include <cstddef>
#include <string>

#include "minigpt/status.h"

namespace minigpt::convert {

// Unpacks data[0 ... n_bytes - 1].
//
//     varint      the unpacked length
//     elements    tag byte; its low two bits: 0 literal, 1, 2, 3 copies with offsets of 1, 2, 4
//     bytes
//
// Allocates the unpacked length. That is refused if it exceeds max_bytes, or what n_bytes can
// unpack to. Errors (bad_file): a literal or an offset that is cut off; a copy from before the
// start; a length that differs from the stated one.
Status unpack_snappy(const unsigned char* data, size_t n_bytes, size_t max_bytes,
                     std::string* unpacked);

}  // namespace minigpt::convert
