// The two containers that torch.save writes: a zip archive (since PyTorch 1.6), and pickles
// followed by raw storages ("legacy").
//
//     zip:     ROOT/data.pkl, ROOT/data/KEY for each storage, ROOT/version, perhaps ROOT/byteorder
//     legacy:  pickles of a magic number, a protocol version, the system, the object, the keys;
//              then for each key i64 numel and the numbers
#pragma once

#include <map>
#include <memory>
#include <string>

#include "convert/codecs/pickle.h"
#include "convert/formats/readers.h"

namespace minigpt::convert {

// A type of numbers. `dtype` is safetensors' name for it.
struct TorchType {
    const char* global;  // "torch FloatStorage"
    const char* dtype;   // "F32"
    unsigned n_bytes;    // of one number
};

// A storage as the object refers to it: pieces of `numel` numbers from `first` on.
struct TorchStorageName {
    std::string key;
    const TorchType* type = nullptr;
    uint64_t first = 0;  // not 0 only for views in legacy files
    uint64_t numel = 0;
};

// The place of a storage's bytes in the file.
struct TorchStorage {
    uint64_t offset = 0;
    uint64_t n_bytes = 0;
    uint32_t crc32 = 0;  // 0: unknown
};

struct TorchFile {
    std::unique_ptr<Pickle> pickle;
    PickleValue root = 0;
    std::map<std::string, TorchStorage> storages;  // by key
};

// Reads a container's directory and its object. Errors: io; bad_file; not_supported (deflated
// entries, big-endian numbers, pickles that Pickle refuses).
Status open_torch_zip(const File& file, TorchFile* out);
Status open_torch_legacy(const File& file, TorchFile* out);

// The storage that a persistent value refers to.
Status read_storage_name(const Pickle& pickle, PickleValue value, TorchStorageName* name);

}  // namespace minigpt::convert
