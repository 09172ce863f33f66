// The directory of a zip archive (PKWARE's APPNOTE 6.3.10, sections 4.3 and 4.5.3). PyTorch and
// NumPy store arrays in zip archives.
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
    uint64_t packed_bytes = 0;  // in the file; n_bytes if it is stored without compression
    uint64_t offset = 0;        // of its data in the file
};

// Reads the directory in its order, without folders. Supports Zip64 sizes and data descriptors.
// Every entry must lie inside the file and overlap no other, and its two headers must agree.
//
// Errors: io; bad_file: not an archive, cut off, a name twice, wrong sizes; not_supported:
// encrypted entries, an archive in several parts.
Status read_zip_directory(const File& file, std::vector<ZipEntry>* entries);

}  // namespace minigpt::convert
