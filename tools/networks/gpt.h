// GPT-2 for training. The forward pass keeps the activations that the backward pass needs.
#pragma once

#include <vector>

#include "minigpt/config.h"
#include "networks/layers.h"
#include "networks/network.h"

namespace minigpt::networks {

// The shape in the form of a weight file's configuration.
Config model_config(const TrainConfig& config, size_t n_vocab);

class Gpt : public Network {
public:
    Gpt(const TrainConfig& config, size_t n_vocab, const Compute& compute);

    size_t n_context() const override { return config_.n_ctx; }
    double loss(const Batch& batch) override;
    double backward(const Batch& batch, size_t iteration) override;
    void logits_after(float* logits, const int32_t* ids, size_t n_ids) override;
    double flops_per_token() const override;

    // The attention weights of the latest logits_after: row `row` of one head of a layer, over all
    // positions of the text that was read. [n_read]
    const float* attention_row(size_t layer, size_t head, size_t row) const;

private:
    // The offsets of a layer's tensors in the parameters.
    struct Layer {
        size_t ln_1_w, ln_1_b, attn_w, attn_b, attn_proj_w, attn_proj_b;
        size_t ln_2_w, ln_2_b, fc_w, fc_b, mlp_proj_w, mlp_proj_b;
    };
    // The activations that a layer's forward pass keeps. Rows are ordered by sequence.
    struct Kept {
        Floats x;      // [n_rows, n_embd]; the layer's input
        Floats ln_1;   // [n_rows, n_embd]
        Floats qkv;    // [n_rows, 3 n_embd]
        Floats probs;  // [n_seq, n_head, length, length]
        Floats mix;    // [n_rows, n_embd]; the weighted sums of values
        Floats x_mid;  // [n_rows, n_embd]; after attention
        Floats ln_2;   // [n_rows, n_embd]
        Floats fc;     // [n_rows, n_ff]
        Floats act;    // [n_rows, n_ff]; gelu(fc)
    };
    // Gradients with respect to these, of one layer.
    struct Gradients {
        Floats x;                           // [n_rows, n_embd]; of the residual stream
        Floats ln_1, ln_2;                  // [n_rows, n_embd]
        Floats normalized_1, normalized_2;  // [n_rows, n_embd]; see layernorm_backward
        Floats attn, mlp;                   // [n_rows, n_embd]; of the sublayers' outputs
        Floats mix;                         // [n_rows, n_embd]
        Floats qkv;                         // [n_rows, 3 n_embd]
        Floats fc;                          // [n_rows, n_ff]
    };
    // Some sequences of a batch, computed by one thread.
    struct Block {
        const Batch& batch;
        size_t seq, n_seq;

        size_t row() const { return seq * batch.length; }
        size_t n_rows() const { return n_seq * batch.length; }
    };
    // An iteration's dropouts; outside of training there are none.
    struct Dropouts {
        Dropout embedding;
        std::vector<Dropout> attn, mlp;  // [n_layer]
    };
    // A weight's gradient, the product x^T d_y, and the bias's gradient.
    struct WeightGradient {
        size_t w, b;  // offsets
        const float *x, *d_y;
        size_t n_in, n_out;
    };

    float* w(size_t offset) { return parameters_.weights() + offset; }
    float* g(size_t offset) { return parameters_.gradients() + offset; }
    Dropouts dropouts(size_t iteration) const;
    Dropouts no_dropouts() const;
    template <typename F>
    void for_each_block(const Batch& batch, F&& f);  // f(block, worker)

    void forward(const Block& block, Worker& worker, const Dropouts& dropouts);
    void embed(const Block& block, const Dropouts& dropouts);
    void forward_layer(size_t layer, const Block& block, Worker& worker, const Dropouts& dropouts);
    void add_branch(float* x, const float* from, float* branch, const Dropout& dropout,
                    const Block& block);
    void head(const Block& block, Worker& worker);
    void losses_of(const Block& block, Worker& worker, bool backward);
    void head_backward(const Block& block, Worker& worker);
    void layer_backward(size_t layer, const Block& block, Worker& worker, const Dropouts& dropouts);
    void head_gradients(size_t n_rows);
    void layer_gradients(size_t layer, size_t n_rows);
    void embedding_gradients(const Batch& batch, const Dropouts& dropouts);
    void weight_gradients(const std::vector<WeightGradient>& all, size_t n_rows);
    void norm_gradients(size_t w, size_t b, const Floats& d_y, const Floats& normalized,
                        size_t n_rows);

    Floats& stream(size_t layer) { return layer < layers_.size() ? kept_[layer].x : x_out_; }
    AttentionShape attention_shape(size_t n_tokens) const;

    TrainConfig config_;
    Config shape_;
    Team team_;
    size_t wte_ = 0, wpe_ = 0, ln_f_w_ = 0, ln_f_b_ = 0;
    std::vector<Layer> layers_;
    std::vector<Kept> kept_;
    Floats x_out_, ln_f_, branch_;  // [n_rows, n_embd]
    Floats logits_;                 // [n_rows, n_vocab]; in backward replaced by their gradients
    std::vector<double> losses_;    // [n_rows]
    Gradients d_;
    size_t n_read_ = 0;  // tokens read by logits_after
};

// Sequences are independent, so each thread computes a few blocks of them.
template <typename F>
void Gpt::for_each_block(const Batch& batch, F&& f) {
    size_t n_blocks = team_.n_threads() == 1 ? 1 : 2 * team_.n_threads();
    n_blocks = n_blocks < batch.n_seq ? n_blocks : batch.n_seq;
    team_.run(n_blocks, [&](size_t unit, Worker& worker) {
        size_t seq = batch.n_seq * unit / n_blocks, end = batch.n_seq * (unit + 1) / n_blocks;
        f(Block{batch, seq, end - seq}, worker);
    });
}

}  // namespace minigpt::networks
