// Checksums of 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minigpt::convert {

// The CRC-32 of zip (polynomial 0xedb88320). `crc`: the result for the bytes before, 0 at first.
uint32_t crc32_of(const void* data, size_t n_bytes, uint32_t crc = 0);

// CRC-32C (Castagnoli; RFC 3720, appendix B.4), used in LevelDB's tables.
//
// The checksum of data[0 ... n_bytes - 1]. `crc`: the result for the bytes before.
uint32_t crc32c(const void* data, size_t n_bytes, uint32_t crc = 0);

// The stored form of a checksum: rotated right by 15 bits, plus a constant. It keeps a checksum
// over checksums good.
uint32_t mask_crc32c(uint32_t crc);

}  // namespace minigpt::convert
