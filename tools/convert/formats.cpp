#include "formats.h"

#include <algorithm>
#include <set>

#include "file.h"
#include "safetensors.h"

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

bool is_zip(const Glimpse& glimpse) {
    return begins_with(glimpse, "PK\x03\x04");
}

bool is_pickle(const Glimpse& glimpse) {
    // PROTO 2, LONG1 of 10 bytes: the magic number of torch.save before 1.6.
    return begins_with(glimpse,
                       std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8", 12));
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
    {"safetensors index", is_index, ".safetensors.index.json", open_safetensors_index},
    {"PyTorch or NumPy zip", is_zip, nullptr, nullptr},
    {"PyTorch pickle", is_pickle, nullptr, nullptr},
    {"GGUF", is_gguf, nullptr, nullptr},
    {"ggml", is_ggml, nullptr, nullptr},
    {"llm.c", is_llmc, nullptr, nullptr},
    {"TensorFlow", is_tensorflow, nullptr, nullptr},
};

// What trainers save beside a model in a format of models.
constexpr const char* kCompanions[] = {
    "optimizer.pt",
    "scheduler.pt",
    "scaler.pt",
    "training_args.bin",
};

bool is_companion(const std::string& name) {
    bool random_state = name.compare(0, 9, "rng_state") == 0 && ends_with(name, ".pth");
    return random_state ||
           std::find(std::begin(kCompanions), std::end(kCompanions), name) != std::end(kCompanions);
}

Status look(const std::string& path, Glimpse* glimpse) {
    File file;
    MINIGPT_TRY(file.open(path));
    glimpse->name = name_of_path(path);
    glimpse->n_bytes = file.size();
    glimpse->head.resize(static_cast<size_t>(std::min<uint64_t>(file.size(), 16)));
    glimpse->tail.resize(static_cast<size_t>(std::min<uint64_t>(file.size(), 8)));
    MINIGPT_TRY(file.read(0, &glimpse->head[0], glimpse->head.size()));
    return file.read(file.size() - glimpse->tail.size(), &glimpse->tail[0], glimpse->tail.size());
}

Status no_checkpoint(const std::vector<std::string>& names) {
    return Status::error(
        Code::bad_file,
        "no checkpoint among its %zu files; looked for "
        "*.safetensors, *.safetensors.index.json and the content of PyTorch, GGUF, "
        "ggml, llm.c and TensorFlow files",
        names.size());
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

Status search_folder(const std::string& folder, Found* found) {
    std::vector<std::string> names;
    MINIGPT_TRY(list_folder(folder, &names));
    std::vector<Found> all;
    std::set<std::string> parts;  // of the indexes
    for (const std::string& name : names) {
        std::string path = join(folder, name);
        if (path_kind(path) != PathKind::file || is_companion(name))
            continue;
        Found one;
        Status status = identify(path, &one);
        if (!status.ok() && ends_with(name, ".safetensors"))
            return within(name, status);
        if (!status.ok() || one.format == nullptr)
            continue;  // not ours, readable or not
        all.push_back(one);
        if (one.format->open != open_safetensors_index)
            continue;
        WeightMap map;
        MINIGPT_TRY(within(name, read_weight_map(path, &map)));
        for (const auto& entry : map)
            parts.insert(entry.second);
    }
    auto is_part = [&](const Found& one) { return parts.count(name_of_path(one.path)) > 0; };
    all.erase(std::remove_if(all.begin(), all.end(), is_part), all.end());
    if (all.empty())
        return no_checkpoint(names);
    if (all.size() > 1) {
        return Status::error(Code::bad_file,
                             "holds %zu checkpoints, among them %s and %s: name "
                             "the file that is meant",
                             all.size(), shown(name_of_path(all[0].path)).c_str(),
                             shown(name_of_path(all[1].path)).c_str());
    }
    *found = all[0];
    return Status();
}

Status open_checkpoint(const std::string& path, const OpenOptions& options,
                       std::unique_ptr<Checkpoint>* checkpoint) {
    Found found;
    switch (path_kind(path)) {
        case PathKind::missing:
            return Status::error(Code::io, "no such file or folder");
        case PathKind::other:
            return Status::error(Code::io, "neither a file nor a folder");
        case PathKind::file:
            MINIGPT_TRY(identify(path, &found));
            break;
        case PathKind::folder:
            MINIGPT_TRY(search_folder(path, &found));
            break;
    }
    std::string name = shown(name_of_path(found.path));
    if (found.format == nullptr) {
        return Status::error(Code::bad_file,
                             "%s is no checkpoint: its content is of no kind that "
                             "this program knows",
                             name.c_str());
    }
    if (found.format->open == nullptr) {
        return Status::error(Code::not_supported,
                             "%s is a %s checkpoint, which this version does "
                             "not read; it reads safetensors",
                             name.c_str(), found.format->name);
    }
    return found.format->open(found.path, options, checkpoint);
}

}  // namespace minigpt::convert
