// What a checkpoint's object says beside its tensors: sizes and switches.
#include "convert/formats/readers.h"
#include "convert/formats/torch_tensors.h"

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

}  // namespace minigpt::convert
