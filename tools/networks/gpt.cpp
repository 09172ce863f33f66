#include "networks/gpt.h"

#include <cstring>

#include "networks/loops.h"

namespace minigpt::networks {
namespace {

// The scratch memory of a thread: as large as the largest op of a step needs.
size_t scratch_floats(const TrainConfig& c) {
    return AttentionShape{c.n_ctx, c.n_head, c.n_embd / c.n_head, c.mask}.scratch();
}

// GPT-2's initialization: Radford et al. 2019, sec. 2.3. Projections into the residual stream are
// scaled by the depth.
Start start_of(const TensorSpec& spec, size_t n_layer) {
    std::string name = spec.name;
    auto ends = [&](const char* with) {
        size_t n = strlen(with);
        return name.size() >= n && name.compare(name.size() - n, n, with) == 0;
    };
    if (spec.n_dims == 1)
        return {0, ends("weight") ? 1.0f : 0.0f};
    if (ends("c_proj.weight")) {
        double scale = 0.02 / __builtin_sqrt(2 * static_cast<double>(n_layer));
        return {static_cast<float>(scale), 0};
    }
    return {0.02f, 0};
}

double sum_of(const std::vector<double>& losses, size_t n_rows) {
    double sum = 0;
    for (size_t i = 0; i < n_rows; ++i)
        sum += losses[i];
    return sum;
}

}  // namespace

Config model_config(const TrainConfig& config, size_t n_vocab) {
    Config c;
    c.n_vocab = c.n_rows = static_cast<uint32_t>(n_vocab);
    c.n_ctx = static_cast<uint32_t>(config.n_ctx);
    c.n_embd = static_cast<uint32_t>(config.n_embd);
    c.n_head = static_cast<uint32_t>(config.n_head);
    c.n_layer = static_cast<uint32_t>(config.n_layer);
    c.n_ff = 4 * c.n_embd;
    return c;
}

Gpt::Gpt(const TrainConfig& config, size_t n_vocab, const Compute& compute)
    : config_(config),
      shape_(model_config(config, n_vocab)),
      team_(compute, scratch_floats(config)) {
    n_vocab_ = n_vocab;
    for (size_t i = 0; i < tensor_count(shape_); ++i) {
        TensorSpec spec = tensor_spec(shape_, i);
        bool is_vector = spec.n_dims == 1;
        parameters_.add(spec.name, is_vector ? 1 : spec.shape[0],
                        is_vector ? spec.shape[0] : spec.shape[1], start_of(spec, config.n_layer));
    }
    parameters_.allocate(config.seed);
    auto offset = [&](const std::string& name) { return parameters_.find(name)->offset; };
    wte_ = offset("wte.weight"), wpe_ = offset("wpe.weight");
    ln_f_w_ = offset("ln_f.weight"), ln_f_b_ = offset("ln_f.bias");
    const size_t n_rows = config.n_batch * config.n_ctx, n = n_rows * config.n_embd;
    kept_.resize(config.n_layer);
    for (size_t l = 0; l < config.n_layer; ++l) {
        std::string h = "h." + std::to_string(l) + ".";
        layers_.push_back({offset(h + "ln_1.weight"), offset(h + "ln_1.bias"),
                           offset(h + "attn.c_attn.weight"), offset(h + "attn.c_attn.bias"),
                           offset(h + "attn.c_proj.weight"), offset(h + "attn.c_proj.bias"),
                           offset(h + "ln_2.weight"), offset(h + "ln_2.bias"),
                           offset(h + "mlp.c_fc.weight"), offset(h + "mlp.c_fc.bias"),
                           offset(h + "mlp.c_proj.weight"), offset(h + "mlp.c_proj.bias")});
        Kept& k = kept_[l];
        for (Floats* floats : {&k.x, &k.ln_1, &k.mix, &k.x_mid, &k.ln_2})
            floats->resize(n);
        k.qkv.resize(3 * n);
        k.probs.resize(n_rows * config.n_head * config.n_ctx);
        k.fc.resize(4 * n), k.act.resize(4 * n);
    }
    for (Floats* floats : {&x_out_, &ln_f_, &branch_, &d_.x, &d_.ln_1, &d_.ln_2, &d_.normalized_1,
                           &d_.normalized_2, &d_.attn, &d_.mlp, &d_.mix})
        floats->resize(n);
    d_.qkv.resize(3 * n), d_.fc.resize(4 * n);
    logits_.resize(n_rows * n_vocab);
    losses_.resize(n_rows);
}

AttentionShape Gpt::attention_shape(size_t n_tokens) const {
    return {n_tokens, config_.n_head, config_.n_embd / config_.n_head, config_.mask};
}

Gpt::Dropouts Gpt::dropouts(size_t iteration) const {
    Dropouts all;
    all.embedding = Dropout(config_.dropout, config_.seed, iteration, 0);
    for (size_t l = 0; l < layers_.size(); ++l) {
        all.attn.emplace_back(config_.dropout, config_.seed, iteration, 1 + 2 * l);
        all.mlp.emplace_back(config_.dropout, config_.seed, iteration, 2 + 2 * l);
    }
    return all;
}

Gpt::Dropouts Gpt::no_dropouts() const {
    return {Dropout(), std::vector<Dropout>(layers_.size()), std::vector<Dropout>(layers_.size())};
}

void Gpt::embed(const Block& block, const Dropouts& dropouts) {
    const size_t n_embd = config_.n_embd;
    for (size_t i = 0; i < block.n_rows(); ++i) {
        size_t position = i % block.batch.length;
        size_t at = block.batch.starts[block.seq + i / block.batch.length] + position;
        const float* token = w(wte_) + static_cast<size_t>(block.batch.text[at]) * n_embd;
        const float* place = w(wpe_) + position * n_embd;
        size_t begin = (block.row() + i) * n_embd;
        float* x = stream(0).data() + begin;
        each(n_embd, [&](size_t j) { x[j] = token[j] + place[j]; });
        if (dropouts.embedding.drops())
            dropouts.embedding.apply(x, x, begin, n_embd);
    }
}

// x = from + branch, with dropout on branch.
void Gpt::add_branch(float* x, const float* from, float* branch, const Dropout& dropout,
                     const Block& block) {
    const size_t begin = block.row() * config_.n_embd, n = block.n_rows() * config_.n_embd;
    float* to = x + begin;
    const float *a = from + begin, *b = branch + begin;
    if (!dropout.drops()) {
        each(n, [&](size_t i) { to[i] = a[i] + b[i]; });
        return;
    }
    dropout.apply(branch + begin, b, begin, n);
    each(n, [&](size_t i) { to[i] = a[i] + b[i]; });
}

void Gpt::forward_layer(size_t layer, const Block& block, Worker& worker,
                        const Dropouts& dropouts) {
    const Layer& p = layers_[layer];
    Kept& k = kept_[layer];
    const size_t n = block.n_rows(), n_embd = config_.n_embd, n_ff = 4 * n_embd;
    const size_t at = block.row() * n_embd, length = block.batch.length;
    const float eps = shape_.layer_norm_epsilon;
    const AttentionShape shape = attention_shape(length);
    float* branch = branch_.data() + at;

    must(layernorm(k.ln_1.data() + at, k.x.data() + at, w(p.ln_1_w), w(p.ln_1_b), n, n_embd, eps,
                   worker.compute()));
    linear(worker, k.qkv.data() + 3 * at, k.ln_1.data() + at, w(p.attn_w), w(p.attn_b), n, n_embd,
           3 * n_embd);
    for (size_t s = block.seq; s < block.seq + block.n_seq; ++s) {
        size_t row = s * length;
        attention_forward(worker, k.mix.data() + row * n_embd,
                          k.probs.data() + row * config_.n_head * length,
                          k.qkv.data() + 3 * row * n_embd, shape);
    }
    linear(worker, branch, k.mix.data() + at, w(p.attn_proj_w), w(p.attn_proj_b), n, n_embd,
           n_embd);
    add_branch(k.x_mid.data(), k.x.data(), branch_.data(), dropouts.attn[layer], block);

    must(layernorm(k.ln_2.data() + at, k.x_mid.data() + at, w(p.ln_2_w), w(p.ln_2_b), n, n_embd,
                   eps, worker.compute()));
    linear(worker, k.fc.data() + 4 * at, k.ln_2.data() + at, w(p.fc_w), w(p.fc_b), n, n_embd, n_ff);
    must(gelu(k.act.data() + 4 * at, k.fc.data() + 4 * at, n * n_ff, shape_.activation,
              worker.compute()));
    linear(worker, branch, k.act.data() + 4 * at, w(p.mlp_proj_w), w(p.mlp_proj_b), n, n_ff,
           n_embd);
    add_branch(stream(layer + 1).data(), k.x_mid.data(), branch_.data(), dropouts.mlp[layer],
               block);
}

// The logits of a block.
void Gpt::head(const Block& block, Worker& worker) {
    const size_t n = block.n_rows(), n_embd = config_.n_embd, at = block.row() * n_embd;
    must(layernorm(ln_f_.data() + at, x_out_.data() + at, w(ln_f_w_), w(ln_f_b_), n, n_embd,
                   shape_.layer_norm_epsilon, worker.compute()));
    worker.gemm(logits_.data() + block.row() * n_vocab_, n_vocab_, ln_f_.data() + at, n_embd,
                Operand::plain, w(wte_), n_embd, Operand::transposed, n, n_vocab_, n_embd, false);
}

void Gpt::forward(const Block& block, Worker& worker, const Dropouts& dropouts) {
    embed(block, dropouts);
    for (size_t l = 0; l < layers_.size(); ++l)
        forward_layer(l, block, worker, dropouts);
    head(block, worker);
}

double Gpt::loss(const Batch& batch) {
    const Dropouts none = no_dropouts();
    for_each_block(batch, [&](const Block& block, Worker& worker) {
        forward(block, worker, none);
        losses_of(block, worker, false);
    });
    return sum_of(losses_, batch.n_rows());
}

// Computes each row's loss. If `backward`, the logits are replaced by the gradient of the mean
// loss.
void Gpt::losses_of(const Block& block, Worker& worker, bool backward) {
    const float share = 1 / static_cast<float>(block.batch.n_rows());
    for (size_t s = block.seq; s < block.seq + block.n_seq; ++s) {
        size_t row = s * block.batch.length;
        cross_entropy(worker, losses_.data() + row, logits_.data() + row * n_vocab_,
                      block.batch.text + block.batch.starts[s] + 1, block.batch.length, n_vocab_,
                      share, backward);
    }
}

void Gpt::logits_after(float* logits, const int32_t* ids, size_t n_ids) {
    n_read_ = n_ids < config_.n_ctx ? n_ids : config_.n_ctx;
    const size_t start = n_ids - n_read_;
    const Batch batch = {ids, &start, 1, n_read_};
    const Dropouts none = no_dropouts();
    forward(Block{batch, 0, 1}, team_.worker(0), none);
    memcpy(logits, logits_.data() + (n_read_ - 1) * n_vocab_, n_vocab_ * sizeof(float));
}

const float* Gpt::attention_row(size_t layer, size_t head, size_t row) const {
    return kept_[layer].probs.data() + (head * n_read_ + row) * n_read_;
}

double Gpt::flops_per_token() const {
    double attention = 12 * static_cast<double>(config_.n_layer * config_.n_embd * config_.n_ctx);
    return 6 * static_cast<double>(parameters_.count()) + attention;
}

}  // namespace minigpt::networks
