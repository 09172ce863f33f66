#include "convert/formats/torch_file.h"
#include "convert/formats/readers.h"

#include <algorithm>
#include <cstring>

#include "convert/codecs/crc.h"
#include "convert/codecs/zip.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;
using Kind = PickleGlobal::Kind;

constexpr TorchType kTypes[] = {
    {"torch FloatStorage", "F32", 4},  {"torch HalfStorage", "F16", 2},
    {"torch DoubleStorage", "F64", 8}, {"torch BFloat16Storage", "BF16", 2},
    {"torch LongStorage", "I64", 8},   {"torch IntStorage", "I32", 4},
    {"torch ShortStorage", "I16", 2},  {"torch CharStorage", "I8", 1},
    {"torch ByteStorage", "U8", 1},    {"torch BoolStorage", "BOOL", 1},
};

// All that a checkpoint may name. Names of functions are kept as names, whatever their kind.
constexpr PickleGlobal kGlobals[] = {
    {"collections OrderedDict", Kind::dict},
    {"torch._utils _rebuild_tensor_v2", Kind::function},
    {"torch._utils _rebuild_tensor", Kind::function},
    {"torch._utils _rebuild_parameter", Kind::function},
    {"torch Size", Kind::function},
    {"torch device", Kind::function},
    {"torch FloatStorage", Kind::value},
    {"torch HalfStorage", Kind::value},
    {"torch DoubleStorage", Kind::value},
    {"torch BFloat16Storage", Kind::value},
    {"torch LongStorage", Kind::value},
    {"torch IntStorage", Kind::value},
    {"torch ShortStorage", Kind::value},
    {"torch CharStorage", Kind::value},
    {"torch ByteStorage", Kind::value},
    {"torch BoolStorage", Kind::value},
    {"torch float32", Kind::value},
    {"torch float16", Kind::value},
    {"torch bfloat16", Kind::value},
    {"torch float64", Kind::value},
    // Settings, as training programs save them beside the weights.
    {"argparse Namespace", Kind::record},
    {"__main__ GPTConfig", Kind::record},
    {"model GPTConfig", Kind::record},
    {"numpy.core.multiarray scalar", Kind::function},
    {"numpy._core.multiarray scalar", Kind::function},
    {"numpy dtype", Kind::function},
    {"_codecs encode", Kind::function},
};

constexpr unsigned char kMagic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
constexpr int64_t kLegacyProtocol = 1001;

std::unique_ptr<Pickle> new_pickle(PickleBytes bytes) {
    return std::make_unique<Pickle>(std::move(bytes), kGlobals, std::size(kGlobals));
}

Status read_entry(const File& file, const ZipEntry& entry, size_t max_bytes, std::string* text) {
    if (entry.method != kZipStored) {
        return Status::error(Code::not_supported, "is packed by method %u; PyTorch stores",
                             entry.method);
    }
    if (entry.n_bytes > max_bytes) {
        return Status::error(Code::bad_file, "%s bytes; expected at most %s",
                             grouped(entry.n_bytes).c_str(), grouped(max_bytes).c_str());
    }
    text->resize(static_cast<size_t>(entry.n_bytes));
    MINIGPT_TRY(file.read(entry.offset, &(*text)[0], text->size()));
    if (entry.crc32 != 0 && crc32_of(text->data(), text->size()) != entry.crc32)
        return Status::error(Code::bad_file, "its checksum does not fit: the file is damaged");
    return Status();
}

// The folder of data.pkl, with its slash.
Status find_root(const std::vector<ZipEntry>& entries, std::string* root) {
    constexpr char kObject[] = "data.pkl";
    size_t n_found = 0;
    for (const ZipEntry& entry : entries) {
        if (entry.name != kObject && !ends_with(entry.name, "/data.pkl"))
            continue;
        n_found++;
        *root = entry.name.substr(0, entry.name.size() - strlen(kObject));
    }
    if (n_found == 1)
        return Status();
    return Status::error(Code::bad_file, "%zu entries data.pkl in the zip archive; expected one",
                         n_found);
}

Status big_endian() {
    return Status::error(Code::not_supported, "its numbers are big-endian");
}

// The sizes of the storages that the object names, by key.
Status storage_sizes(const Pickle& pickle, std::map<std::string, TorchStorageName>* names) {
    for (PickleValue value : pickle.persistents()) {
        TorchStorageName name;
        MINIGPT_TRY(read_storage_name(pickle, value, &name));
        auto [entry, is_new] = names->emplace(name.key, name);
        if (is_new || entry->second.type->n_bytes == name.type->n_bytes)
            continue;
        return Status::error(Code::bad_file, "storage %s is both %s and %s",
                             shown(name.key).c_str(), entry->second.type->dtype, name.type->dtype);
    }
    return Status();
}

