#include "convert/codecs/crc.h"

#include <array>
#include <cstring>

namespace minigpt::convert {
namespace {

// byte[k][b]: what byte b does to the checksum when k more bytes follow it in its group of 8.
struct Tables {
    std::array<std::array<uint32_t, 256>, 8> byte;

    explicit Tables(uint32_t reflected_polynomial) {
        for (uint32_t b = 0; b < 256; b++) {
            uint32_t crc = b;
            for (int bit = 0; bit < 8; bit++)
                crc = crc >> 1 ^ ((crc & 1) != 0 ? reflected_polynomial : 0);
            byte[0][b] = crc;
        }
        for (size_t k = 1; k < 8; k++) {
            for (size_t b = 0; b < 256; b++) {
                uint32_t before = byte[k - 1][b];
                byte[k][b] = before >> 8 ^ byte[0][before & 0xff];
            }
        }
    }
};

uint32_t crc_of(const Tables& tables, const void* data, size_t n_bytes, uint32_t crc) {
    const auto& t = tables.byte;
    const unsigned char* p = static_cast<const unsigned char*>(data);
    crc = ~crc;
    // Eight bytes at once: a checkpoint has gigabytes.
    for (; n_bytes >= 8; n_bytes -= 8, p += 8) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + 4, 4);
        low ^= crc;
        crc = t[7][low & 0xff] ^ t[6][low >> 8 & 0xff] ^ t[5][low >> 16 & 0xff] ^ t[4][low >> 24] ^
              t[3][high & 0xff] ^ t[2][high >> 8 & 0xff] ^ t[1][high >> 16 & 0xff] ^
              t[0][high >> 24];
    }
    for (; n_bytes > 0; n_bytes--, p++)
        crc = crc >> 8 ^ t[0][(crc ^ *p) & 0xff];
    return ~crc;
}

}  // namespace

uint32_t crc32_of(const void* data, size_t n_bytes, uint32_t crc) {
    static const Tables tables(0xedb88320);
    return crc_of(tables, data, n_bytes, crc);
}

uint32_t crc32c(const void* data, size_t n_bytes, uint32_t crc) {
    static const Tables tables(0x82f63b78);
    return crc_of(tables, data, n_bytes, crc);
}

uint32_t mask_crc32c(uint32_t crc) {
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace minigpt::convert
