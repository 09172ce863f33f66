// The forward pass of GPT-2: Radford et al. 2019, "Language Models are Unsupervised Multitask
// Learners", which is Radford et al. 2018 with the layer norms moved to each sublayer's input.
#include <cmath>
#include <cstring>

#include "base/fp_environment.h"
#include "model/layers.h"
#include "model/session.h"
#include "ops/check.h"
#include "ops/elementwise.h"
#include "ops/numbers.h"

namespace minigpt {

// The work on one chunk of a call's rows, as step() cuts it: each layer, then the output head in
// pieces that read about as many weights as a layer does.
struct ForwardPass {
    Session& session;
    const Compute& compute;
    const Config& config;
    Buffers& b;
    Pass& pass;
    const Row* rows;  // [n_rows]
    size_t n_rows;
    ModelWeights weights;

    explicit ForwardPass(Session& s)
        : session(s),
          compute(*s.compute_),
          config(s.model_->config()),
          b(*s.buffers_),
          pass(b.pass),
          rows(pass.rows),
          n_rows(pass.n_chunk),
          weights(*s.model_) {}

    size_t head_pieces() const {
        if (pass.n_wanted == 0)
            return 0;
        uint64_t layer =
            uint64_t{config.n_embd} * (4 * uint64_t{config.n_embd} + 2 * uint64_t{config.n_ff});
        uint64_t head = uint64_t{config.n_embd} * config.n_vocab;
        size_t n_panels = (config.n_vocab + kPanel - 1) / kPanel;
        uint64_t pieces = (head + layer - 1) / layer;
        return pieces < n_panels ? static_cast<size_t>(pieces) : n_panels;
    }

    // Does unit pass.unit; false when it was the chunk's last.
    bool run() {
        if (pass.unit == 0)
            embed();
        if (pass.unit < config.n_layer) {
            run_layer(pass.unit);
        } else {
            unembed(pass.unit - config.n_layer, head_pieces());
        }
        pass.unit++;
        return pass.unit < config.n_layer + head_pieces();
    }

    void run_layer(size_t layer) {
        LayerWeights w = weights.layer(layer);
        norm(b.h, b.x, w.ln_1, n_rows);
        attend(layer, w);
        norm(b.h, b.x, w.ln_2, n_rows);
        feed_forward(w);
    }

    // x = wte[id] + wpe[position], and the stretches of rows that share a sequence.
    void embed() {
        PanelMatrix wte = weights.token_table();
        ElementType type;
        const unsigned char* wpe = static_cast<const unsigned char*>(weights.position_table(&type));
        size_t row_bytes = config.n_embd * bytes_of(type);
        memset(b.n_new, 0, session.n_seq_ * sizeof(size_t));
        pass.n_runs = 0;
        for (size_t i = 0; i < n_rows; i++) {
            size_t seq = rows[i].seq;
            size_t position = b.n_past[seq] + b.n_new[seq]++;
            if (i == 0 || rows[i - 1].seq != seq)
                b.runs[pass.n_runs++] = {{}, i, 0, position};
            b.runs[pass.n_runs - 1].n_rows++;
            float* x = b.x + i * config.n_embd;
            float* position_row = b.h + i * config.n_embd;
            gather_row(x, wte, static_cast<size_t>(rows[i].id));
            widen(position_row, 1, wpe + position * row_bytes, 1, type, config.n_embd);
        }
        add(compute, b.x, b.h, n_rows * config.n_embd);
    }