Status read_legacy_storages(const File& file, PickleValue keys, TorchFile* out) {
    const Pickle& pickle = *out->pickle;
    std::map<std::string, TorchStorageName> names;
    MINIGPT_TRY(storage_sizes(pickle, &names));
    if (!pickle.is(keys, PickleKind::list))
        return Status::error(Code::bad_file, "its storages' keys are %s", pickle.kind_name(keys));
    uint64_t at = pickle.at();
    for (PickleValue value : pickle.items(keys)) {
        std::string key = pickle.is(value, PickleKind::text) ? pickle.text(value) : "";
        std::string what = "storage " + shown(key);
        auto name = names.find(key);
        if (name == names.end())
            return Status::error(Code::bad_file, "%s: nothing uses it", what.c_str());
        int64_t numel;
        if (file.size() - at < sizeof numel)
            return Status::error(Code::bad_file, "%s: the file is cut", what.c_str());
        MINIGPT_TRY(file.read(at, &numel, sizeof numel));
        at += sizeof numel;
        uint64_t n = static_cast<uint64_t>(numel), size = name->second.type->n_bytes;
        if (numel < 0 || n > (file.size() - at) / size) {
            return Status::error(Code::bad_file, "%s: %lld numbers, but the file has %llu bytes",
                                 what.c_str(), static_cast<long long>(numel),
                                 Ull{file.size() - at});
        }
        if (!out->storages.emplace(key, TorchStorage{at, n * size, 0}).second)
            return Status::error(Code::bad_file, "%s is there twice", what.c_str());
        at += n * size;
    }
    return Status();
}

}  // namespace

Status read_storage_name(const Pickle& pickle, PickleValue value, TorchStorageName* name) {
    // ('storage', torch.FloatStorage, key, location, numel), perhaps followed by None or by
    // (key of the view, first number, numel).
    Status bad = Status::error(Code::bad_file, "a storage's name is not of PyTorch's form");
    if (!pickle.is(value, PickleKind::persistent) ||
        !pickle.is(pickle.inner(value), PickleKind::tuple))
        return bad;
    const std::vector<PickleValue>& id = pickle.items(pickle.inner(value));
    if (id.size() < 5 || id.size() > 6 || !pickle.is(id[0], PickleKind::text) ||
        pickle.text(id[0]) != "storage" || !pickle.is(id[1], PickleKind::global) ||
        !pickle.is(id[2], PickleKind::text))
        return bad;
    for (const TorchType& type : kTypes) {
        if (strcmp(pickle.global(id[1])->name, type.global) == 0)
            name->type = &type;
    }
    std::optional<int64_t> numel = pickle.integer(id[4]);
    if (name->type == nullptr || !numel || *numel < 0)
        return bad;
    name->key = pickle.text(id[2]);
    name->numel = static_cast<uint64_t>(*numel);
    if (id.size() < 6 || pickle.is(id[5], PickleKind::none))
        return Status();
    if (!pickle.is(id[5], PickleKind::tuple) || pickle.items(id[5]).size() != 3)
        return bad;
    std::optional<int64_t> first = pickle.integer(pickle.items(id[5])[1]);
    std::optional<int64_t> n = pickle.integer(pickle.items(id[5])[2]);
    if (!first || !n || *first < 0 || *n < 0 || *first > *numel || *n > *numel - *first)
        return bad;
    name->first = static_cast<uint64_t>(*first);
    name->numel = static_cast<uint64_t>(*n);
    return Status();
}

Status open_torch_zip(const File& file, TorchFile* out) {
    std::vector<ZipEntry> entries;
    std::string root, object;
    MINIGPT_TRY(read_zip_directory(file, &entries));
    MINIGPT_TRY(find_root(entries, &root));
    std::string data = root + "data/";
    for (const ZipEntry& entry : entries) {
        if (entry.name.compare(0, data.size(), data) == 0) {
            if (entry.method != kZipStored) {
                return Status::error(Code::not_supported,
                                     "%s is packed by method %u; PyTorch stores",
                                     shown(entry.name).c_str(), entry.method);
            }
            out->storages[entry.name.substr(data.size())] = {entry.offset, entry.n_bytes,
                                                             entry.crc32};
        } else if (entry.name == root + "data.pkl") {
            MINIGPT_TRY(within("data.pkl", read_entry(file, entry, Pickle::kMaxBytes, &object)));
        } else if (entry.name == root + "byteorder") {
            std::string order;
            MINIGPT_TRY(within("byteorder", read_entry(file, entry, 64, &order)));
            if (order != "little")
                return big_endian();
        }
    }
    out->pickle = new_pickle(PickleBytes(std::move(object)));
    return within("data.pkl", out->pickle->read(&out->root));
}

Status open_torch_legacy(const File& file, TorchFile* out) {
    out->pickle = new_pickle(PickleBytes(&file, 0, file.size()));
    Pickle& pickle = *out->pickle;
    PickleValue magic, protocol, system, keys;
    MINIGPT_TRY(pickle.read(&magic));
    if (!pickle.is(magic, PickleKind::big) ||
        pickle.text(magic) != std::string(std::begin(kMagic), std::end(kMagic)))
        return Status::error(Code::bad_file, "its magic number is not PyTorch's");
    MINIGPT_TRY(pickle.read(&protocol));
    if (pickle.integer(protocol) != kLegacyProtocol)
        return Status::error(Code::not_supported, "its protocol version is not 1001");
    MINIGPT_TRY(pickle.read(&system));
    if (pickle.is(system, PickleKind::dict)) {
        std::optional<PickleValue> little = pickle.find(system, "little_endian");
        if (little && pickle.integer(*little) == 0)
            return big_endian();
    }
    MINIGPT_TRY(pickle.read(&out->root));
    MINIGPT_TRY(pickle.read(&keys));
    return read_legacy_storages(file, keys, out);
}

}  // namespace minigpt::convert
