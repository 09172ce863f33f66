// Which checkpoint a path names, and what is said of it beside it.
#include <algorithm>
#include <set>

#include "common/file.h"
#include "convert/formats/formats.h"
#include "convert/formats/shards.h"
#include "convert/formats/tensorflow.h"

namespace minigpt::convert {
namespace {

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
    MINIGPT_TRY(found.format->open(found.path, options, checkpoint));
    MINIGPT_TRY(apply(options, checkpoint->get()));
    add_vocabulary_files(path, checkpoint->get());
    return add_gpt2_vocabulary(checkpoint->get());
}

}  // namespace minigpt::convert
