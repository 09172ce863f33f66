#include "convert/formats/npz.h"

#include <cstring>

#include "common/file.h"
#include "convert/codecs/crc.h"
#include "convert/codecs/inflate.h"
#include "convert/codecs/zip.h"
#include "convert/formats/readers.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;

constexpr size_t kMagicBytes = 8;
constexpr uint64_t kMaxHeader = 64 << 10;

class Npz : public Checkpoint {
public:
    Status open(const std::string& path, const OpenOptions& options);
    Status read(size_t index, Scratch* scratch, ArrayView* array) override;

private:
    struct Array {
        ZipEntry zip;
        NpyHeader npy;
        uint64_t header_bytes = 0;  // before the numbers
    };

    Status add(const ZipEntry& entry);
    Status read_first(const ZipEntry& entry, void* data, uint64_t n_bytes) const;
    Status read_all(const ZipEntry& entry, unsigned char* data) const;
    Status read_header(Array* array) const;
    void choose_dialect();

    std::string path_;
    File file_;
    std::vector<Array> arrays_;  // [tensors]
};

Status Npz::read_first(const ZipEntry& entry, void* data, uint64_t n_bytes) const {
    if (n_bytes > entry.n_bytes)
        return Status::error(Code::bad_file, "no .npy array: %llu byte%s", Ull{entry.n_bytes},
                             plural(entry.n_bytes));
    size_t n = static_cast<size_t>(n_bytes);
    if (entry.method == kZipStored)
        return file_.read(entry.offset, data, n);
    return inflate_first({&file_, entry.offset, entry.packed_bytes},
                         static_cast<unsigned char*>(data), n);
}

Status Npz::read_all(const ZipEntry& entry, unsigned char* data) const {
    size_t n = static_cast<size_t>(entry.n_bytes);
    MINIGPT_TRY(entry.method == kZipStored
                    ? file_.read(entry.offset, data, n)
                    : inflate({&file_, entry.offset, entry.packed_bytes}, data, n));
    uint32_t crc = crc32_of(data, n);
    if (crc == entry.crc32)
        return Status();
    return Status::error(Code::bad_file, "its checksum is %08lx; the archive says %08lx",
                         static_cast<unsigned long>(crc), static_cast<unsigned long>(entry.crc32));
}

Status Npz::read_header(Array* array) const {
    unsigned char head[kMagicBytes + 4];
    MINIGPT_TRY(read_first(array->zip, head, sizeof head));
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return Status::error(Code::bad_file, "is no .npy array");
    unsigned version = head[6];
    if (version < 1 || version > 3 || head[7] != 0) {
        return Status::error(Code::not_supported, ".npy version %u.%u; expected 1.0, 2.0 or 3.0",
                             version, static_cast<unsigned>(head[7]));
    }
    uint64_t n_header = head[8] | static_cast<uint64_t>(head[9]) << 8, n_before = kMagicBytes + 2;
    if (version > 1) {
        n_header |= static_cast<uint64_t>(head[10]) << 16 | static_cast<uint64_t>(head[11]) << 24;
        n_before += 2;
    }
    if (n_header > kMaxHeader) {
        return Status::error(Code::bad_file, "a header of %llu bytes; expected at most %llu",
                             Ull{n_header}, Ull{kMaxHeader});
    }
    array->header_bytes = n_before + n_header;
    std::string text(static_cast<size_t>(array->header_bytes), '\0');
    MINIGPT_TRY(read_first(array->zip, &text[0], text.size()));
    return parse_npy_header(text.substr(static_cast<size_t>(n_before)), &array->npy);
}

// What numbers of a descr are read as; f64 is rounded to f32.
std::optional<ElementType> element_type(const std::string& descr) {
    if (descr == "<f4" || descr == "<f8")
        return ElementType::f32;
    if (descr == "<f2")
        return ElementType::f16;
    return {};
}

Status check_length(const NpyHeader& npy, uint64_t n_bytes) {
    uint64_t expected = npy.item_bytes;
    for (uint64_t n : npy.shape) {
        if (n != 0 && expected > UINT64_MAX / n) {
            return Status::error(Code::bad_file, "shape %s multiplies past 2^64",
                                 shape_text(npy.shape).c_str());
        }
        expected *= n;
    }
    if (expected == n_bytes)
        return Status();
    return Status::error(Code::bad_file, "%llu byte%s of data; %s %s has %llu", Ull{n_bytes},
                         plural(n_bytes), npy.descr.c_str(), shape_text(npy.shape).c_str(),
                         Ull{expected});
}

