// What a checkpoint's object says beside its tensors: sizes and vocabularies.
#include <cmath>
#include <cstring>

#include "convert/formats/torch_tensors.h"
#include "convert/hf_config.h"

namespace minigpt::convert {
namespace {

using Size = std::optional<uint64_t>;

// Where training programs keep the model's settings, other than nanoGPT's model_args.
constexpr const char* kConfigKeys[] = {
    "config", "model_config", "gpt_config", "hparams", "hyper_parameters", "args", "cfg", "params",
};

constexpr struct {
    const char* name;
    Size SourceConfig::*size;
} kSizes[] = {
    {"n_head", &SourceConfig::n_head},        {"n_heads", &SourceConfig::n_head},
    {"num_heads", &SourceConfig::n_head},     {"num_attention_heads", &SourceConfig::n_head},
    {"n_layer", &SourceConfig::n_layer},      {"n_layers", &SourceConfig::n_layer},
    {"num_layers", &SourceConfig::n_layer},   {"num_hidden_layers", &SourceConfig::n_layer},
    {"n_embd", &SourceConfig::n_embd},        {"d_model", &SourceConfig::n_embd},
    {"emb_dim", &SourceConfig::n_embd},       {"embed_dim", &SourceConfig::n_embd},
    {"hidden_size", &SourceConfig::n_embd},   {"block_size", &SourceConfig::n_ctx},
    {"n_ctx", &SourceConfig::n_ctx},          {"n_positions", &SourceConfig::n_ctx},
    {"context_length", &SourceConfig::n_ctx}, {"vocab_size", &SourceConfig::n_rows},
    {"n_inner", &SourceConfig::n_ff},         {"d_ff", &SourceConfig::n_ff},
};

constexpr const char* kActivationKeys[] = {"activation_function", "activation"};
constexpr const char* kEpsilonKeys[] = {"layer_norm_epsilon", "layer_norm_eps"};

Status read_size(const Pickle& pickle, PickleValue value, Size* size) {
    if (pickle.is(value, PickleKind::none))
        return Status();
    std::optional<int64_t> n = pickle.integer(value);
    if (!n || *n <= 0 || *n > UINT32_MAX)
        return Status::error(Code::bad_file, "is %s; expected 1 to 4294967295",
                             n ? std::to_string(*n).c_str() : pickle.kind_name(value));
    if (*size && **size != static_cast<uint64_t>(*n)) {
        return Status::error(Code::bad_file, "is %lld; another name of the same size gives %llu",
                             static_cast<long long>(*n), static_cast<unsigned long long>(**size));
    }
    *size = static_cast<uint64_t>(*n);
    return Status();
}

// The settings' dictionary: itself, or an object's attributes.
std::optional<PickleValue> dictionary(const Pickle& pickle, PickleValue value) {
    if (pickle.is(value, PickleKind::record))
        value = pickle.inner(value);
    return pickle.is(value, PickleKind::dict) ? std::optional<PickleValue>(value) : std::nullopt;
}

bool says_heads(const Pickle& pickle, PickleValue dict) {
    for (const auto& field : kSizes) {
        if (field.size == &SourceConfig::n_head && pickle.find(dict, field.name))
            return true;
    }
    return false;
}

Status read_activation(const Pickle& pickle, PickleValue value, SourceConfig* config) {
    if (!pickle.is(value, PickleKind::text))
        return Status();
    config->activation = activation_of_name(pickle.text(value));
    if (config->activation)
        return Status();
    return Status::error(Code::not_supported,
                         "\"%s\" is no activation of this library: it has gelu_new and gelu",
                         shown(pickle.text(value)).c_str());
}

Status read_epsilon(const Pickle& pickle, PickleValue value, SourceConfig* config) {
    double x = pickle.is(value, PickleKind::real) ? pickle.real(value) : 0;
    if (!(x > 0 && x < 1) || static_cast<float>(x) <= 0)
        return Status::error(Code::bad_file, "expected a number between 0 and 1");
    config->layer_norm_epsilon = x;
    return Status();
}

Status read_settings(const Pickle& pickle, PickleValue dict, SourceConfig* config,
                     std::optional<bool>* has_bias) {
    for (const auto& field : kSizes) {
        if (std::optional<PickleValue> value = pickle.find(dict, field.name))
            MINIGPT_TRY(within(field.name, read_size(pickle, *value, &(config->*field.size))));
    }
    for (const char* key : kActivationKeys) {
        if (std::optional<PickleValue> value = pickle.find(dict, key))
            MINIGPT_TRY(within(key, read_activation(pickle, *value, config)));
    }
    for (const char* key : kEpsilonKeys) {
        if (std::optional<PickleValue> value = pickle.find(dict, key))
            MINIGPT_TRY(within(key, read_epsilon(pickle, *value, config)));
    }
    std::optional<PickleValue> bias = pickle.find(dict, "bias");
    if (bias && pickle.is(*bias, PickleKind::boolean))
        *has_bias = pickle.integer(*bias) != 0;
    return Status();
}

// An id as a number, or as JSON's keys have it, a text of digits.
Status read_id(const Pickle& pickle, PickleValue value, uint64_t* id) {
    if (std::optional<int64_t> n = pickle.integer(value); n && *n >= 0) {
        *id = static_cast<uint64_t>(*n);
        return Status();
    }
    std::string text = pickle.is(value, PickleKind::text) ? pickle.text(value) : "";
    if (text.empty() || text.size() > 9 || strspn(text.c_str(), "0123456789") != text.size())
        return Status::error(Code::bad_file, "an id is %s", pickle.kind_name(value));
    *id = std::stoul(text);
    return Status();
}

Status add_token(const Pickle& pickle, PickleValue text, PickleValue id, RawVocabulary* raw) {
    RawToken token;
    if (!pickle.is(text, PickleKind::text))
        return Status::error(Code::bad_file, "a token is %s", pickle.kind_name(text));
    token.text = pickle.text(text);
    MINIGPT_TRY(within("\"" + shown(token.text) + "\"", read_id(pickle, id, &token.id)));
    raw->tokens.push_back(std::move(token));
    return Status();
}

Status read_stoi(const Pickle& pickle, PickleValue stoi, RawVocabulary* raw) {
    if (!pickle.is(stoi, PickleKind::dict))
        return Status::error(Code::bad_file, "is %s; expected a dict", pickle.kind_name(stoi));
    const std::vector<PickleValue>& members = pickle.items(stoi);
    for (size_t i = 0; i + 1 < members.size(); i += 2)
        MINIGPT_TRY(add_token(pickle, members[i], members[i + 1], raw));
    return Status();
}

Status read_itos(const Pickle& pickle, PickleValue itos, RawVocabulary* raw) {
    const bool is_dict = pickle.is(itos, PickleKind::dict);
    if (!is_dict && !pickle.is(itos, PickleKind::list) && !pickle.is(itos, PickleKind::tuple))
        return Status::error(Code::bad_file, "is %s; expected a dict", pickle.kind_name(itos));
    const std::vector<PickleValue>& members = pickle.items(itos);
    for (size_t i = 0; is_dict && i + 1 < members.size(); i += 2)
        MINIGPT_TRY(add_token(pickle, members[i + 1], members[i], raw));
    for (size_t i = 0; !is_dict && i < members.size(); i++) {
        if (!pickle.is(members[i], PickleKind::text))
            return Status::error(Code::bad_file, "a token is %s", pickle.kind_name(members[i]));
        raw->tokens.push_back({pickle.text(members[i]), i, false});
    }
    return Status();
}

}  // namespace

Status read_torch_config(const Pickle& pickle, PickleValue root, SourceConfig* config,
                         bool* is_nanogpt, std::optional<bool>* has_bias) {
    *is_nanogpt = false;
    if (!pickle.is(root, PickleKind::dict))
        return Status();
    if (std::optional<PickleValue> value = pickle.find(root, "model_args")) {
        std::optional<PickleValue> dict = dictionary(pickle, *value);
        if (!dict)
            return Status::error(Code::bad_file, "model_args is %s", pickle.kind_name(*value));
        *is_nanogpt = true;
        config->activation = Activation::gelu_erf;  // nanoGPT's model.py: nn.GELU()
        return within("model_args", read_settings(pickle, *dict, config, has_bias));
    }
    for (const char* key : kConfigKeys) {
        std::optional<PickleValue> value = pickle.find(root, key);
        std::optional<PickleValue> dict = value ? dictionary(pickle, *value) : std::nullopt;
        if (dict && says_heads(pickle, *dict))
            return within(key, read_settings(pickle, *dict, config, has_bias));
    }
    return Status();
}

Status read_pickled_vocabulary(const Pickle& pickle, PickleValue root, const std::string& source,
                               Vocabulary* vocabulary) {
    if (!pickle.is(root, PickleKind::dict))
        return Status();
    std::optional<PickleValue> stoi = pickle.find(root, "stoi"), itos = pickle.find(root, "itos");
    if (!stoi && !itos)
        return Status();
    RawVocabulary raw;
    raw.source = source;
    if (stoi)
        MINIGPT_TRY(within(source + ": stoi", read_stoi(pickle, *stoi, &raw)));
    size_t n = raw.tokens.size();
    if (itos)
        MINIGPT_TRY(within(source + ": itos", read_itos(pickle, *itos, &raw)));
    // Tokens that both list alike are one; with equal counts, no others are left.
    if (stoi && itos && raw.tokens.size() != 2 * n) {
        return Status::error(Code::bad_file, "%s: stoi has %zu token%s, and itos %zu",
                             source.c_str(), n, plural(n), raw.tokens.size() - n);
    }
    return finish_vocabulary(std::move(raw), vocabulary);
}

Status parse_meta_pickle(const std::string& bytes, const std::string& source,
                         Vocabulary* vocabulary) {
    Pickle pickle(PickleBytes(bytes), nullptr, 0);
    PickleValue root;
    MINIGPT_TRY(within(source, pickle.read(&root)));
    MINIGPT_TRY(read_pickled_vocabulary(pickle, root, source, vocabulary));
    if (vocabulary->kind != TokenizerKind::none)
        return Status();
    return Status::error(Code::bad_file, "%s: no stoi or itos in it", source.c_str());
}

}  // namespace minigpt::convert
