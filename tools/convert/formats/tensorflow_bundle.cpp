#include "convert/formats/tensorflow.h"

#include <functional>

#include "convert/codecs/wire.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;

constexpr size_t kMaxDims = 16;
constexpr uint64_t kVersion = 1;  // of the bundles that this reads

// types.proto, of TensorFlow; the place is the value.
constexpr const char* kDtypes[] = {
    "DT_INVALID",    "DT_FLOAT",  "DT_DOUBLE",    "DT_INT32",   "DT_UINT8",   "DT_INT16",
    "DT_INT8",       "DT_STRING", "DT_COMPLEX64", "DT_INT64",   "DT_BOOL",    "DT_QINT8",
    "DT_QUINT8",     "DT_QINT32", "DT_BFLOAT16",  "DT_QINT16",  "DT_QUINT16", "DT_UINT16",
    "DT_COMPLEX128", "DT_HALF",   "DT_RESOURCE",  "DT_VARIANT", "DT_UINT32",  "DT_UINT64",
};

// A field: a number, or bytes.
struct Field {
    uint64_t number = 0;
    enum Type { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 } type = varint;
    uint64_t value = 0;
    Wire message = Wire(nullptr, 0);

    bool is(uint64_t n, Type t) const { return number == n && type == t; }
};

bool read_field(Wire* wire, Field* field) {
    uint64_t tag, n = 0;
    if (!wire->varint(&tag) || tag >> 3 == 0)
        return false;
    field->number = tag >> 3;
    const unsigned char* p;
    uint32_t value;
    switch (tag & 7) {
        case Field::varint:
            field->type = Field::varint;
            return wire->varint(&field->value);
        case Field::fixed64:
            field->type = Field::fixed64;
            return wire->bytes(8, &p);
        case Field::bytes:
            field->type = Field::bytes;
            if (!wire->varint(&n) || !wire->bytes(n, &p))
                return false;
            field->message = Wire(p, static_cast<size_t>(n));
            return true;
        case Field::fixed32:
            field->type = Field::fixed32;
            if (!wire->fixed32(&value))
                return false;
            field->value = value;
            return true;
        default:
            return false;
    }
}

Status each_field(Wire wire, const std::function<Status(const Field&)>& on_field) {
    while (wire.left() > 0) {
        Field field;
        if (!read_field(&wire, &field))
            return Status::error(Code::bad_file, "no protobuf message");
        MINIGPT_TRY(on_field(field));
    }
    return Status();
}

// The numbers of these messages are signed.
Status take(const Field& field, const char* name, uint64_t* value) {
    *value = field.value;
    if (field.value >> 63 == 0)
        return Status();
    return Status::error(Code::bad_file, "%s is %lld", name, static_cast<long long>(field.value));
}

Status read_dim(Wire wire, std::vector<uint64_t>* shape) {
    if (shape->size() == kMaxDims)
        return Status::error(Code::bad_file, "over 16 dimensions");
    shape->push_back(0);
    return each_field(wire, [&](const Field& field) {
        return field.is(1, Field::varint) ? take(field, "a dimension", &shape->back()) : Status();
    });
}

Status read_shape(Wire wire, BundleEntry* entry) {
    return each_field(wire, [&](const Field& field) {
        if (field.is(3, Field::varint))
            entry->unknown_rank = field.value != 0;
        return field.is(2, Field::bytes) ? read_dim(field.message, &entry->shape) : Status();
    });
}

}  // namespace

Status parse_bundle_header(const std::string& message, uint64_t* n_shards) {
    *n_shards = 0;
    uint64_t endianness = 0, min_consumer = 0;
    MINIGPT_TRY(each_field(Wire(message), [&](const Field& field) {
        if (field.is(1, Field::bytes)) {
            return Status::error(
                Code::not_supported,
                "a checkpoint of TensorFlow's first format; save it in the second");
        }
        if (field.is(1, Field::varint))
            return take(field, "num_shards", n_shards);
        if (field.is(2, Field::varint))
            endianness = field.value;
        if (!field.is(3, Field::bytes))
            return Status();
        return each_field(field.message, [&](const Field& version) {
            return version.is(2, Field::varint) ? take(version, "min_consumer", &min_consumer)
                                                : Status();
        });
    }));
    if (endianness != 0)
        return Status::error(Code::not_supported, "the data are not little-endian");
    if (min_consumer > kVersion) {
        return Status::error(Code::not_supported, "version %llu; this program reads version %llu",
                             Ull{min_consumer}, Ull{kVersion});
    }
    if (*n_shards > 0 && *n_shards <= 99999)
        return Status();
    return Status::error(Code::bad_file, "num_shards is %llu; expected 1 to 99999", Ull{*n_shards});
}

Status parse_bundle_entry(const std::string& message, BundleEntry* entry) {
    return each_field(Wire(message), [&](const Field& field) {
        if (field.is(1, Field::varint))
            return take(field, "dtype", &entry->dtype);
        if (field.is(2, Field::bytes))
            return read_shape(field.message, entry);
        if (field.is(3, Field::varint))
            return take(field, "shard_id", &entry->shard);
        if (field.is(4, Field::varint))
            return take(field, "offset", &entry->offset);
        if (field.is(5, Field::varint))
            return take(field, "size", &entry->size);
        if (field.is(6, Field::fixed32))
            entry->crc = static_cast<uint32_t>(field.value);
        entry->sliced |= field.is(7, Field::bytes);
        return Status();
    });
}

std::string name_of_dtype(uint64_t dtype) {
    if (dtype < sizeof kDtypes / sizeof kDtypes[0])
        return kDtypes[dtype];
    return "dtype " + std::to_string(dtype);
}

}  // namespace minigpt::convert
