// NumPy's .npz: a zip archive of .npy arrays, here with Hugging Face's names.
//
//     bytes    "\x93NUMPY", major, minor version
//     u16      length of the header; u32 from version 2 on
//     header   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, spaces, a newline
//     numbers
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "convert/checkpoint.h"

namespace minigpt::convert {

struct NpyHeader {
    std::string descr;        // "<f4"
    bool is_fortran = false;  // the first index varies fastest
    std::vector<uint64_t> shape;
    uint64_t item_bytes = 0;
};

// Reads the header's text, a dictionary. Errors: bad_file: text that numpy.lib.format does not
// write; not_supported: structured types and Python objects, big-endian numbers.
Status parse_npy_header(const std::string& text, NpyHeader* header);

}  // namespace minigpt::convert
