// Reads varints, lengths and protobuf's fields from bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace minigpt::convert {

// A cursor over bytes, which must outlive it. Each call moves past what it reads. It returns false
// if the bytes end too early.
class Wire {
public:
    Wire(const void* data, size_t n_bytes)
        : at_(static_cast<const unsigned char*>(data)), end_(at_ + n_bytes) {}
    explicit Wire(const std::string& text) : Wire(text.data(), text.size()) {}

    size_t left() const { return static_cast<size_t>(end_ - at_); }

    bool bytes(uint64_t n, const unsigned char** p) {
        if (n > left())
            return false;
        *p = at_;
        at_ += n;
        return true;
    }

    bool fixed32(uint32_t* value) {
        const unsigned char* p;
        if (!bytes(4, &p))
            return false;
        memcpy(value, p, 4);
        return true;
    }

    // A varint: 7 bits a byte, lowest first. Also returns false if it has over 64 bits.
    bool varint(uint64_t* value) {
        *value = 0;
        for (unsigned shift = 0; shift < 70; shift += 7) {
            const unsigned char* p;
            if (!bytes(1, &p) || (shift == 63 && *p > 1))
                return false;
            *value |= uint64_t{*p & 0x7fu} << shift;
            if (*p < 0x80)
                return true;
        }
        return false;
    }

private:
    const unsigned char* at_;
    const unsigned char* end_;
};

}  // namespace minigpt::convert
