// PyTorch's checkpoints: one file, or several under an index; Hugging Face's, nanoGPT's, minGPT's
// and others'.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "common/file.h"
#include "convert/formats/readers.h"
#include "convert/formats/shards.h"
#include "convert/formats/torch_numbers.h"
#include "convert/formats/torch_tensors.h"
#include "convert/vocabulary/vocabulary.h"

namespace minigpt::convert {
namespace {

class Torch : public Checkpoint {
public:
    Status read(size_t index, Scratch* scratch, ArrayView* array) override;

    Status add_file(const std::string& path);
    // The configuration and the vocabulary, once all files are added. `path`: what was opened.
    Status finish(const std::string& path, const OpenOptions& options);

private:
    // A tensor of the model, in one piece or in three: query, key, value.
    using Pieces = std::vector<TorchSource>;

    Status add_object(const TorchFile& file, size_t which);
    Status add_tensor(TorchTensor tensor, const TorchFile& file, size_t which);
    Status take_names();
    Status join_pieces();
    Status join_three(const std::string& target, const std::array<size_t, 3>& parts);
    void take_sizes();
    void take_tied();
    Status check_biases() const;
    void take_mingpt(const OpenOptions& options);
    // The tensor under our name for it; SIZE_MAX: none.
    size_t index_of(const std::string& target) const;

