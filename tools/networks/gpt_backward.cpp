// The backward pass of GPT-2, from the last layer to the first. First come the gradients of
// activations: each thread computes a block of sequences. Then come the gradients of weights, which
// are sums over all rows: each thread computes some outputs.
#include <cstring>

#include "networks/gpt.h"
#include "networks/loops.h"

namespace minigpt::networks {
namespace {

// Columns that a thread sums at a time.
constexpr size_t kColumns = 128;
// Outputs of a weight's gradient in one unit of work.
constexpr size_t kOutputs = 256;

size_t divide_up(size_t n, size_t d) {
    return (n + d - 1) / d;
}

}  // namespace

double Gpt::backward(const Batch& batch, size_t iteration) {
    const Dropouts drop = dropouts(iteration);
    for_each_block(batch, [&](const Block& block, Worker& worker) {
        forward(block, worker, drop);
        losses_of(block, worker, true);
        head_backward(block, worker);
    });
    head_gradients(batch.n_rows());
    for (size_t l = layers_.size(); l-- > 0;) {
        for_each_block(batch, [&](const Block& block, Worker& worker) {
            layer_backward(l, block, worker, drop);
        });
        layer_gradients(l, batch.n_rows());
    }
    embedding_gradients(batch, drop);
    double sum = 0;
    for (size_t i = 0; i < batch.n_rows(); ++i)
        sum += losses_[i];
    return sum / static_cast<double>(batch.n_rows());
}

// Backward through logits = ln_f(x) wte^T.
void Gpt::head_backward(const Block& block, Worker& worker) {
    const size_t n = block.n_rows(), n_embd = config_.n_embd, at = block.row() * n_embd;
    worker.gemm(d_.ln_2.data() + at, n_embd, logits_.data() + block.row() * n_vocab_, n_vocab_,
                Operand::plain, w(wte_), n_embd, Operand::plain, n, n_embd, n_vocab_, false);
    memset(d_.x.data() + at, 0, n * n_embd * sizeof(float));
    layernorm_backward(d_.x.data() + at, d_.normalized_2.data() + at, d_.ln_2.data() + at,
                       x_out_.data() + at, w(ln_f_w_), n, n_embd, shape_.layer_norm_epsilon);
}

// On entry d_.x is the gradient of the layer's output, on return that of its input.
void Gpt::layer_backward(size_t layer, const Block& block, Worker& worker,
                         const Dropouts& dropouts) {
    const Layer& p = layers_[layer];
    Kept& k = kept_[layer];
    const size_t n = block.n_rows(), n_embd = config_.n_embd, n_ff = 4 * n_embd;
    const size_t at = block.row() * n_embd, length = block.batch.length;
    const float eps = shape_.layer_norm_epsilon;
    const AttentionShape shape = attention_shape(length);
    float* d_x = d_.x.data() + at;

    dropouts.mlp[layer].apply(d_.mlp.data() + at, d_x, at, n * n_embd);
    linear_backward(worker, d_.fc.data() + 4 * at, d_.mlp.data() + at, w(p.mlp_proj_w), n, n_ff,
                    n_embd);
    gelu_backward(worker, d_.fc.data() + 4 * at, k.fc.data() + 4 * at, n * n_ff);
    linear_backward(worker, d_.ln_2.data() + at, d_.fc.data() + 4 * at, w(p.fc_w), n, n_embd, n_ff);
    layernorm_backward(d_x, d_.normalized_2.data() + at, d_.ln_2.data() + at, k.x_mid.data() + at,
                       w(p.ln_2_w), n, n_embd, eps);

    dropouts.attn[layer].apply(d_.attn.data() + at, d_x, at, n * n_embd);
    linear_backward(worker, d_.mix.data() + at, d_.attn.data() + at, w(p.attn_proj_w), n, n_embd,
                    n_embd);
    for (size_t s = block.seq; s < block.seq + block.n_seq; ++s) {
        size_t row = s * length;
        attention_backward(worker, d_.qkv.data() + 3 * row * n_embd, d_.mix.data() + row * n_embd,
                           k.probs.data() + row * config_.n_head * length,
                           k.qkv.data() + 3 * row * n_embd, shape);
    }
    linear_backward(worker, d_.ln_1.data() + at, d_.qkv.data() + 3 * at, w(p.attn_w), n, n_embd,
                    3 * n_embd);
    layernorm_backward(d_x, d_.normalized_1.data() + at, d_.ln_1.data() + at, k.x.data() + at,
                       w(p.ln_1_w), n, n_embd, eps);
}

void Gpt::layer_gradients(size_t layer, size_t n_rows) {
    const Layer& p = layers_[layer];
    const Kept& k = kept_[layer];
    const size_t n_embd = config_.n_embd, n_ff = 4 * n_embd;
    weight_gradients({{p.mlp_proj_w, p.mlp_proj_b, k.act.data(), d_.mlp.data(), n_ff, n_embd},
                      {p.fc_w, p.fc_b, k.ln_2.data(), d_.fc.data(), n_embd, n_ff},
                      {p.attn_proj_w, p.attn_proj_b, k.mix.data(), d_.attn.data(), n_embd, n_embd},
                      {p.attn_w, p.attn_b, k.ln_1.data(), d_.qkv.data(), n_embd, 3 * n_embd}},
                     n_rows);
    norm_gradients(p.ln_2_w, p.ln_2_b, d_.ln_2, d_.normalized_2, n_rows);
    norm_gradients(p.ln_1_w, p.ln_1_b, d_.ln_1, d_.normalized_1, n_rows);
}

// w's gradient is x^T d_y; b's is the sum of d_y's rows. Units are ranges along the longer side.
void Gpt::weight_gradients(const std::vector<WeightGradient>& all, size_t n_rows) {
    struct Unit {
        const WeightGradient* of;
        size_t begin, end;
    };
    std::vector<Unit> units;
    for (const WeightGradient& one : all) {
        size_t n = one.n_in > one.n_out ? one.n_in : one.n_out;
        for (size_t begin = 0; begin < n; begin += kOutputs)
            units.push_back({&one, begin, begin + kOutputs < n ? begin + kOutputs : n});
    }
    team_.run(units.size(), [&](size_t unit, Worker& worker) {
        const WeightGradient& of = *units[unit].of;
        const size_t begin = units[unit].begin, n = units[unit].end - begin;
        const bool by_inputs = of.n_in > of.n_out;
        const float* x = of.x + (by_inputs ? begin : 0);
        const float* d_y = of.d_y + (by_inputs ? 0 : begin);
        worker.gemm(g(of.w) + (by_inputs ? begin * of.n_out : begin), of.n_out, x, of.n_in,
                    Operand::transposed, d_y, of.n_out, Operand::plain, by_inputs ? n : of.n_in,
                    by_inputs ? of.n_out : n, n_rows, false);
        if (!by_inputs || begin == 0) {
            sum_columns(g(of.b), of.d_y, nullptr, n_rows, of.n_out, by_inputs ? 0 : begin,
                        by_inputs ? of.n_out : begin + n);
        }
    });
}

void Gpt::norm_gradients(size_t w, size_t b, const Floats& d_y, const Floats& normalized,
                         size_t n_rows) {
    const size_t n_embd = config_.n_embd;
    team_.run(divide_up(n_embd, kColumns), [&](size_t unit, Worker&) {
        size_t begin = unit * kColumns;
        size_t end = begin + kColumns < n_embd ? begin + kColumns : n_embd;
        sum_columns(g(w), d_y.data(), normalized.data(), n_rows, n_embd, begin, end);
        sum_columns(g(b), d_y.data(), nullptr, n_rows, n_embd, begin, end);
    });
}

// The output head's part of the token table's gradient, and ln_f's gradient.
void Gpt::head_gradients(size_t n_rows) {
    const size_t n_embd = config_.n_embd;
    team_.run(divide_up(n_embd, kColumns), [&](size_t unit, Worker& worker) {
        size_t begin = unit * kColumns;
        size_t n = begin + kColumns < n_embd ? kColumns : n_embd - begin;
        worker.gemm(g(wte_) + begin, n_embd, logits_.data(), n_vocab_, Operand::transposed,
                    ln_f_.data() + begin, n_embd, Operand::plain, n_vocab_, n, n_rows, false);
    });
    norm_gradients(ln_f_w_, ln_f_b_, d_.ln_2, d_.normalized_2, n_rows);
}

// The embedding's part: each token's row gets the gradients of its positions, added in their order.
// Threads divide the columns.
void Gpt::embedding_gradients(const Batch& batch, const Dropouts& dropouts) {
    const size_t n_embd = config_.n_embd, length = batch.length;
    if (dropouts.embedding.drops())
        dropouts.embedding.apply(d_.x.data(), d_.x.data(), 0, batch.n_rows() * n_embd);
    memset(g(wpe_), 0, config_.n_ctx * n_embd * sizeof(float));
    const size_t columns = 64;
    team_.run(divide_up(n_embd, columns), [&](size_t unit, Worker&) {
        size_t begin = unit * columns;
        size_t n = begin + columns < n_embd ? columns : n_embd - begin;
        for (size_t i = 0; i < batch.n_rows(); ++i) {
            size_t at = batch.starts[i / length] + i % length;
            const float* d = d_.x.data() + i * n_embd + begin;
            float* token = g(wte_) + static_cast<size_t>(batch.text[at]) * n_embd + begin;
            float* place = g(wpe_) + i % length * n_embd + begin;
            each(n, [&](size_t j) { token[j] += d[j]; });
            each(n, [&](size_t j) { place[j] += d[j]; });
        }
    });
}

}  // namespace minigpt::networks
