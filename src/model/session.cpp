// Session: its memory, and the state of its sequences.
#include "model/session.h"

#include <cstdlib>
#include <cstring>

#include "base/block.h"
#include "model/format.h"
#include "ops/attention.h"
#include "ops/check.h"
#include "ops/compute.h"
#include "ops/linear.h"

namespace minigpt {
namespace {

// a * b, saturated.
uint64_t times(uint64_t a, uint64_t b) {
    return b != 0 && a > kTooMany / b ? kTooMany : a * b;
}

constexpr uint64_t kMostRows = 1 << 16;

struct Plan {
    size_t n_seq, n_ctx, max_rows;
    KvType kv;
    size_t n_prefix, n_shared;
    const Buffers* prefix;
};

}  // namespace

// What a session may share of another.
struct PrefixCheck {
    static Status check(const Session& prefix, const Model& model, Plan* plan) {
        const char* wrong = nullptr;
        if (prefix.model_ != &model) {
            wrong = "is of another model";
        } else if (prefix.kv_ != plan->kv) {
            wrong = "has a cache of another type";
        } else if (prefix.buffers_->prefix != nullptr) {
            wrong = "has a prefix itself";
        } else if (prefix.buffers_->pass.n_rows != 0) {
            wrong = "has a call under way";
        }
        if (wrong != nullptr)
            return Status::error(Code::bad_argument, "the prefix's session %s", wrong);
        plan->prefix = prefix.buffers_;
        plan->n_prefix = prefix.n_past(0);
        plan->n_shared = plan->n_prefix / kPrefixUnit * kPrefixUnit;
        if (plan->n_prefix <= plan->n_ctx)
            return Status();
        return Status::error(Code::bad_argument, "the prefix has %zu tokens; n_ctx is %zu",
                             plan->n_prefix, plan->n_ctx);
    }
};

namespace {

Status plan_session(const Model& model, const SessionOptions& options, Plan* plan) {
    if (!model.is_open())
        return Status::error(Code::bad_argument, "the model is not open");
    const Config& c = model.config();
    *plan = {};
    plan->n_seq = options.n_seq;
    plan->n_ctx = options.n_ctx == 0 ? c.n_ctx : options.n_ctx;
    plan->max_rows = options.max_rows;
    plan->kv = options.kv;
    if (plan->n_ctx > c.n_ctx) {
        return Status::error(Code::bad_argument, "n_ctx is %zu; the model has %lu positions",
                             plan->n_ctx, static_cast<unsigned long>(c.n_ctx));
    }
    if (plan->n_seq == 0)
        return Status::error(Code::bad_argument, "n_seq is 0");
    if (plan->max_rows == 0)
        return Status::error(Code::bad_argument, "max_rows is 0");
    // No call has more rows than the sequences have positions, and past some thousands more rows
    // at a time gain nothing.
    uint64_t most = times(plan->n_seq, plan->n_ctx);
    if (most > kMostRows)
        most = kMostRows;
    if (plan->max_rows > most)
        plan->max_rows = static_cast<size_t>(most);
    // What the ops compute their sizes from must fit size_t, on 32-bit machines too.
    uint64_t widest = uint64_t{c.n_ff} + 3 * uint64_t{c.n_embd};
    uint64_t head = round_up(c.head_dim(), kPanel);
    uint64_t bytes = times(sizeof(float), times(plan->max_rows + kPanel, widest));
    uint64_t kv_bytes = times(sizeof(float) * c.n_head, times(head, plan->n_ctx + kPanel));
    constexpr uint64_t kMost = static_cast<size_t>(-1) / 4;
    if (bytes > kMost || kv_bytes > kMost) {
        return Status::error(
            Code::out_of_memory,
            "a session of %zu rows and %zu positions is more than can be addressed", plan->max_rows,
            plan->n_ctx);
    }
    if (static_cast<uint32_t>(options.kv) > static_cast<uint32_t>(KvType::q8)) {
        return Status::error(Code::bad_argument, "kv: found %lu, expected 0 to 2",
                             static_cast<unsigned long>(options.kv));
    }
    MINIGPT_TRY(check_computed("the cache", kv_element(options.kv)));
    if (options.prefix != nullptr)
        return PrefixCheck::check(*options.prefix, model, plan);
    return Status();
}

Buffers place_buffers(const Model& model, const Plan& plan, const Compute& compute,
                      Layouter* layouter) {
    const Config& c = model.config();
    size_t widest = c.n_ff > 3 * c.n_embd ? c.n_ff : 3 * c.n_embd;
    size_t longest = c.n_ff > c.n_embd ? c.n_ff : c.n_embd;  // a linear layer's n_in
    size_t scratch = linear_scratch_bytes(compute, plan.max_rows, longest);
    size_t attention = attention_scratch_bytes(compute, plan.n_ctx, c.head_dim());
    Buffers b = {};
    b.x = layouter->place<float>(times(plan.max_rows, c.n_embd));
    b.h = layouter->place<float>(times(plan.max_rows, c.n_embd));
    b.wide = layouter->place<float>(times(plan.max_rows, widest));
    b.scratch = layouter->place<unsigned char>(scratch > attention ? scratch : attention);
    b.n_past = layouter->place<size_t>(plan.n_seq);
    b.n_new = layouter->place<size_t>(plan.n_seq);
    b.runs = layouter->place<AttentionRun>(plan.max_rows);
    ElementType kv = kv_element(plan.kv);
    b.kv_ctx = plan.n_ctx - plan.n_shared;
    b.k_bytes = round_up(k_cache_bytes(kv, c.n_head, c.head_dim(), b.kv_ctx), kAlign);
    b.v_bytes = round_up(v_cache_bytes(kv, c.n_head, c.head_dim(), b.kv_ctx), kAlign);
    uint64_t caches = times(plan.n_seq, c.n_layer);
    b.kv = layouter->place<unsigned char>(times(caches, uint64_t{b.k_bytes} + b.v_bytes));
    b.n_prefix = plan.n_prefix;
    b.n_shared = plan.n_shared;
    b.prefix = plan.prefix;
    return b;
}

// Every sequence has the prefix; what is no whole unit of it is copied.
void begin_with_prefix(Buffers& b, const Config& config, const Plan& plan) {
    for (size_t seq = 0; seq < plan.n_seq; seq++) {
        b.n_past[seq] = b.n_prefix;
        for (size_t layer = 0; layer < config.n_layer && b.n_prefix != b.n_shared; layer++) {
            kv_copy(cache_of(b, config, plan.kv, seq, layer),
                    cache_of(*b.prefix, config, plan.kv, 0, layer), b.n_shared,
                    b.n_prefix - b.n_shared);
        }
    }
}

}  // namespace

KvCache cache_of(const Buffers& b, const Config& config, KvType kv, size_t seq, size_t layer) {
    unsigned char* k = b.kv + (seq * config.n_layer + layer) * (b.k_bytes + b.v_bytes);
    KvCache cache = {k, k + b.k_bytes, kv_element(kv), config.n_head, config.head_dim(), b.kv_ctx};
    if (b.n_shared != 0) {
        const Buffers& p = *b.prefix;
        const unsigned char* prefix = p.kv + layer * (p.k_bytes + p.v_bytes);
        cache.n_prefix = b.n_shared;
        cache.prefix_k = prefix;
        cache.prefix_v = prefix + p.k_bytes;
        cache.prefix_ctx = p.kv_ctx;
    }
    return cache;
}

namespace {

// What a session runs on: what its options say, or `own`, which then is made so.
const Compute& compute_for(const Model& model, const SessionOptions& options, Compute* own) {
    const Compute& asked = options.compute == nullptr ? *own : *options.compute;
    if (!model.has_subnormals() || asked.keeps_subnormals())
        return asked;
    ComputeParts::share(*own, asked);
    return *own;
}

}  // namespace

Status session_bytes(const Model& model, const SessionOptions& options, size_t* bytes) {
    MINIGPT_TRY(check_pointer("bytes", bytes));
    Plan plan;
    MINIGPT_TRY(plan_session(model, options, &plan));
    Layouter layouter(nullptr);
    layouter.place<Buffers>(1);
    Compute own;
    place_buffers(model, plan, compute_for(model, options, &own), &layouter);
    return size_of_block("session", layouter, bytes);
}

Session::~Session() {
    if (owned_)
        free(memory_);
}

Status Session::create(const Model& model, const SessionOptions& options) {
    if (model_ != nullptr)
        return Status::error(Code::bad_argument, "the session exists already");
    Plan plan;
    MINIGPT_TRY(plan_session(model, options, &plan));
    size_t bytes;
    MINIGPT_TRY(session_bytes(model, options, &bytes));
    void* memory = options.memory;
    MINIGPT_TRY(take_block("session", bytes, options.memory_bytes, &memory, &owned_));
    memory_ = static_cast<unsigned char*>(memory);
    model_ = &model;
    compute_ = &compute_for(model, options, &own_compute_);
    n_seq_ = plan.n_seq;
    n_ctx_ = plan.n_ctx;
    max_rows_ = plan.max_rows;
    kv_ = plan.kv;
    Layouter layouter(memory_);
    buffers_ = layouter.place<Buffers>(1);
    *buffers_ = place_buffers(model, plan, *compute_, &layouter);
    begin_with_prefix(*buffers_, model.config(), plan);
    return Status();
}

const Config& Session::config() const {
    static constexpr Config kNone;
    return model_ != nullptr ? model_->config() : kNone;
}

size_t Session::n_past(size_t seq) const {
    return seq < n_seq_ ? buffers_->n_past[seq] : 0;
}

size_t Session::n_prefix() const {
    return model_ == nullptr ? 0 : buffers_->n_prefix;
}

Status Session::rewind(size_t n_past, size_t seq) {
    if (seq >= n_seq_) {
        return Status::error(Code::bad_argument, "sequence %zu; the session has %zu", seq, n_seq_);
    }
    if (n_past > buffers_->n_past[seq]) {
        return Status::error(Code::bad_argument, "rewind to %zu; the sequence's n_past is %zu",
                             n_past, buffers_->n_past[seq]);
    }
    if (n_past < buffers_->n_prefix) {
        return Status::error(Code::bad_argument, "rewind to %zu; the prefix ends at %zu", n_past,
                             buffers_->n_prefix);
    }
    if (buffers_->pass.n_rows != 0)
        return Status::error(Code::bad_argument, "a call is under way: step() or cancel() it");
    buffers_->n_past[seq] = n_past;
    return Status();
}

}  // namespace minigpt