Status Npz::add(const ZipEntry& entry) {
    if (!ends_with(entry.name, ".npy"))
        return Status::error(Code::bad_file, "is left over: it is no .npy array");
    if (entry.method != kZipStored && entry.method != kZipDeflated) {
        return Status::error(Code::not_supported,
                             "zip method %u; expected 0 (stored) or 8 (deflated)", entry.method);
    }
    if (entry.n_bytes / kMaxInflation > entry.packed_bytes) {
        return Status::error(Code::bad_file, "%llu bytes cannot be deflated to %llu",
                             Ull{entry.n_bytes}, Ull{entry.packed_bytes});
    }
    Array array;
    array.zip = entry;
    MINIGPT_TRY(read_header(&array));
    MINIGPT_TRY(check_length(array.npy, entry.n_bytes - array.header_bytes));
    std::string name = entry.name.substr(0, entry.name.size() - 4);
    tensors.push_back({name, array.npy.descr, element_type(array.npy.descr), array.npy.shape,
                       entry.packed_bytes});
    arrays_.push_back(std::move(array));
    return Status();
}

// Linear's matrices are the other way round than Conv1D's; c_attn is never square.
void Npz::choose_dialect() {
    dialect = &kHuggingFace;
    for (const SourceTensor& t : tensors) {
        std::optional<Match> m = match(kLinear, t.name);
        if (m && m->target == "h.0.attn.c_attn.weight" && t.shape.size() == 2 &&
            t.shape[0] == 3 * t.shape[1])
            dialect = &kLinear;
    }
}

Status Npz::open(const std::string& path, const OpenOptions& options) {
    path_ = path;
    files.push_back(path);
    format = "NumPy";
    MINIGPT_TRY(within(name_of_path(path), file_.open(path)));
    std::vector<ZipEntry> entries;
    MINIGPT_TRY(within(name_of_path(path), read_zip_directory(file_, &entries)));
    for (const ZipEntry& entry : entries)
        MINIGPT_TRY(within(name_of_path(path), within(shown(entry.name), add(entry))));
    choose_dialect();
    std::string folder = folder_of(path);
    bool has_config = false;
    MINIGPT_TRY(within("config.json", find_file(join(folder, "config.json"), &has_config)));
    if (has_config) {
        MINIGPT_TRY(read_hf_config(folder, this));
    } else {
        MINIGPT_TRY(within(name_of_path(path), infer_sizes(this)));
        MINIGPT_TRY(infer_tied(this));
    }
    return options.vocab.empty() ? find_vocabulary(folder, &vocabulary)
                                 : load_vocabulary(options.vocab, &vocabulary);
}

// f64 to f32, in place.
void narrow(unsigned char* data, uint64_t n) {
    for (size_t i = 0; i < n; i++) {
        double wide;
        memcpy(&wide, data + i * sizeof wide, sizeof wide);
        float value = static_cast<float>(wide);
        memcpy(data + i * sizeof value, &value, sizeof value);
    }
}

Status Npz::read(size_t index, Scratch* scratch, ArrayView* array) {
    const Array& a = arrays_[index];
    const SourceTensor& t = tensors[index];
    MINIGPT_TRY(scratch->reserve(a.zip.n_bytes));
    MINIGPT_TRY(
        within(name_of_path(path_), within(shown(a.zip.name), read_all(a.zip, scratch->data()))));
    unsigned char* data = scratch->data() + a.header_bytes;
    if (a.npy.descr == "<f8")
        narrow(data, (a.zip.n_bytes - a.header_bytes) / sizeof(double));
    *array = row_major(t, data);
    if (a.npy.is_fortran && array->n_dims == 2) {
        array->row_stride = 1;
        array->col_stride = array->shape[0];
    }
    return Status();
}

}  // namespace

Status open_npz(const std::string& path, const OpenOptions& options,
                std::unique_ptr<Checkpoint>* checkpoint) {
    auto opened = std::make_unique<Npz>();
    MINIGPT_TRY(opened->open(path, options));
    *checkpoint = std::move(opened);
    return Status();
}

}  // namespace minigpt::convert
