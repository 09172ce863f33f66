// The forward pass of GPT-2: Radford et al. 2019, "Language Models are Unsupervised Multitask
// Learners", which is Radford et al. 2018 with the layer norms moved to each sublayer's input.
#include <cmath>
#include <cstring>

#include "base/fp_environment.h"
#include "model/layers.h"
#include "model/session.h"
#include "ops/elementwise.h"

namespace minigpt {

// One pass over at most max_rows rows.
struct ForwardPass {
    Session& session;
    const Row* rows;  // [n_rows]
    size_t n_rows;
    const Compute& compute;
    const Config& config;
    Buffers& b;
    size_t n_runs = 0;

    ForwardPass(Session& s, const Row* r, size_t n)
        : session(s),
          rows(r),
          n_rows(n),
          compute(*s.compute_),
          config(s.model_->config()),
          b(*s.buffers_) {}

    // logits [rows that want them, n_vocab]; returns where the next pass writes.
    float* run(float* logits) {
        ModelWeights weights(*session.model_);
        embed(weights);
        for (size_t layer = 0; layer < config.n_layer; layer++) {
            LayerWeights w = weights.next_layer();
            norm(b.h, b.x, w.ln_1, n_rows);
            attend(layer, w);
            norm(b.h, b.x, w.ln_2, n_rows);
            feed_forward(w);
        }
        return unembed(weights, logits);
    }

    // x = wte[id] + wpe[position], and the stretches of rows that share a sequence.
    void embed(const ModelWeights& weights) {
        PanelMatrix wte = weights.token_table();
        ElementType type;
        const unsigned char* wpe = static_cast<const unsigned char*>(weights.position_table(&type));
        size_t row_bytes = config.n_embd * bytes_of(type);
        n_runs = 0;
        for (size_t i = 0; i < n_rows; i++) {
            size_t seq = rows[i].seq;
            size_t position = b.n_past[seq]++;
            if (i == 0 || rows[i - 1].seq != seq)
                b.runs[n_runs++] = {{}, i, 0, position};
            b.runs[n_runs - 1].n_rows++;
            float* x = b.x + i * config.n_embd;
            float* position_row = b.h + i * config.n_embd;
            gather_row(x, wte, static_cast<size_t>(rows[i].id));
            widen_row(position_row, wpe + position * row_bytes, type, config.n_embd);
        }
        add(compute, b.x, b.h, n_rows * config.n_embd);
    }

    // x += c_proj(attention(c_attn(h)))
    void attend(size_t layer, const LayerWeights& w) {
        size_t n_embd = config.n_embd, ld = 3 * n_embd;
        const float* q = b.wide;
        apply(b.wide, b.h, w.c_attn);
        for (size_t i = 0; i < n_runs; i++) {
            b.runs[i].cache = cache(rows[b.runs[i].first_row].seq, layer);
        }
        kv_append(compute, b.runs, n_runs, q + n_embd, q + 2 * n_embd, ld);
        attention(compute, b.h, n_embd, q, ld, b.runs, n_runs, scale(layer), b.scratch);
        apply(b.wide, b.h, w.attn_c_proj);
        add(compute, b.x, b.wide, n_rows * n_embd);
    }

    // x += c_proj(gelu(c_fc(h)))
    void feed_forward(const LayerWeights& w) {
        apply(b.wide, b.h, w.c_fc);
        gelu_in_place(compute, b.wide, n_rows * config.n_ff, config.activation);
        apply(b.h, b.wide, w.mlp_c_proj);
        add(compute, b.x, b.h, n_rows * config.n_embd);
    }

    // logits = ln_f(x) wte^T, for the rows that want them
    float* unembed(ModelWeights& weights, float* logits) {
        size_t n_embd = config.n_embd, n_wanted = 0;
        for (size_t i = 0; i < n_rows; i++) {
            if (!rows[i].logits)
                continue;
            if (n_wanted != i) {
                memcpy(b.x + n_wanted * n_embd, b.x + i * n_embd, n_embd * sizeof(float));
            }
            n_wanted++;
        }
        if (n_wanted == 0)
            return logits;
        norm(b.h, b.x, weights.ln_f(), n_wanted);
        linear(compute, logits, config.n_vocab, b.h, n_embd, weights.head(), nullptr, n_wanted,
               b.scratch);
        return logits + n_wanted * config.n_vocab;
    }

    void norm(float* y, const float* x, const NormWeights& w, size_t n) {
        size_t n_embd = config.n_embd;
        layernorm_rows(compute, y, n_embd, x, n_embd, w.w, w.b, n, n_embd,
                       config.layer_norm_epsilon);
    }

    void apply(float* y, const float* x, const LinearWeights& w) {
        linear(compute, y, w.w.n_out, x, w.w.n_in, w.w, w.bias, n_rows, b.scratch);
    }

    KvCache cache(size_t seq, size_t layer) {
        unsigned char* k = b.kv + (seq * config.n_layer + layer) * (b.k_bytes + b.v_bytes);
        return {k,
                k + b.k_bytes,
                kv_element(session.kv_),
                config.n_head,
                config.head_dim(),
                session.n_ctx_};
    }

    float scale(size_t layer) const {
        double s = 1;
        if (config.scale_attn_weights)
            s /= std::sqrt(static_cast<double>(config.head_dim()));
        if (config.scale_attn_by_inverse_layer_idx)
            s /= static_cast<double>(layer + 1);
        return static_cast<float>(s);
    }
};

namespace {

Status check_rows(const Session& session, const Row* rows, size_t n_rows, const float* logits,
                  Buffers& b) {
    size_t n_vocab = session.model().config().n_vocab;
    memset(b.n_new, 0, session.n_seq() * sizeof(size_t));
    for (size_t i = 0; i < n_rows; i++) {
        const Row& row = rows[i];
        if (row.id < 0 || static_cast<size_t>(row.id) >= n_vocab) {
            return Status::error(Code::bad_id, "id %ld; the vocabulary has 0 to %zu",
                                 static_cast<long>(row.id), n_vocab - 1);
        }
        if (row.seq >= session.n_seq()) {
            return Status::error(Code::bad_argument, "sequence %lu; the session has %zu",
                                 static_cast<unsigned long>(row.seq), session.n_seq());
        }
        if (row.logits && logits == nullptr) {
            return Status::error(Code::bad_argument, "row %zu wants logits; logits is null", i);
        }
        b.n_new[row.seq]++;
        size_t left = session.n_ctx() - b.n_past[row.seq];
        if (b.n_new[row.seq] > left) {
            return Status::error(Code::context_full,
                                 "sequence %lu has %zu tokens; more than %zu cannot be added",
                                 static_cast<unsigned long>(row.seq), b.n_past[row.seq], left);
        }
    }
    return Status();
}

}  // namespace

Status Session::forward(const Row* rows, size_t n_rows, float* logits) {
    if (model_ == nullptr)
        return Status::error(Code::bad_argument, "the session is not created");
    MINIGPT_TRY(check_rows(*this, rows, n_rows, logits, *buffers_));
    FpEnvironment environment;
    while (n_rows != 0) {
        size_t n = n_rows < max_rows_ ? n_rows : max_rows_;
        logits = ForwardPass(*this, rows, n).run(logits);
        rows += n;
        n_rows -= n;
    }
    return Status();
}

}  // namespace minigpt
