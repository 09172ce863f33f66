// Checksums of 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minigpt::convert {

// The CRC-32 of zip (polynomial 0xedb88320). `crc` is that of the bytes before, 0 at first.
uint32_t crc32_of(const void* data, size_t n_bytes, uint32_t crc = 0);

// CRC-32C (Castagnoli; RFC 3720, appendix B.4), as LevelDB's tables keep it.
//
// The checksum of data[0 ... n_bytes - 1], going on from `crc`, that of the bytes before.
uint32_t crc32c(const void* data, size_t n_bytes, uint32_t crc = 0);

// The form in which a checksum is stored, so that a checksum over checksums stays a good one:
// rotated right by 15 bits, plus a constant.
uint32_t mask_crc32c(uint32_t crc);

}  // namespace minigpt::convert
