#include "convert/formats/formats.h"

#include <algorithm>

#include "common/file.h"
#include "convert/codecs/zip.h"

namespace minigpt::convert {
namespace {

bool begins_with(const Glimpse& glimpse, const std::string& bytes) {
    return glimpse.head.compare(0, bytes.size(), bytes) == 0;
}

bool is_safetensors(const Glimpse& glimpse) {
    // The upper half of the header's length is zero, and its JSON begins.
    return glimpse.head.size() > 8 && glimpse.head[8] == '{' &&
           glimpse.head.compare(4, 4, std::string(4, '\0')) == 0;
}

bool is_index(const Glimpse& glimpse) {
    return ends_with(glimpse.name, ".index.json") && begins_with(glimpse, "{");
}

bool is_torch_index(const Glimpse& glimpse) {
    return is_index(glimpse) && ends_with(glimpse.name, ".bin.index.json");
}

bool is_zip(const Glimpse& glimpse) {
    return begins_with(glimpse, "PK\x03\x04");
}

bool has_entry(const Glimpse& glimpse, const char* ending) {
    return std::any_of(glimpse.entries.begin(), glimpse.entries.end(),
                       [&](const std::string& name) { return ends_with(name, ending); });
}

bool is_torch_zip(const Glimpse& glimpse) {
    return is_zip(glimpse) && has_entry(glimpse, "data.pkl");
}

bool is_npz(const Glimpse& glimpse) {
    return is_zip(glimpse) && has_entry(glimpse, ".npy");
}

bool is_damaged_zip(const Glimpse& glimpse) {
    return is_zip(glimpse) && glimpse.entries.empty();
}

bool is_pickle(const Glimpse& glimpse) {
    // PROTO 2, LONG1 of 10 bytes: the magic number of torch.save before 1.6.
    if (begins_with(glimpse, std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8", 12)))
        return true;
    // Any pickle under a checkpoint's name: what is wrong with it can be said.
    return begins_with(glimpse, "\x80") &&
           (ends_with(glimpse.name, ".pt") || ends_with(glimpse.name, ".pth") ||
            ends_with(glimpse.name, ".bin"));
}

bool is_mgpt(const Glimpse& glimpse) {
    return begins_with(glimpse, "\x89MGPT\r\n\x1a");
}
bool is_gguf(const Glimpse& glimpse) {
    return begins_with(glimpse, "GGUF");
}
bool is_ggml(const Glimpse& glimpse) {
    return begins_with(glimpse, "lmgg");
}
bool is_llmc(const Glimpse& glimpse) {
    return begins_with(glimpse, "\xc6\xd7\x34\x01");
}

bool is_tensorflow(const Glimpse& glimpse) {
    return glimpse.tail == "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
}

// Only an index names its parts' type, so it is told by its ending and by its parts.
constexpr Format kFormats[] = {
    {"safetensors", is_safetensors, ".safetensors", open_safetensors},
    {"PyTorch index", is_torch_index, nullptr, open_torch_index},
    {"safetensors index", is_index, ".safetensors.index.json", open_safetensors_index},
    {"PyTorch", is_torch_zip, nullptr, open_torch},
    {"NumPy", is_npz, nullptr, open_npz},
    {"PyTorch", is_damaged_zip, nullptr, open_torch},  // which says what is wrong
    {"PyTorch", is_pickle, nullptr, open_torch},
    {"GGUF", is_gguf, nullptr, open_gguf},
    {"ggml", is_ggml, nullptr, open_ggml},
    {"llm.c", is_llmc, nullptr, open_llmc},
    {"TensorFlow", is_tensorflow, ".ckpt.index", open_tensorflow},
    {"mgpt", is_mgpt, ".mgpt", open_mgpt},
};

Status look(const std::string& path, Glimpse* glimpse) {
    File file;
    MINIGPT_TRY(file.open(path));
    glimpse->name = name_of_path(path);
    glimpse->n_bytes = file.size();
    glimpse->head.resize(static_cast<size_t>(std::min<uint64_t>(file.size(), 16)));
    glimpse->tail.resize(static_cast<size_t>(std::min<uint64_t>(file.size(), 8)));
    MINIGPT_TRY(file.read(0, &glimpse->head[0], glimpse->head.size()));
    std::vector<ZipEntry> entries;
    if (is_zip(*glimpse) && read_zip_directory(file, &entries).ok()) {
        for (ZipEntry& entry : entries)
            glimpse->entries.push_back(std::move(entry.name));
    }
    return file.read(file.size() - glimpse->tail.size(), &glimpse->tail[0], glimpse->tail.size());
}

}  // namespace

Status identify(const std::string& path, Found* found) {
    Glimpse glimpse;
    MINIGPT_TRY(look(path, &glimpse));
    found->path = path;
    found->format = nullptr;
    for (const Format& format : kFormats) {
        if (!format.is(glimpse))
            continue;
        found->format = &format;
        return Status();
    }
    for (const Format& format : kFormats) {
        if (format.ending == nullptr || !ends_with(glimpse.name, format.ending))
            continue;
        found->format = &format;
        break;
    }
    return Status();
}

}  // namespace minigpt::convert
