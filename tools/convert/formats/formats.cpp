#include "convert/formats/formats.h"

#include <algorithm>
#include <set>

#include "common/file.h"
#include "convert/codecs/zip.h"
#include "convert/formats/ggml.h"
#include "convert/formats/gguf.h"
#include "convert/formats/llmc.h"
#include "convert/formats/mgpt.h"
#include "convert/formats/npz.h"
#include "convert/formats/safetensors.h"
#include "convert/formats/tensorflow.h"
#include "convert/formats/torch.h"

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
    std::vector<ZipEntry> entries;
    if (is_zip(*glimpse) && read_zip_directory(file, &entries).ok()) {
        for (ZipEntry& entry : entries)
            glimpse->entries.push_back(std::move(entry.name));
    }
    return file.read(file.size() - glimpse->tail.size(), &glimpse->tail[0], glimpse->tail.size());
}

// What the user says of the model, where the checkpoint does not say otherwise.
Status apply(const OpenOptions& options, Checkpoint* checkpoint) {
    SourceConfig& config = checkpoint->config;
    if (options.n_head && config.n_head && *options.n_head != *config.n_head) {
        return Status::error(Code::bad_argument, "--n-head %s, but the checkpoint has %s head%s",
                             std::to_string(*options.n_head).c_str(),
                             std::to_string(*config.n_head).c_str(), plural(*config.n_head));
    }
    if (options.activation && config.activation && *options.activation != *config.activation) {
        return Status::error(Code::bad_argument, "--activation %s, but the checkpoint has %s",
                             name_of(*options.activation), name_of(*config.activation));
    }
    if (options.n_head)
        config.n_head = options.n_head;
    if (options.activation)
        config.activation = options.activation;
    return Status();
}

// A checkpoint without a vocabulary, of as many rows as GPT-2 has tokens, or of those padded to a
// multiple of 64, has GPT-2's.
Status add_gpt2_vocabulary(Checkpoint* checkpoint) {
    constexpr uint64_t kTokens = 50257, kPadded = 50304;
    const SourceConfig& config = checkpoint->config;
    bool rows_fit = config.n_rows == kTokens || config.n_rows == kPadded;
    bool tokens_fit =
        config.n_vocab.value_or(kTokens) == kTokens || config.n_vocab == config.n_rows;
    if (checkpoint->vocabulary.kind != TokenizerKind::none || !rows_fit || !tokens_fit ||
        checkpoint->format == "mgpt")
        return Status();
    checkpoint->notes.push_back("no vocabulary there, and " + grouped(*config.n_rows) +
                                " rows: GPT-2's own vocabulary is taken");
    return gpt2_vocabulary(&checkpoint->vocabulary);
}

// The vocabulary is a part of the checkpoint: nothing is written over it. In a folder of its own,
// that is so where another was given, too; what lies beside a weight file was made of it.
void add_vocabulary_files(const std::string& path, Checkpoint* checkpoint) {
    std::vector<std::string>& files = checkpoint->files;
    std::vector<std::string> more = checkpoint->vocabulary.files;
    if (path_kind(path) == PathKind::folder && checkpoint->format != "mgpt") {
        std::vector<std::string> beside = vocabulary_files(path);
        more.insert(more.end(), beside.begin(), beside.end());
    }
    for (const std::string& file : more) {
        if (std::find(files.begin(), files.end(), file) == files.end())
            files.push_back(file);
    }
}

Status no_checkpoint(const std::vector<std::string>& names) {
    return Status::error(Code::bad_file,
                         "no checkpoint among its %zu file%s; looked for "
                         "*.safetensors, *.index.json and the content of PyTorch, GGUF, "
                         "ggml, llm.c and TensorFlow files",
                         names.size(), plural(names.size()));
}

// Of several TensorFlow checkpoints in a folder, the one that the trainer names as the latest.
Status keep_latest(const std::string& folder, std::vector<Found>* all) {
    bool tensorflow = std::all_of(all->begin(), all->end(), [](const Found& one) {
        return one.format->open == open_tensorflow;
    });
    if (!tensorflow || all->size() == 1)
        return Status();
    std::string latest;
    MINIGPT_TRY(latest_tensorflow(folder, &latest));
    auto found = std::find_if(all->begin(), all->end(),
                              [&](const Found& one) { return name_of_path(one.path) == latest; });
    if (found != all->end())
        *all = {*found};
    return Status();
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
        if (one.format->open != open_safetensors_index && one.format->open != open_torch_index)
            continue;
        WeightMap map;
        MINIGPT_TRY(within(name, read_weight_map(path, &map)));
        for (const auto& entry : map)
            parts.insert(entry.second);
    }
    auto is_part = [&](const Found& one) { return parts.count(name_of_path(one.path)) > 0; };
    all.erase(std::remove_if(all.begin(), all.end(), is_part), all.end());
    // What was made of a checkpoint may lie beside it.
    auto is_made = [](const Found& one) { return one.format->open == open_mgpt; };
    if (!std::all_of(all.begin(), all.end(), is_made))
        all.erase(std::remove_if(all.begin(), all.end(), is_made), all.end());
    if (all.empty())
        return no_checkpoint(names);
    MINIGPT_TRY(keep_latest(folder, &all));
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
            if (path_kind(path + ".index") == PathKind::file) {  // TensorFlow's way to name one
                MINIGPT_TRY(identify(path + ".index", &found));
                break;
            }
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
    MINIGPT_TRY(found.format->open(found.path, options, checkpoint));
    MINIGPT_TRY(apply(options, checkpoint->get()));
    add_vocabulary_files(path, checkpoint->get());
    return add_gpt2_vocabulary(checkpoint->get());
}

}  // namespace minigpt::convert
