#include "convert/formats/gguf.h"

#include "convert/formats/readers.h"
#include "convert/vocabulary/vocabulary.h"

namespace minigpt::convert {
namespace {

class Gguf : public Checkpoint {
public:
    Status open(const std::string& path, const OpenOptions& options);
    Status read(size_t index, Scratch* scratch, ArrayView* array) override;

private:
    Status check_kind() const;
    Status take_config();
    Status take_vocabulary();
    void add_tokens(RawVocabulary* raw) const;
    size_t count_tokens() const;

    const GgufValue* key(const char* name) const {
        auto found = header_.keys.find(name);
        return found == header_.keys.end() ? nullptr : &found->second;
    }
    std::optional<uint64_t> number(const char* name) const {
        const GgufValue* value = key(name);
        return value == nullptr ? std::nullopt : std::optional<uint64_t>(value->number);
    }
    std::string text(const char* name) const {
        const GgufValue* value = key(name);
        return value == nullptr ? "" : value->text;
    }

    std::string path_;
    File file_;
    GgufFile header_;
};

// llama.cpp's enum llama_token_type.
enum : int64_t { kControl = 3, kUserDefined = 4, kUnused = 5 };

Status Gguf::check_kind() const {
    std::string architecture = text("general.architecture");
    if (architecture != "gpt2") {
        return Status::error(Code::not_supported,
                             "general.architecture: found \"%s\"; expected \"gpt2\"",
                             shown(architecture).c_str());
    }
    if (number("split.count").value_or(1) > 1) {
        return Status::error(Code::not_supported,
                             "split.count: is one part of %llu; join them (gguf-split --merge)",
                             static_cast<unsigned long long>(*number("split.count")));
    }
    return Status();
}

Status Gguf::take_config() {
    config.n_layer = number("gpt2.block_count");
    config.n_ctx = number("gpt2.context_length");
    config.n_embd = number("gpt2.embedding_length");
    config.n_ff = number("gpt2.feed_forward_length");
    config.n_head = number("gpt2.attention.head_count");
    config.n_rows = number("gpt2.vocab_size");
    config.eos = number("tokenizer.ggml.eos_token_id");
    config.activation = Activation::gelu_tanh;
    if (const GgufValue* epsilon = key("gpt2.attention.layer_norm_epsilon"))
        config.layer_norm_epsilon = epsilon->real;
    std::optional<uint64_t> n_kv = number("gpt2.attention.head_count_kv");
    if (n_kv && n_kv != config.n_head) {
        return Status::error(Code::not_supported,
                             "gpt2.attention.head_count_kv is not head_count: GPT-2 has as many "
                             "key heads as heads");
    }
    return infer_sizes(this);
}

// The tokens without the rows at the end that stand for none.
size_t Gguf::count_tokens() const {
    const std::vector<std::string>& texts = key("tokenizer.ggml.tokens")->texts;
    const GgufValue* types = key("tokenizer.ggml.token_type");
    size_t n = texts.size();
    for (; n > 0; n--) {
        bool unused = types != nullptr && types->ints[n - 1] == kUnused;
        if (!unused && texts[n - 1] != "[PAD" + std::to_string(n - 1) + "]")
            break;
    }
    return n;
}

void Gguf::add_tokens(RawVocabulary* raw) const {
    const std::vector<std::string>& texts = key("tokenizer.ggml.tokens")->texts;
    const GgufValue* types = key("tokenizer.ggml.token_type");
    size_t n = count_tokens();
    for (size_t i = 0; i < n; i++) {
        int64_t type = types == nullptr ? 0 : types->ints[i];
        bool added = type == kControl || type == kUserDefined || type == kUnused;
        raw->tokens.push_back({texts[i], i, added});
    }
}

Status Gguf::take_vocabulary() {
    std::string model = text("tokenizer.ggml.model"), split = text("tokenizer.ggml.pre");
    const GgufValue* tokens = key("tokenizer.ggml.tokens");
    const GgufValue* merges = key("tokenizer.ggml.merges");
    const GgufValue* types = key("tokenizer.ggml.token_type");
    if (tokens == nullptr || model == "none" || model == "no_vocab")
        return find_vocabulary(folder_of(path_), &vocabulary);
    if (model != "gpt2") {
        return Status::error(Code::not_supported,
                             "tokenizer.ggml.model: found \"%s\"; expected \"gpt2\"",
                             shown(model).c_str());
    }
    if (!split.empty() && split != "gpt-2" && split != "gpt2" && split != "default") {
        return Status::error(Code::not_supported,
                             "tokenizer.ggml.pre: found \"%s\"; expected \"gpt-2\"",
                             shown(split).c_str());
    }
    if (types != nullptr && types->ints.size() != tokens->texts.size()) {
        return Status::error(Code::bad_file,
                             "tokenizer.ggml.token_type: found %zu, expected %zu, one a token",
                             types->ints.size(), tokens->texts.size());
    }
    if (config.n_rows && tokens->texts.size() > *config.n_rows) {
        return Status::error(Code::bad_file,
                             "tokenizer.ggml.tokens: found %zu, but the table's rows are %s",
                             tokens->texts.size(), grouped(*config.n_rows).c_str());
    }
    RawVocabulary raw;
    raw.source = "tokenizer.ggml.tokens";
    add_tokens(&raw);
    if (merges != nullptr)
        raw.merges_source = "tokenizer.ggml.merges";
    for (size_t i = 0; merges != nullptr && i < merges->texts.size(); i++) {
        const std::string& pair = merges->texts[i];
        size_t space = pair.find(' ');
        if (space == std::string::npos || space == 0 || space + 1 == pair.size() ||
            pair.find(' ', space + 1) != std::string::npos) {
            return Status::error(Code::bad_file,
                                 "tokenizer.ggml.merges: %zu: \"%s\"; expected two tokens and a "
                                 "space",
                                 i, shown(pair).c_str());
        }
        raw.merges.push_back({pair.substr(0, space), pair.substr(space + 1), i});
    }
    return finish_vocabulary(std::move(raw), &vocabulary);
}

Status Gguf::open(const std::string& path, const OpenOptions& options) {
    path_ = path;
    files.push_back(path);
    format = "GGUF";
    dialect = &kGguf;
    read_types = read_gguf_types();
    MINIGPT_TRY(file_.open(path));
    MINIGPT_TRY(read_gguf_header(file_, &header_));
    MINIGPT_TRY(check_kind());
    for (const GgufTensor& t : header_.tensors)
        tensors.push_back({t.name, t.type->name, t.type->read_as(), t.shape, t.n_bytes,
                           t.type->block_numbers > 1});
    MINIGPT_TRY(take_config());
    MINIGPT_TRY(infer_tied(this));
    if (!options.vocab.empty())
        return load_vocabulary(options.vocab, &vocabulary);
    MINIGPT_TRY(take_vocabulary());
    header_.keys.clear();
    return Status();
}

Status Gguf::read(size_t index, Scratch* scratch, ArrayView* array) {
    const GgufTensor& t = header_.tensors[index];
    uint64_t n = t.n_bytes / t.type->block_bytes * t.type->block_numbers;
    uint64_t memory = t.type->plain ? t.n_bytes : n * sizeof(float);
    MINIGPT_TRY(scratch->reserve(memory));
    unsigned char* data = scratch->data() + (memory - t.n_bytes);
    Status status = file_.read(t.offset, data, static_cast<size_t>(t.n_bytes));
    MINIGPT_TRY(within(name_of_path(path_), within(shown(t.name), status)));
    if (!t.type->plain)
        unpack_in_place(*t.type, scratch->data(), n / t.type->block_numbers);
    *array = t.shape.size() == 1
                 ? ArrayView::vector(scratch->data(), static_cast<size_t>(n), *t.type->read_as())
                 : ArrayView::matrix(scratch->data(), static_cast<size_t>(t.shape[0]),
                                     static_cast<size_t>(t.shape[1]), *t.type->read_as());
    return Status();
}

}  // namespace

Status open_gguf(const std::string& path, const OpenOptions& options,
                 std::unique_ptr<Checkpoint>* checkpoint) {
    auto opened = std::make_unique<Gguf>();
    MINIGPT_TRY(within(name_of_path(path), opened->open(path, options)));
    *checkpoint = std::move(opened);
    return Status();
}

}  // namespace minigpt::convert
