// The weights of an open model as the forward pass wants them: by layer, in place.
#pragma once

#include <cstring>

#include "minigpt/model.h"
#include "model/format.h"
#include "ops/linear.h"

namespace minigpt {

struct NormWeights {
    const float* w;  // [n_embd]
    const float* b;  // [n_embd], nullptr: none
};

struct LinearWeights {
    PanelMatrix w;      // [n_in, n_out]
    const float* bias;  // [n_out], nullptr: none
};

struct LayerWeights {
    NormWeights ln_1;
    LinearWeights c_attn;  // [n_embd, 3 * n_embd]
    LinearWeights attn_c_proj;
    NormWeights ln_2;
    LinearWeights c_fc;  // [n_embd, n_ff]
    LinearWeights mlp_c_proj;
};

// Walks the directory in its order, which Model::open has verified.
struct ModelWeights {
    explicit ModelWeights(const Model& model)
        : model_(model), biases_(model.config().biases), index_(2) {}

    PanelMatrix token_table() const {
        FileTensor t = entry(0);
        return {data(t), static_cast<ElementType>(t.type), model_.config().n_embd,
                model_.config().n_rows};
    }
    const void* position_table(ElementType* type) const {
        FileTensor t = entry(1);
        *type = static_cast<ElementType>(t.type);
        return data(t);
    }
    // To be called once for each layer, in order, then ln_f.
    LayerWeights next_layer() {
        LayerWeights layer;
        layer.ln_1 = next_norm(kBiasLn1);
        layer.c_attn = next_linear(kBiasAttnQkv);
        layer.attn_c_proj = next_linear(kBiasAttnProj);
        layer.ln_2 = next_norm(kBiasLn2);
        layer.c_fc = next_linear(kBiasFc);
        layer.mlp_c_proj = next_linear(kBiasMlpProj);
        return layer;
    }
    NormWeights ln_f() { return next_norm(kBiasLnF); }
    // The output head, without its padding rows: [n_embd, n_vocab].
    PanelMatrix head() const {
        PanelMatrix head = token_table();
        if (!model_.config().tied) {
            FileTensor t = entry(model_.n_tensors() - 1);
            head.data = data(t);
            head.type = static_cast<ElementType>(t.type);
        }
        head.n_out = model_.config().n_vocab;
        return head;
    }

private:
    FileTensor entry(size_t index) const {
        FileTensor t;
        memcpy(&t, model_.directory_ + index * sizeof t, sizeof t);
        return t;
    }
    const unsigned char* data(const FileTensor& t) const { return model_.image_ + t.offset; }
    const float* next_vector() { return reinterpret_cast<const float*>(data(entry(index_++))); }
    NormWeights next_norm(uint32_t bias) {
        const float* w = next_vector();
        return {w, (biases_ & bias) != 0 ? next_vector() : nullptr};
    }
    LinearWeights next_linear(uint32_t bias) {
        FileTensor t = entry(index_++);
        PanelMatrix w = {data(t), static_cast<ElementType>(t.type), static_cast<size_t>(t.shape[0]),
                         static_cast<size_t>(t.shape[1])};
        return {w, (biases_ & bias) != 0 ? next_vector() : nullptr};
    }

    const Model& model_;
    uint32_t biases_;
    size_t index_;
};

}  // namespace minigpt
