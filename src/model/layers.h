// The weights of an open model in the form that the forward pass uses: by layer, in place.
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

// Reads the directory, whose order Model::open has verified.
struct ModelWeights {
    explicit ModelWeights(const Model& model) : model_(model) {}

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
    LayerWeights layer(size_t layer) const {
        size_t index = 2 + layer * layer_tensors();
        LayerWeights w;
        w.ln_1 = norm(kBiasLn1, &index);
        w.c_attn = linear(kBiasAttnQkv, &index);
        w.attn_c_proj = linear(kBiasAttnProj, &index);
        w.ln_2 = norm(kBiasLn2, &index);
        w.c_fc = linear(kBiasFc, &index);
        w.mlp_c_proj = linear(kBiasMlpProj, &index);
        return w;
    }
    NormWeights ln_f() const {
        size_t index = 2 + model_.config().n_layer * layer_tensors();
        return norm(kBiasLnF, &index);
    }
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
    size_t layer_tensors() const {
        const Config& c = model_.config();
        size_t others = 2 + 1 + ((c.biases & kBiasLnF) != 0) + !c.tied;
        return (model_.n_tensors() - others) / c.n_layer;
    }
    bool has(uint32_t bias) const { return (model_.config().biases & bias) != 0; }

    // Each takes the tensor at *index, and its bias if the model has one, and advances *index.
    const float* vector(size_t* index) const {
        return reinterpret_cast<const float*>(data(entry((*index)++)));
    }
    NormWeights norm(uint32_t bias, size_t* index) const {
        const float* w = vector(index);
        return {w, has(bias) ? vector(index) : nullptr};
    }
    LinearWeights linear(uint32_t bias, size_t* index) const {
        FileTensor t = entry((*index)++);
        PanelMatrix w = {data(t), static_cast<ElementType>(t.type), static_cast<size_t>(t.shape[0]),
                         static_cast<size_t>(t.shape[1])};
        return {w, has(bias) ? vector(index) : nullptr};
    }

    const Model& model_;
};

}  // namespace minigpt
