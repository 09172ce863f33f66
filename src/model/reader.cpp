// Model: opening a weight file and believing nothing in it.
#include <cstring>

#include "base/file.h"
#include "base/hash.h"
#include "minigpt/model.h"
#include "model/format.h"
#include "model/self_test.h"
#include "ops/check.h"
#include "ops/compute.h"
#include "ops/linear.h"

namespace minigpt {
namespace {

using Ull = unsigned long long;  // what %llu takes

Status wrong(const char* field, uint64_t found, uint64_t expected) {
    return Status::error(Code::bad_file, "%s is %llu; expected %llu", field, Ull{found},
                         Ull{expected});
}

template <typename T>
T read_as(const unsigned char* p) {
    T value;
    memcpy(&value, p, sizeof value);
    return value;
}

// hash64 of the header with its own field as zeros.
uint64_t header_hash(const unsigned char* image, size_t header_bytes) {
    constexpr size_t at = offsetof(FileHeader, header_hash);
    const unsigned char zeros[8] = {};
    Hash64 hash;
    hash.update(image, at);
    hash.update(zeros, sizeof zeros);
    hash.update(image + at + 8, header_bytes - at - 8);
    return hash.finish();
}

// The magic has a byte with the top bit set, a line end of two bytes and, where a text file of DOS
// would end, a third: what a transfer in text mode changes or drops.
Status check_magic(const unsigned char* image) {
    if (memcmp(image, kMagic, sizeof kMagic) == 0)
        return Status();
    // Its letters, after one byte, or what one became as UTF-8.
    for (size_t at = 0; at <= 3; at++) {
        if (memcmp(image + at, kMagic + 1, 4) == 0) {
            return Status::error(Code::bad_file,
                                 "a .mgpt file that was changed by a transfer in text mode: copy "
                                 "it again in binary mode");
        }
    }
    return Status::error(Code::bad_file, "not a .mgpt file: its first 8 bytes are others");
}

Status check_header(const FileHeader& h, const unsigned char* image, size_t bytes) {
    MINIGPT_TRY(check_magic(image));
    if (h.version != kFormatVersion) {
        return Status::error(Code::not_supported,
                             "format version %lu; this library reads %lu: convert the checkpoint "
                             "again, or use the libminigpt that the file was made with",
                             static_cast<unsigned long>(h.version),
                             static_cast<unsigned long>(kFormatVersion));
    }
    if (h.file_bytes != bytes)
        return wrong("the file's length", bytes, h.file_bytes);
    if (h.header_bytes < sizeof h || h.header_bytes > bytes || h.header_bytes % kAlign != 0) {
        return Status::error(Code::bad_file, "header_bytes is %lu; expected 128 to %llu, by 64",
                             static_cast<unsigned long>(h.header_bytes), Ull{bytes});
    }
    uint64_t hash = header_hash(image, h.header_bytes);
    if (hash != h.header_hash) {
        return Status::error(Code::bad_file,
                             "the header is damaged: its checksum is %016llx; expected %016llx",
                             Ull{hash}, Ull{h.header_hash});
    }
    uint64_t expected =
        align_up(sizeof(FileHeader) + static_cast<uint64_t>(h.n_sections) * sizeof(FileSection) +
                 static_cast<uint64_t>(h.n_tensors) * sizeof(FileTensor));
    if (h.header_bytes != expected)
        return wrong("header_bytes", h.header_bytes, expected);
    if ((h.flags & ~static_cast<uint32_t>(kFlagsAll)) != 0) {
        return wrong("flags", h.flags, h.flags & kFlagsAll);
    }
    for (uint32_t reserved : h.reserved) {
        if (reserved != 0)
            return wrong("a reserved field", reserved, 0);
    }
    return Status();
}

const char* section_name(uint32_t kind) {
    switch (static_cast<Section>(kind)) {
        case Section::provenance:
            return "the provenance";
        case Section::tokenizer:
            return "the tokenizer";
        case Section::self_test:
            return "the self-test";
    }
    return "a section of a later version";
}

Config config_of(const FileHeader& h) {
    Config c;
    c.n_vocab = h.n_vocab;
    c.n_rows = h.n_rows;
    c.n_ctx = h.n_ctx;
    c.n_embd = h.n_embd;
    c.n_head = h.n_head;
    c.n_layer = h.n_layer;
    c.n_ff = h.n_ff;
    c.layer_norm_epsilon = h.layer_norm_epsilon;
    c.activation = static_cast<Activation>(h.activation);
    c.biases = h.biases;
    c.tied = (h.flags & kFlagTied) != 0;
    c.scale_attn_weights = (h.flags & kFlagScaleAttn) != 0;
    c.scale_attn_by_inverse_layer_idx = (h.flags & kFlagScaleByLayer) != 0;
    return c;
}

// Everything lies in the order of the header, aligned, without gaps or overlaps: `at` is where
// the next part has to begin, and moves past it.
Status take(const char* name, uint64_t offset, uint64_t bytes, uint64_t file_bytes, uint64_t* at) {
    if (offset != *at) {
        return Status::error(Code::bad_file, "%s: begins at byte %llu; expected %llu", name,
                             Ull{offset}, Ull{*at});
    }
    if (offset > file_bytes || bytes > file_bytes - offset) {
        return Status::error(Code::bad_file, "%s: %llu bytes from %llu on; the file has %llu", name,
                             Ull{bytes}, Ull{offset}, Ull{file_bytes});
    }
    *at = align_up(offset + bytes);
    return Status();
}

Status check_entry(const FileTensor& t, const TensorSpec& spec) {
    if (memcmp(t.name, spec.name, sizeof t.name) != 0) {
        return Status::error(Code::bad_file, "tensor %.*s stands where %s is expected",
                             static_cast<int>(sizeof t.name), t.name, spec.name);
    }
    if (t.shape[0] != spec.shape[0] || t.shape[1] != spec.shape[1]) {
        return Status::error(Code::bad_file, "%s: shape is [%llu, %llu]; expected [%llu, %llu]",
                             spec.name, Ull{t.shape[0]}, Ull{t.shape[1]}, Ull{spec.shape[0]},
                             Ull{spec.shape[1]});
    }
    if (t.layout != static_cast<uint32_t>(spec.layout)) {
        return Status::error(Code::bad_file, "%s: layout is %lu; expected %lu", spec.name,
                             static_cast<unsigned long>(t.layout),
                             static_cast<unsigned long>(spec.layout));
    }
    ElementType type = static_cast<ElementType>(t.type);
    if (t.type >= kElementTypeCount) {
        return Status::error(Code::bad_file, "%s: unknown element type %lu", spec.name,
                             static_cast<unsigned long>(t.type));
    }
    if (spec.layout == Layout::panels)
        MINIGPT_TRY(check_computed(spec.name, type));
    if (spec.layout == Layout::vector && type != ElementType::f32) {
        return Status::error(Code::bad_file, "%s: element type is %s; expected f32", spec.name,
                             name_of(type));
    }
    if ((spec.layout == Layout::rows && traits_of(type).positions != type) ||
        (spec.is_table && traits_of(type).tables != type)) {
        return Status::error(Code::bad_file, "%s: element type is %s; expected another", spec.name,
                             name_of(type));
    }
    uint64_t expected = stored_bytes(spec, type);
    if (t.bytes != expected) {
        return Status::error(Code::bad_file, "%s: %llu bytes; expected %llu", spec.name,
                             Ull{t.bytes}, Ull{expected});
    }
    return Status();
}

// Three texts, each ended by a zero byte.
Status read_provenance(const unsigned char* p, size_t bytes, const char* texts[3]) {
    for (int i = 0; i < 3; i++) {
        const void* end = memchr(p, '\0', bytes);
        if (end == nullptr) {
            return Status::error(Code::bad_file, "provenance: %d texts; expected 3", i);
        }
        texts[i] = reinterpret_cast<const char*>(p);
        size_t length = static_cast<size_t>(static_cast<const unsigned char*>(end) - p) + 1;
        p += length;
        bytes -= length;
    }
    return Status();
}

struct Sections {
    const unsigned char* tokenizer = nullptr;
    size_t tokenizer_bytes = 0;
    const unsigned char* self_test = nullptr;
    const char* provenance[3] = {"", "", ""};
};

Status read_sections(const unsigned char* image, const FileHeader& h, const Config& config,
                     uint64_t* at, Sections* found) {
    uint32_t last_kind = 0;
    for (uint32_t i = 0; i < h.n_sections; i++) {
        FileSection s = read_as<FileSection>(image + sizeof h + i * sizeof s);
        if (s.kind <= last_kind) {
            return Status::error(Code::bad_file, "section kind %lu after %lu; expected ascending",
                                 static_cast<unsigned long>(s.kind),
                                 static_cast<unsigned long>(last_kind));
        }
        if (s.reserved != 0) {
            return Status::error(Code::bad_file, "section kind %lu: reserved word %lu, expected 0",
                                 static_cast<unsigned long>(s.kind),
                                 static_cast<unsigned long>(s.reserved));
        }
        last_kind = s.kind;
        MINIGPT_TRY(take(section_name(s.kind), s.offset, s.bytes, h.file_bytes, at));
        const unsigned char* data = image + s.offset;
        size_t n = static_cast<size_t>(s.bytes);
        if (s.kind == static_cast<uint32_t>(Section::provenance)) {
            MINIGPT_TRY(read_provenance(data, n, found->provenance));
        } else if (s.kind == static_cast<uint32_t>(Section::tokenizer)) {
            found->tokenizer = data;
            found->tokenizer_bytes = n;
        } else if (s.kind == static_cast<uint32_t>(Section::self_test)) {
            MINIGPT_TRY(check_self_test(data, n, config));
            found->self_test = data;
        }  // others are for later versions of the library
    }
    return Status();
}

}  // namespace

Model::~Model() {
    if (owned_)
        unmap_file(image_, bytes_);
}

Status Model::open(const char* path) {
    return open_with(map_file, path);
}

Status Model::load(const char* path) {
    return open_with(read_file, path);
}

Status Model::open_with(TakeFile take_file, const char* path) {
    if (is_open())
        return Status::error(Code::bad_argument, "the model is open already");
    MINIGPT_TRY(check_pointer("path", path));
    const unsigned char* image;
    size_t bytes;
    MINIGPT_TRY(take_file(path, &image, &bytes));
    Status status = parse(image, bytes);
    if (!status.ok()) {
        unmap_file(image, bytes);
        return status;
    }
    owned_ = true;
    return Status();
}

Status Model::open(const void* image, size_t bytes) {
    if (is_open())
        return Status::error(Code::bad_argument, "the model is open already");
    MINIGPT_TRY(check_pointer("image", image));
    if (reinterpret_cast<uintptr_t>(image) % kAlign != 0) {
        return Status::error(Code::bad_argument, "the image is at %p; expected a multiple of 64",
                             image);
    }
    return parse(image, bytes);
}

Status Model::parse(const void* data, size_t bytes) {
    const unsigned char* image = static_cast<const unsigned char*>(data);
    if (bytes < sizeof(FileHeader)) {
        return Status::error(Code::bad_file,
                             "its size is %zu; the header of a .mgpt file alone has %zu bytes",
                             bytes, sizeof(FileHeader));
    }
    FileHeader h = read_as<FileHeader>(image);
    MINIGPT_TRY(check_header(h, image, bytes));
    Config config = config_of(h);
    if (Status status = check(config); !status.ok()) {
        return Status::error(Code::bad_file, "%s", status.message());
    }
    if (h.n_tensors != tensor_count(config)) {
        return wrong("n_tensors", h.n_tensors, tensor_count(config));
    }

    uint64_t at = h.header_bytes;
    Sections sections;
    MINIGPT_TRY(read_sections(image, h, config, &at, &sections));
    const unsigned char* directory = image + sizeof h + h.n_sections * sizeof(FileSection);
    for (size_t i = 0; i < h.n_tensors; i++) {
        FileTensor t = read_as<FileTensor>(directory + i * sizeof t);
        TensorSpec spec = tensor_spec(config, i);
        MINIGPT_TRY(check_entry(t, spec));
        MINIGPT_TRY(take(spec.name, t.offset, t.bytes, h.file_bytes, &at));
    }
    if (at != h.file_bytes)
        return wrong("the end of the last tensor", at, h.file_bytes);

    image_ = image;
    bytes_ = bytes;
    config_ = config;
    has_subnormals_ = (h.flags & kFlagSubnormals) != 0;
    n_tensors_ = h.n_tensors;
    directory_ = directory;
    tokenizer_ = sections.tokenizer;
    tokenizer_bytes_ = sections.tokenizer_bytes;
    self_test_ = sections.self_test;
    memcpy(provenance_, sections.provenance, sizeof provenance_);
    return Status();
}

TensorInfo Model::tensor(size_t index) const {
    if (index >= n_tensors_)
        return TensorInfo();
    FileTensor t = read_as<FileTensor>(directory_ + index * sizeof(FileTensor));
    return {tensor_spec(config_, index), static_cast<ElementType>(t.type), image_ + t.offset,
            t.bytes, t.hash};
}

const void* Model::tokenizer(size_t* bytes) const {
    if (bytes != nullptr)
        *bytes = tokenizer_bytes_;
    return tokenizer_;
}

Status Model::check_sections(const Compute& compute) const {
    if (!is_open())
        return Status::error(Code::bad_argument, "the model is not open");
    FileHeader h = read_as<FileHeader>(image_);
    for (uint32_t i = 0; i < h.n_sections; i++) {
        FileSection s = read_as<FileSection>(image_ + sizeof h + i * sizeof s);
        if (hash64(image_ + s.offset, static_cast<size_t>(s.bytes), pool_of(compute)) == s.hash) {
            continue;
        }
        return Status::error(Code::bad_file, "%s is damaged: its checksum differs",
                             section_name(s.kind));
    }
    return Status();
}

Status Model::check_tensor(size_t index, const Compute& compute) const {
    if (index >= n_tensors_)
        return Status::error(Code::bad_argument, "tensor %zu of %zu", index, n_tensors_);
    TensorInfo t = tensor(index);
    uint64_t hash = hash64(t.data, static_cast<size_t>(t.bytes), pool_of(compute));
    if (hash == t.checksum)
        return Status();
    return Status::error(Code::bad_file, "%s is damaged: its checksum is %016llx; expected %016llx",
                         t.spec.name, Ull{hash}, Ull{t.checksum});
}

Status Model::check_weights(const Compute& compute) const {
    MINIGPT_TRY(check_sections(compute));
    for (size_t i = 0; i < n_tensors_; i++)
        MINIGPT_TRY(check_tensor(i, compute));
    return Status();
}

}  // namespace minigpt
