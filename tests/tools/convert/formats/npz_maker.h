// A small writer of .npz archives, and of deflated data.
#pragma once

#include <string>
#include <vector>

#include "tests/tools/convert/text_model.h"

namespace minigpt::test {

// RFC 1951: stored blocks (0), fixed (1) or dynamic (2) Huffman codes, or all in turn (3).
std::string deflate(const std::string& bytes, int kind);

// A .npy array: header of the version, then the numbers.
std::string npy(const std::string& header, const std::string& data, unsigned version = 1);
// "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"
std::string npy_header(const std::string& descr, const std::vector<uint64_t>& shape,
                       bool fortran = false);
std::string npy_of(const SavedTensor& tensor, bool fortran = false, unsigned version = 1);

// A member of an archive; kind -1: stored in the zip, else deflate's.
ZipMember npz_member(const std::string& name, const std::string& npy, int kind = -1);
std::string npz_of(const HfModel& model, int kind = -1, bool fortran = false);

}  // namespace minigpt::test
