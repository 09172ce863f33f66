// A model's shape: what is allowed, and which tensors follow from it.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "minigpt/config.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "libminigpt reads its files in place and is for little-endian machines only"
#endif

namespace minigpt {
namespace {

// Far past any model, small enough that no product of sizes below reaches 2^63.
constexpr uint32_t kMaxTable = 1u << 30;  // n_rows, n_ctx
constexpr uint32_t kMaxWidth = 1u << 20;  // n_embd, n_ff
constexpr uint32_t kMaxLayers = 1u << 12;

struct LayerTensor {
    const char* name;
    uint32_t bias;  // its bit of Config::biases; 0: a weight, always there
};

// A layer's tensors in the order of the file. Sizes are in spec_of.
constexpr LayerTensor kLayer[] = {
    {"ln_1.weight", 0},        {"ln_1.bias", kBiasLn1},
    {"attn.c_attn.weight", 0}, {"attn.c_attn.bias", kBiasAttnQkv},
    {"attn.c_proj.weight", 0}, {"attn.c_proj.bias", kBiasAttnProj},
    {"ln_2.weight", 0},        {"ln_2.bias", kBiasLn2},
    {"mlp.c_fc.weight", 0},    {"mlp.c_fc.bias", kBiasFc},
    {"mlp.c_proj.weight", 0},  {"mlp.c_proj.bias", kBiasMlpProj},
};

bool has(const Config& config, const LayerTensor& tensor) {
    return tensor.bias == 0 || (config.biases & tensor.bias) != 0;
}

size_t layer_tensor_count(const Config& config) {
    size_t n = 0;
    for (const LayerTensor& tensor : kLayer)
        n += has(config, tensor);
    return n;
}

TensorSpec vector_spec(const char* name, size_t n) {
    TensorSpec spec = {{}, 1, {n, 1}, Layout::vector, false};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

TensorSpec matrix_spec(const char* name, size_t n_rows, size_t n_cols, Layout layout,
                       bool is_table = false) {
    TensorSpec spec = {{}, 2, {n_rows, n_cols}, layout, is_table};
    snprintf(spec.name, sizeof spec.name, "%s", name);
    return spec;
}

TensorSpec layer_spec(const Config& c, const char* name) {
    if (strcmp(name, "attn.c_attn.weight") == 0) {
        return matrix_spec(name, c.n_embd, size_t{3} * c.n_embd, Layout::panels);
    }
    if (strcmp(name, "attn.c_proj.weight") == 0) {
        return matrix_spec(name, c.n_embd, c.n_embd, Layout::panels);
    }
    if (strcmp(name, "mlp.c_fc.weight") == 0) {
        return matrix_spec(name, c.n_embd, c.n_ff, Layout::panels);
    }
    if (strcmp(name, "mlp.c_proj.weight") == 0) {
        return matrix_spec(name, c.n_ff, c.n_embd, Layout::panels);
    }
    if (strcmp(name, "attn.c_attn.bias") == 0)
        return vector_spec(name, size_t{3} * c.n_embd);
    if (strcmp(name, "mlp.c_fc.bias") == 0)
        return vector_spec(name, c.n_ff);
    return vector_spec(name, c.n_embd);
}

}  // namespace

const char* name_of(Activation activation) {
    return activation == Activation::gelu_tanh  ? "gelu_tanh"
           : activation == Activation::gelu_erf ? "gelu_erf"
                                                : "?";
}

Status check(const Config& c) {
    const struct {
        const char* name;
        uint32_t value, max;
    } sizes[] = {
        {"n_vocab", c.n_vocab, kMaxTable}, {"n_rows", c.n_rows, kMaxTable},
        {"n_ctx", c.n_ctx, kMaxTable},     {"n_embd", c.n_embd, kMaxWidth},
        {"n_head", c.n_head, kMaxWidth},   {"n_layer", c.n_layer, kMaxLayers},
        {"n_ff", c.n_ff, kMaxWidth},
    };
    for (const auto& size : sizes) {
        if (size.value >= 1 && size.value <= size.max)
            continue;
        return Status::error(Code::bad_shape, "%s is %lu; expected 1 to %lu", size.name,
                             static_cast<unsigned long>(size.value),
                             static_cast<unsigned long>(size.max));
    }
    if (c.n_rows < c.n_vocab) {
        return Status::error(Code::bad_shape, "n_rows is %lu; expected at least n_vocab, %lu",
                             static_cast<unsigned long>(c.n_rows),
                             static_cast<unsigned long>(c.n_vocab));
    }
    if (c.n_embd % c.n_head != 0) {
        return Status::error(Code::bad_shape, "n_embd is %lu; expected a multiple of n_head, %lu",
                             static_cast<unsigned long>(c.n_embd),
                             static_cast<unsigned long>(c.n_head));
    }
    if (!(c.layer_norm_epsilon > 0 && c.layer_norm_epsilon < 1)) {
        return Status::error(Code::bad_argument, "layer_norm_epsilon is %g; expected 0 to 1",
                             static_cast<double>(c.layer_norm_epsilon));
    }
    if (c.activation != Activation::gelu_tanh && c.activation != Activation::gelu_erf) {
        return Status::error(Code::bad_argument, "activation is %lu; expected 0 or 1",
                             static_cast<unsigned long>(c.activation));
    }
    if ((c.biases & ~static_cast<uint32_t>(kBiasAll)) != 0) {
        return Status::error(Code::bad_argument, "biases is %lu; expected at most %lu",
                             static_cast<unsigned long>(c.biases),
                             static_cast<unsigned long>(kBiasAll));
    }
    return Status();
}

size_t tensor_count(const Config& config) {
    return 2 + config.n_layer * layer_tensor_count(config) + 1 + ((config.biases & kBiasLnF) != 0) +
           !config.tied;
}

TensorSpec tensor_spec(const Config& c, size_t index) {
    if (index == 0)
        return matrix_spec("wte.weight", c.n_rows, c.n_embd, Layout::panels, true);
    if (index == 1)
        return matrix_spec("wpe.weight", c.n_ctx, c.n_embd, Layout::rows);
    index -= 2;
    size_t per_layer = layer_tensor_count(c);
    size_t layer = index / per_layer;
    if (layer < c.n_layer) {
        size_t skip = index % per_layer;
        for (const LayerTensor& tensor : kLayer) {
            if (!has(c, tensor) || skip-- != 0)
                continue;
            TensorSpec spec = layer_spec(c, tensor.name);
            snprintf(spec.name, sizeof spec.name, "h.%u.%s", static_cast<unsigned>(layer),
                     tensor.name);
            return spec;
        }
    }
    index -= c.n_layer * per_layer;
    if (index == 0)
        return vector_spec("ln_f.weight", c.n_embd);
    if (index == 1 && (c.biases & kBiasLnF) != 0)
        return vector_spec("ln_f.bias", c.n_embd);
    return matrix_spec("lm_head.weight", c.n_rows, c.n_embd, Layout::panels, true);
}

uint64_t parameter_count(const Config& config, bool untied) {
    uint64_t n = 0;
    for (size_t i = 0; i < tensor_count(config); i++) {
        TensorSpec spec = tensor_spec(config, i);
        n += static_cast<uint64_t>(spec.shape[0]) * spec.shape[1];
    }
    if (untied && config.tied)
        n += static_cast<uint64_t>(config.n_rows) * config.n_embd;
    return n;
}

}  // namespace minigpt