    // x += c_proj(attention(c_attn(h)))
    void attend(size_t layer, const LayerWeights& w) {
        size_t n_embd = config.n_embd, ld = 3 * n_embd;
        const float* q = b.wide;
        apply(b.wide, b.h, w.c_attn);
        for (size_t i = 0; i < pass.n_runs; i++) {
            size_t seq = rows[b.runs[i].first_row].seq;
            b.runs[i].cache = cache_of(b, config, session.kv_, seq, layer);
        }
        kv_append(compute, b.runs, pass.n_runs, q + n_embd, q + 2 * n_embd, ld);
        attention(compute, b.h, n_embd, q, ld, b.runs, pass.n_runs, scale(layer), b.scratch);
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

    // logits = ln_f(x) wte^T, for the rows that want them; the piece-th of n_pieces of its columns.
    void unembed(size_t piece, size_t n_pieces) {
        size_t n_embd = config.n_embd;
        if (piece == 0) {
            gather_wanted();
            norm(b.h, b.x, weights.ln_f(), pass.n_wanted);
        }
        PanelMatrix head = weights.head();
        size_t n_panels = (head.n_out + kPanel - 1) / kPanel;
        size_t first = n_panels * piece / n_pieces * kPanel;
        size_t end = n_panels * (piece + 1) / n_pieces * kPanel;
        head = outputs_of(head, first, (end < head.n_out ? end : head.n_out) - first);
        linear(compute, pass.logits + first, config.n_vocab, b.h, n_embd, head, nullptr,
               pass.n_wanted, b.scratch);
    }

    // The rows of x that want logits, moved together.
    void gather_wanted() {
        size_t n_embd = config.n_embd, n = 0;
        for (size_t i = 0; i < n_rows; i++) {
            if (!rows[i].logits)
                continue;
            if (n != i)
                memcpy(b.x + n * n_embd, b.x + i * n_embd, n_embd * sizeof(float));
            n++;
        }
    }

    void norm(float* y, const float* x, const NormWeights& w, size_t n) {
        size_t n_embd = config.n_embd;
        layernorm_rows(compute, y, n_embd, x, n_embd, w.w, w.b, n, n_embd,
                       config.layer_norm_epsilon);
    }

    void apply(float* y, const float* x, const LinearWeights& w) {
        linear(compute, y, w.w.n_out, x, w.w.n_in, w.w, w.bias, n_rows, b.scratch);
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
    size_t n_vocab = session.config().n_vocab;
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
                                 "sequence %lu: n_past is %zu; more than %zu cannot be added",
                                 static_cast<unsigned long>(row.seq), b.n_past[row.seq], left);
        }
    }
    return Status();
}

}  // namespace

void Session::start_chunk() {
    Pass& pass = buffers_->pass;
    pass.n_chunk = pass.n_rows < max_rows_ ? pass.n_rows : max_rows_;
    pass.unit = 0;
    pass.n_wanted = 0;
    for (size_t i = 0; i < pass.n_chunk; i++)
        pass.n_wanted += pass.rows[i].logits;
}

// What the chunk computed becomes part of its sequences.
void Session::end_chunk() {
    Pass& pass = buffers_->pass;
    for (size_t seq = 0; seq < n_seq_; seq++)
        buffers_->n_past[seq] += buffers_->n_new[seq];
    if (pass.n_wanted != 0)
        pass.logits += pass.n_wanted * model_->config().n_vocab;
    pass.rows += pass.n_chunk;
    pass.n_rows -= pass.n_chunk;
}

Status Session::begin(const Row* rows, size_t n_rows, float* logits) {
    if (model_ == nullptr)
        return Status::error(Code::bad_argument, "the session is not created");
    if (buffers_->pass.n_rows != 0)
        return Status::error(Code::bad_argument, "a call is under way: step() or cancel() it");
    MINIGPT_TRY(check_pointer("rows", rows, n_rows));
    MINIGPT_TRY(check_rows(*this, rows, n_rows, logits, *buffers_));
    Pass& pass = buffers_->pass;
    pass.rows = rows;
    pass.n_rows = n_rows;
    pass.logits = logits;
    if (n_rows != 0)
        start_chunk();
    return Status();
}

Status Session::step(size_t budget, bool* more) {
    if (model_ == nullptr)
        return Status::error(Code::bad_argument, "the session is not created");
    MINIGPT_TRY(check_pointer("more", more));
    FpEnvironment environment;
    Pass& pass = buffers_->pass;
    for (; pass.n_rows != 0 && budget != 0; budget--) {
        if (ForwardPass(*this).run())
            continue;
        end_chunk();
        if (pass.n_rows != 0)
            start_chunk();
    }
    *more = pass.n_rows != 0;
    return Status();
}

void Session::cancel() {
    if (model_ != nullptr)
        buffers_->pass.n_rows = 0;
}

Status Session::forward(const Row* rows, size_t n_rows, float* logits) {
    MINIGPT_TRY(begin(rows, n_rows, logits));
    bool more;
    return step(static_cast<size_t>(-1), &more);
}

}  // namespace minigpt
