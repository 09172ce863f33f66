// The directory of a zip archive (PKWARE's APPNOTE 6.3.10, sections 4.3 and 4.5.3), which PyTorch
// and NumPy keep their arrays in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/file.h"

namespace minigpt::convert {

using namespace tools;

constexpr unsigned kZipStored = 0;
constexpr unsigned kZipDeflated = 8;

struct ZipEntry {
    std::string name;
    unsigned method = 0;
    uint32_t crc32 = 0;         // of the unpacked bytes
    uint64_t n_bytes = 0;       // unpacked
    uint64_t packed_bytes = 0;  // in the file; n_bytes where it is stored
    uint64_t offset = 0;        // of its data in the file
};

// Reads the directory, in its order; folders are left out. Zip64 sizes and data descriptors are
// understood. Every entry lies inside the file and overlaps no other, and its two headers agree.
//
// Errors: io; bad_file: no archive, cut, a name twice, sizes that lie; not_supported: encrypted
// entries, an archive in several parts.
Status read_zip_directory(const File& file, std::vector<ZipEntry>* entries);

}  // namespace minigpt::convert
