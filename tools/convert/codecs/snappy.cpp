#include "convert/codecs/snappy.h"

#include <cstdint>

#include "convert/codecs/wire.h"

namespace minigpt::convert {
namespace {

// The densest element is a copy of 64 bytes in 3.
constexpr uint64_t kMostPerByte = 22;

struct Element {
    uint64_t length;
    uint64_t offset;  // back from the end; 0: a literal
};

uint64_t little_endian(const unsigned char* p, size_t n) {
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++)
        value |= uint64_t{p[i]} << 8 * i;
    return value;
}

// false where the element's own bytes are cut off.
bool read_element(Wire* wire, Element* element) {
    const unsigned char* p;
    if (!wire->bytes(1, &p))
        return false;
    unsigned tag = *p, kind = tag & 3;
    if (kind == 0) {
        *element = {uint64_t{tag >> 2} + 1, 0};
        if (element->length <= 60)
            return true;
        // 61 ... 64 stand for a length in 1 ... 4 bytes.
        size_t n = static_cast<size_t>(element->length) - 60;
        if (!wire->bytes(n, &p))
            return false;
        element->length = little_endian(p, n) + 1;
        return true;
    }
    size_t n = kind == 3 ? 4 : kind;
    if (!wire->bytes(n, &p))
        return false;
    *element = {(tag >> 2) + 1, little_endian(p, n)};
    if (kind == 1)
        *element = {(tag >> 2 & 7) + 4, uint64_t{tag >> 5} << 8 | *p};
    if (element->offset == 0)
        element->offset = UINT64_MAX;  // a copy of what is not there yet: never a valid one
    return true;
}

Status wrong(const char* what) {
    return Status::error(Code::bad_file, "snappy: %s", what);
}

}  // namespace

Status unpack_snappy(const unsigned char* data, size_t n_bytes, size_t max_bytes,
                     std::string* unpacked) {
    Wire wire(data, n_bytes);
    uint64_t length;
    if (!wire.varint(&length))
        return wrong("the unpacked length is cut off");
    if (length > max_bytes || length / kMostPerByte > n_bytes) {
        return Status::error(Code::bad_file, "snappy: %zu bytes claim to unpack to %llu", n_bytes,
                             static_cast<unsigned long long>(length));
    }
    unpacked->clear();
    unpacked->reserve(static_cast<size_t>(length));
    while (wire.left() > 0) {
        Element element;
        if (!read_element(&wire, &element))
            return wrong("an element is cut off");
        if (element.length > length - unpacked->size())
            return wrong("more data than the claimed length");
        size_t n = static_cast<size_t>(element.length);
        if (element.offset == 0) {
            const unsigned char* p;
            if (!wire.bytes(n, &p))
                return wrong("a literal is cut off");
            unpacked->append(reinterpret_cast<const char*>(p), n);
            continue;
        }
        if (element.offset > unpacked->size())
            return wrong("a copy from before the start");
        // Byte by byte: what is copied may be what this copy makes.
        for (size_t from = unpacked->size() - static_cast<size_t>(element.offset); n > 0; n--)
            unpacked->push_back((*unpacked)[from++]);
    }
    return unpacked->size() == length ? Status() : wrong("less data than the claimed length");
}

}  // namespace minigpt::convert
