#include "convert/formats/readers.h"

#include <algorithm>
#include <vector>

#include "common/file.h"
#include "convert/codecs/json.h"

namespace minigpt::convert {
namespace {

using Ull = unsigned long long;
using Size = std::optional<uint64_t>;

struct SizeField {
    const char* name;
    Size SourceConfig::*size;
    bool may_be_null;
};

// The second spellings are those of GPT2Config's attribute_map.
constexpr SizeField kSizes[] = {
    {"vocab_size", &SourceConfig::n_rows, false},
    {"n_positions", &SourceConfig::n_ctx, false},
    {"n_ctx", &SourceConfig::n_ctx, false},
    {"max_position_embeddings", &SourceConfig::n_ctx, false},
    {"n_embd", &SourceConfig::n_embd, false},
    {"hidden_size", &SourceConfig::n_embd, false},
    {"n_head", &SourceConfig::n_head, false},
    {"num_attention_heads", &SourceConfig::n_head, false},
    {"n_layer", &SourceConfig::n_layer, false},
    {"num_hidden_layers", &SourceConfig::n_layer, false},
    {"n_inner", &SourceConfig::n_ff, true},
};

constexpr struct {
    const char* name;
    Activation activation;
} kActivations[] = {
    {"gelu_new", Activation::gelu_tanh},
    {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh},
    {"gelu", Activation::gelu_erf},
};

// The sizes that were read, in order: a size may have two names.
using SizesRead = std::vector<const SizeField*>;

Status read_size(Json& json, const SizeField& field, SizesRead* sizes, SourceConfig* config) {
    Json::Type type;
    MINIGPT_TRY(json.peek(&type));
    if (type == Json::Type::null && field.may_be_null)
        return json.null();
    uint64_t value;
    MINIGPT_TRY(json.u64(&value));
    if (value == 0 || value > UINT32_MAX) {
        return Status::error(Code::bad_file, "found %llu; expected 1 to 4294967295", Ull{value});
    }
    Size& size = config->*field.size;
    auto same = [&](const SizeField* other) { return other->size == field.size; };
    auto other = std::find(sizes->begin(), sizes->end(), &field);
    bool is_twice = other != sizes->end();
    if (!is_twice)
        other = std::find_if(sizes->begin(), sizes->end(), same);
    if (size && *size != value && is_twice) {
        return Status::error(Code::bad_file,
                             "stands twice, as %llu and as %llu; keep the right one", Ull{*size},
                             Ull{value});
    }
    if (size && *size != value) {
        return Status::error(Code::bad_file,
                             "found %llu; the same size by another name (%s) is %llu; keep the "
                             "right one",
                             Ull{value}, (*other)->name, Ull{*size});
    }
    sizes->push_back(&field);
    size = value;
    return Status();
}

Status read_activation(Json& json, SourceConfig* config) {
    std::string name;
    MINIGPT_TRY(json.string(&name));
    config->activation = activation_of_name(name);
    if (config->activation)
        return Status();
    return Status::error(Code::not_supported,
                         "\"%s\" is no activation of this library: it has "
                         "gelu_new, gelu_pytorch_tanh, gelu_fast and gelu",
                         shown(name).c_str());
}

Status read_epsilon(Json& json, SourceConfig* config) {
    double value;
    MINIGPT_TRY(json.number(&value));
    if (!(value > 0 && value < 1) || static_cast<float>(value) <= 0) {
        return Status::error(Code::bad_file, "found %g; expected a number between 0 and 1", value);
    }
    config->layer_norm_epsilon = value;
    return Status();
}

Status read_model_type(Json& json) {
    std::string name;
    MINIGPT_TRY(json.string(&name));
    if (name == "gpt2")
        return Status();
    return Status::error(Code::not_supported, "found \"%s\"; expected \"gpt2\"",
                         shown(name).c_str());
}

Status refuse_true(Json& json, const char* why) {
    bool value;
    MINIGPT_TRY(json.boolean(&value));
    return value ? Status::error(Code::not_supported, "found true: %s", why) : Status();
}

// A number, null, or a list whose first is taken.
Status read_eos(Json& json, SourceConfig* config) {
    Json::Type type;
    MINIGPT_TRY(json.peek(&type));
    if (type == Json::Type::null)
        return json.null();
    uint64_t id = 0;
    if (type != Json::Type::array) {
        MINIGPT_TRY(json.u64(&id));
        config->eos = id;
        return Status();
    }
    return json.array([&](size_t i) {
        MINIGPT_TRY(json.u64(&id));
        if (i == 0)
            config->eos = id;
        return Status();
    });
}

Status read_field(Json& json, const std::string& name, SizesRead* sizes, SourceConfig* config) {
    for (const SizeField& field : kSizes) {
        if (name == field.name)
            return read_size(json, field, sizes, config);
    }
    if (name == "model_type")
        return read_model_type(json);
    if (name == "activation_function")
        return read_activation(json, config);
    if (name == "layer_norm_epsilon")
        return read_epsilon(json, config);
    if (name == "scale_attn_weights")
        return json.boolean(&config->scale_attn_weights);
    if (name == "scale_attn_by_inverse_layer_idx") {
        return json.boolean(&config->scale_attn_by_inverse_layer_idx);
    }
    if (name == "tie_word_embeddings") {
        config->tied = true;
        return json.boolean(&*config->tied);
    }
    if (name == "add_cross_attention")
        return refuse_true(json, "GPT-2 has no cross attention");
    if (name == "eos_token_id")
        return read_eos(json, config);
    return json.skip();
}

}  // namespace

Status parse_hf_config(const std::string& text, SourceConfig* config) {
    // GPT2Config's defaults.
    config->layer_norm_epsilon = 1e-5;
    config->activation = Activation::gelu_tanh;
    config->tied = true;
    SizesRead sizes;
    Json json(text.data(), text.size());
    MINIGPT_TRY(json.object([&](const std::string& name) {
        return within(shown(name), read_field(json, name, &sizes, config));
    }));
    MINIGPT_TRY(json.end());
    const Size* previous = nullptr;
    for (const SizeField& field : kSizes) {
        const Size* size = &(config->*field.size);
        if (size != previous && !field.may_be_null && !*size) {
            return Status::error(Code::bad_file, "%s is missing", field.name);
        }
        previous = size;
    }
    return Status();
}

Status read_hf_config(const std::string& folder, Checkpoint* checkpoint) {
    std::string path = join(folder, "config.json");
    if (path_kind(path) == PathKind::missing) {
        return Status::error(Code::bad_file, "config.json is missing beside %s",
                             name_of_path(checkpoint->files[0]).c_str());
    }
    std::string text;
    MINIGPT_TRY(within("config.json", read_text(path, kMaxText, &text)));
    MINIGPT_TRY(within("config.json", parse_hf_config(text, &checkpoint->config)));
    checkpoint->files.push_back(path);
    return Status();
}

std::optional<Activation> activation_of_name(const std::string& name) {
    for (const auto& known : kActivations) {
        if (name == known.name)
            return known.activation;
    }
    return {};
}

}  // namespace minigpt::convert