    TorchReader reader_;
    std::vector<Pieces> pieces_;                 // [tensors]
    std::vector<std::optional<Match>> matches_;  // [tensors], by kLinear
    bool is_nanogpt_ = false;
    std::optional<bool> has_bias_;
};

Status Torch::add_file(const std::string& path) {
    std::string name = name_of_path(path);
    size_t which = reader_.add_file(path);
    const File* file;
    MINIGPT_TRY(reader_.use(which, &file));
    char head[2] = {};
    if (file->size() >= sizeof head)
        MINIGPT_TRY(within(name, file->read(0, head, sizeof head)));
    TorchFile object;
    bool is_zip = head[0] == 'P' && head[1] == 'K';
    MINIGPT_TRY(
        within(name, is_zip ? open_torch_zip(*file, &object) : open_torch_legacy(*file, &object)));
    files.push_back(path);
    read_types = "F64, F32, F16 or BF16";
    return within(name, add_object(object, which));
}

Status Torch::add_object(const TorchFile& file, size_t which) {
    const Pickle& pickle = *file.pickle;
    PickleValue dict;
    std::vector<TorchTensor> found;
    MINIGPT_TRY(find_state_dict(pickle, file.root, &dict, &notes));
    MINIGPT_TRY(read_state_dict(pickle, dict, &found));
    for (TorchTensor& tensor : found) {
        std::string name = shown(tensor.name);
        MINIGPT_TRY(within(name, add_tensor(std::move(tensor), file, which)));
    }
    MINIGPT_TRY(read_torch_config(pickle, file.root, &config, &is_nanogpt_, &has_bias_));
    return read_pickled_vocabulary(pickle, file.root, name_of_path(files.back()), &vocabulary);
}

Status Torch::add_tensor(TorchTensor tensor, const TorchFile& file, size_t which) {
    const TorchStorageName& name = tensor.storage;
    auto storage = file.storages.find(name.key);
    if (storage == file.storages.end())
        return Status::error(Code::bad_file, "its storage %s is missing", shown(name.key).c_str());
    uint64_t n_bytes = storage->second.n_bytes, size = name.type->n_bytes;
    // In a legacy file's view, `first` counts, too.
    if (name.numel > n_bytes / size || name.first > n_bytes / size - name.numel) {
        return Status::error(Code::bad_file,
                             "its storage %s has %s byte%s; expected %s %s number%s",
                             shown(name.key).c_str(), grouped(n_bytes).c_str(), plural(n_bytes),
                             grouped(name.numel).c_str(), name.type->dtype, plural(name.numel));
    }
    SourceTensor out;
    out.name = tensor.name;
    out.dtype = name.type->dtype;
    out.type = torch_element_type(*name.type);
    out.shape = tensor.shape;
    out.n_bytes = tensor.span * size;
    tensors.push_back(std::move(out));
    pieces_.push_back({TorchSource{which, std::move(tensor), storage->second}});
    return Status();
}

Status Torch::read(size_t index, Scratch* scratch, ArrayView* array) {
    const SourceTensor& tensor = tensors[index];
    const Pieces& pieces = pieces_[index];
    if (pieces.size() == 1) {
        Status status = reader_.read(pieces[0], tensor.shape, scratch, array);
        return within(shown(tensor.name), status);
    }
    std::vector<uint64_t> dims = tensor.shape;
    dims[0] /= pieces.size();
    uint64_t n_bytes = bytes_of(*tensor.type);
    for (uint64_t n : dims)
        n_bytes *= n;
    MINIGPT_TRY(scratch->reserve(n_bytes * pieces.size()));
    for (size_t i = 0; i < pieces.size(); i++) {
        Status status = reader_.read_packed(pieces[i], dims, scratch->data() + i * n_bytes);
        MINIGPT_TRY(within(shown(pieces[i].tensor.name), status));
    }
    size_t n = static_cast<size_t>(tensor.shape[0]);
    *array = dims.size() == 1 ? ArrayView::vector(scratch->data(), n, *tensor.type)
                              : ArrayView::matrix(scratch->data(), n, static_cast<size_t>(dims[1]),
                                                  *tensor.type);
    return Status();
}

size_t Torch::index_of(const std::string& target) const {
    for (size_t i = 0; i < matches_.size(); i++) {
        if (matches_[i] && matches_[i]->rule->part == 0 && matches_[i]->target == target)
            return i;
    }
    return SIZE_MAX;
}

// Three tensors of one shape and type become one.
Status Torch::join_three(const std::string& target, const std::array<size_t, 3>& parts) {
    constexpr const char* kNames[] = {"query", "key", "value"};
    size_t known = SIZE_MAX;
    for (size_t part : parts)
        known = part == SIZE_MAX ? known : part;
    for (size_t i = 0; i < parts.size(); i++) {
        const SourceTensor& a = tensors[known];
        if (parts[i] == SIZE_MAX) {
            return Status::error(Code::bad_file, "the %s that belongs to %s is missing", kNames[i],
                                 shown(a.name).c_str());
        }
        const SourceTensor& b = tensors[parts[i]];
        if (a.shape == b.shape && a.dtype == b.dtype)
            continue;
        return Status::error(Code::bad_shape, "%s is %s %s and %s is %s %s; expected the same",
                             shown(a.name).c_str(), a.dtype.c_str(), shape_text(a.shape).c_str(),
                             shown(b.name).c_str(), b.dtype.c_str(), shape_text(b.shape).c_str());
    }
    SourceTensor whole = tensors[known];
    if (whole.shape.empty() || whole.shape.size() > 2 || whole.shape[0] > UINT32_MAX) {
        return Status::error(Code::bad_shape, "%s: shape is %s", shown(whole.name).c_str(),
                             shape_text(whole.shape).c_str());
    }
    whole.name = target;
    whole.shape[0] *= parts.size();
    whole.n_bytes = 0;
    Pieces pieces;
    for (size_t part : parts) {
        whole.n_bytes += tensors[part].n_bytes;
        pieces.push_back(pieces_[part][0]);
    }
    matches_.push_back(match(kLinear, target));
    tensors.push_back(std::move(whole));
    pieces_.push_back(std::move(pieces));
    return Status();
}

Status Torch::join_pieces() {
    std::map<std::string, std::array<size_t, 3>> groups;
    for (size_t i = 0; i < tensors.size(); i++) {
        if (!matches_[i] || matches_[i]->rule->part == 0)
            continue;
        auto group = groups.emplace(matches_[i]->target, std::array<size_t, 3>{}).first;
        if (group->second == std::array<size_t, 3>{})
            group->second.fill(SIZE_MAX);
        size_t& place = group->second[matches_[i]->rule->part - 1];
        if (place != SIZE_MAX) {
            return Status::error(Code::bad_file, "%s and %s are the same tensor of the model",
                                 shown(tensors[place].name).c_str(),
                                 shown(tensors[i].name).c_str());
        }
        place = i;
    }
    if (groups.empty())
        return Status();
    for (const auto& [target, parts] : groups)
        MINIGPT_TRY(join_three(target, parts));
    size_t n = 0;
    for (size_t i = 0; i < tensors.size(); i++) {
        if (matches_[i] && matches_[i]->rule->part != 0)
            continue;
        if (n != i) {
            tensors[n] = std::move(tensors[i]);
            pieces_[n] = std::move(pieces_[i]);
            matches_[n] = std::move(matches_[i]);
        }
        n++;
    }
    tensors.resize(n);
    pieces_.resize(n);
    matches_.resize(n);
    return Status();
}

// Chooses the dialect. Which way round matrices are is told by c_attn, which is never square.
Status Torch::take_names() {
    size_t n_foreign = 0;
    for (SourceTensor& tensor : tensors) {
        matches_.push_back(match(kLinear, tensor.name));
        n_foreign += matches_.back().has_value() && !match(kHuggingFace, tensor.name);
        bool is_weight = matches_.back() && matches_.back()->rule->role == Role::parameter;
        while (is_weight && tensor.shape.size() > 2 && tensor.shape[0] == 1)
            tensor.shape.erase(tensor.shape.begin());
    }
    MINIGPT_TRY(join_pieces());
    size_t table = index_of("wte.weight");
    if (table == SIZE_MAX) {
        std::string first = tensors.empty() ? "" : "; the first is " + shown(tensors[0].name);
        return Status::error(Code::bad_file, "no token table (wte.weight) among its %zu tensor%s%s",
                             tensors.size(), plural(tensors.size()), first.c_str());
    }
    size_t c_attn = index_of("h.0.attn.c_attn.weight");
    bool is_conv = c_attn != SIZE_MAX && tensors[c_attn].shape.size() == 2 &&
                   tensors[c_attn].shape[0] * 3 == tensors[c_attn].shape[1];
    dialect = is_conv ? &kHuggingFace : &kLinear;
    if (!is_conv && n_foreign > 0) {
        notes.push_back("its names are not GPT-2's own; taken as the same layers: " +
                        shown(tensors[table].name) + " is wte.weight, ...");
    }
    return Status();
}

// Sizes that only shapes tell.
void Torch::take_sizes() {
    std::set<uint64_t> layers;
    for (const std::optional<Match>& m : matches_) {
        if (m && m->layer && m->rule->role == Role::parameter)
            layers.insert(*m->layer);
    }
    auto set = [&](std::optional<uint64_t>* size, const char* target, size_t dim) {
        size_t i = index_of(target);
        if (!*size && i != SIZE_MAX && tensors[i].shape.size() == 2)
            *size = tensors[i].shape[dim];
    };
    if (!config.n_layer)
        config.n_layer = layers.size();
    set(&config.n_rows, "wte.weight", 0);
    set(&config.n_embd, "wte.weight", 1);
    set(&config.n_ctx, "wpe.weight", 0);
    set(&config.n_ff, "h.0.mlp.c_fc.weight", dialect == &kLinear ? 0 : 1);
}

// A head that is the token table by name only.
void Torch::take_tied() {
    size_t head = index_of("lm_head.weight"), table = index_of("wte.weight");
    if (!config.tied && head != SIZE_MAX)
        config.tied = same_place(pieces_[head][0], pieces_[table][0]);
}

Status Torch::check_biases() const {
    if (!has_bias_)
        return Status();
    size_t bias = index_of("ln_f.bias");
    if (*has_bias_ == (bias != SIZE_MAX))
        return Status();
    return Status::error(Code::bad_file, "ln_f.bias is %s, but the settings say bias=%s",
                         *has_bias_ ? "missing" : "there", *has_bias_ ? "True" : "False");
}

// minGPT saves no settings: it is known by its mask buffers and its untied head.
void Torch::take_mingpt(const OpenOptions& options) {
    bool has_mask = std::any_of(tensors.begin(), tensors.end(), [](const SourceTensor& t) {
        return ends_with(t.name, "h.0.attn.bias");
    });
    if (config.activation || options.activation || dialect != &kLinear || !has_mask ||
        config.tied != false || index_of("h.0.attn.c_attn.weight") == SIZE_MAX)
        return;
    config.activation = Activation::gelu_tanh;
    notes.push_back("taken as minGPT's: the activation is gelu_tanh; --activation says otherwise");
}

Status Torch::finish(const std::string& path, const OpenOptions& options) {
    std::string folder = folder_of(path);
    MINIGPT_TRY(take_names());
    format = is_nanogpt_ ? "nanoGPT" : "PyTorch";
    bool has_settings = is_nanogpt_ || config.n_head;
    bool has_config = false;
    if (!has_settings)
        MINIGPT_TRY(within("config.json", find_file(join(folder, "config.json"), &has_config)));
    if (has_config) {
        MINIGPT_TRY(read_hf_config(folder, this));
    } else {
        take_sizes();
        take_tied();
        MINIGPT_TRY(check_biases());
        take_mingpt(options);
    }
    if (!options.vocab.empty())
        return load_vocabulary(options.vocab, &vocabulary);
    if (vocabulary.kind == TokenizerKind::none)
        return find_vocabulary(folder, &vocabulary);
    return Status();
}

}  // namespace

Status open_torch(const std::string& path, const OpenOptions& options,
                  std::unique_ptr<Checkpoint>* checkpoint) {
    auto opened = std::make_unique<Torch>();
    MINIGPT_TRY(opened->add_file(path));
    MINIGPT_TRY(opened->finish(path, options));
    *checkpoint = std::move(opened);
    return Status();
}

Status open_torch_index(const std::string& path, const OpenOptions& options,
                        std::unique_ptr<Checkpoint>* checkpoint) {
    auto opened = std::make_unique<Torch>();
    auto add = [&](const std::string& part) { return opened->add_file(part); };
    MINIGPT_TRY(add_shards(path, opened.get(), add));
    MINIGPT_TRY(opened->finish(path, options));
    *checkpoint = std::move(opened);
    return Status();
}

}  // namespace minigpt::convert
