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

// Checkpoints that this program does not read, and what would turn them into one that it does.
constexpr struct {
    const char* ending;
    const char* what;
    const char* remedy;
} kUnread[] = {
    {".h5", "a Keras checkpoint", "from_tf=True"},
    {".msgpack", "a Flax checkpoint", "from_flax=True"},
    {".onnx", "an ONNX graph", nullptr},
    {".tflite", "a TensorFlow Lite graph", nullptr},
};

// "is ..., which is not read: ..."; empty for other names.
std::string unread(const std::string& name) {
    for (const auto& kind : kUnread) {
        if (!ends_with(name, kind.ending))
            continue;
        std::string text = std::string("is ") + kind.what + ", which is not read: ";
        if (kind.remedy == nullptr)
            return text + "give the checkpoint that it was made of";
        return text + "save it as safetensors by Python's transformers, GPT2LMHeadModel." +
               "from_pretrained(FOLDER, " + kind.remedy + ").save_pretrained(NEW)";
    }
    return "";
}

// What lies beside weights, and is no checkpoint alone.
bool is_beside(const std::string& name) {
    constexpr const char* kBeside[] = {
        "checkpoint",
        "hparams.json",
        "config.json",
        "generation_config.json",
        "vocab.json",
        "merges.txt",
        "encoder.json",
        "vocab.bpe",
        "added_tokens.json",
        "tokenizer.json",
        "meta.pkl",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "gpt2_tokenizer.bin",
    };
    // PREFIX.data-00000-of-00001, PREFIX.meta: TensorFlow's, whose .index is missing here or
    // beside.
    return name.find(".data-") != std::string::npos || ends_with(name, ".meta") ||
           std::find(std::begin(kBeside), std::end(kBeside), name) != std::end(kBeside);
}

Status no_checkpoint_file(const std::string& name) {
    std::string why = unread(name);
    if (!why.empty())
        return Status::error(Code::not_supported, "%s", why.c_str());
    return Status::error(Code::bad_file, "%s",
                         is_beside(name)
                             ? "is no checkpoint, but lies beside one: give the folder of both"
                             : "is no checkpoint: its content is of no format that this program "
                               "reads (--help names them)");
}

Status no_checkpoint(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (!unread(name).empty())
            return within(shown(name), no_checkpoint_file(name));
    }
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
    if (found.format == nullptr)
        return within(shown(name_of_path(found.path)),
                      no_checkpoint_file(name_of_path(found.path)));
    MINIGPT_TRY(found.format->open(found.path, options, checkpoint));
    MINIGPT_TRY(apply(options, checkpoint->get()));
    add_vocabulary_files(path, checkpoint->get());
    return add_gpt2_vocabulary(checkpoint->get());
}

}  // namespace minigpt::convert
