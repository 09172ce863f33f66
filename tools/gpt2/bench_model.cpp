// The model's side of gpt2 bench: what its work counts as, and how long it takes.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "common/error.h"
#include "gpt2/bench.h"

namespace minigpt::gpt2 {
namespace {

constexpr size_t kPanel = 16;    // outputs in a panel; models/FORMAT.md
constexpr size_t kStretch = 16;  // tokens decoded at a depth before it is rewound to

template <typename F>
double seconds_of(F&& f) {
    auto begin = std::chrono::steady_clock::now();
    f();
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    return std::max(taken.count(), 1e-9);
}

size_t panels_of(size_t n) {
    return (n + kPanel - 1) / kPanel;
}

bool is_named(const TensorSpec& spec, const char* name) {
    return strcmp(spec.name, name) == 0;
}

}  // namespace

ElementType matrix_type(const Model& model) {
    for (size_t i = 0; i < model.n_tensors(); i++) {
        TensorInfo tensor = model.tensor(i);
        if (tensor.spec.layout == Layout::panels && !tensor.spec.is_table)
            return tensor.type;
    }
    return model.tensor(0).type;
}

double prefill_operations(const Model& model, size_t n_tokens) {
    const Config& c = model.config();
    double n = static_cast<double>(n_tokens), weights = 0;
    for (size_t i = 0; i < model.n_tensors(); i++) {
        TensorSpec spec = model.tensor(i).spec;
        if (spec.layout == Layout::panels && !spec.is_table)
            weights += static_cast<double>(spec.n_in()) * static_cast<double>(spec.n_out());
    }
    // Row i has i + 1 keys, each a product of head_dim with q and one with its probability.
    double pairs = n * (n + 1) / 2 * c.n_layer;
    return 2 * weights * n + 2 * 2 * static_cast<double>(c.n_embd) * pairs +
           2 * static_cast<double>(c.n_embd) * c.n_vocab;
}

double decode_bytes(const Model& model) {
    const Config& c = model.config();
    double bytes = 0;
    for (size_t i = 0; i < model.n_tensors(); i++) {
        TensorInfo tensor = model.tensor(i);
        if (tensor.spec.layout == Layout::rows || (!c.tied && is_named(tensor.spec, "wte.weight")))
            continue;
        double read = static_cast<double>(tensor.bytes);
        // The head's padding rows are never asked for.
        if (tensor.spec.is_table)
            read *= static_cast<double>(panels_of(c.n_vocab)) /
                    static_cast<double>(panels_of(c.n_rows));
        bytes += read;
    }
    return bytes;
}

ModelRunner::ModelRunner(const Options& options, const Loaded& loaded, size_t most_batch,
                         size_t n_decode)
    : loaded_(loaded) {
    const Config& c = loaded.model.config();
    SessionOptions one = session_options(options, loaded);
    require(one_.create(loaded.model, one), loaded.name);
    SessionOptions many = one;
    many.n_seq = most_batch;
    many.n_ctx = n_decode;
    many.max_rows = std::max(one.max_rows, most_batch);
    require(many_.create(loaded.model, many), loaded.name);
    rows_.resize(std::max<size_t>(c.n_ctx, most_batch));
    for (size_t i = 0; i < rows_.size(); i++) {
        // Any token will do: spread over the table, the same in every run.
        uint32_t scattered = static_cast<uint32_t>(i) * 2654435761u;
        rows_[i].id = static_cast<int32_t>(scattered % c.n_vocab);
    }
    logits_.resize(most_batch * c.n_vocab);
}

// rows_[0 ... n_rows) with logits of the last one or of each.
void ModelRunner::run(Session& session, size_t n_rows, bool all_logits) {
    for (size_t i = 0; i < n_rows; i++)
        rows_[i].logits = all_logits || i + 1 == n_rows;
    require(session.forward(rows_.data(), n_rows, logits_.data()), loaded_.name);
}

double ModelRunner::prefill(size_t n_tokens) {
    require(one_.rewind(0), "rewind");
    for (Row& row : rows_)
        row.seq = 0;
    return static_cast<double>(n_tokens) / seconds_of([&] { run(one_, n_tokens, false); });
}

double ModelRunner::decode(size_t n_tokens) {
    require(one_.rewind(0), "rewind");
    rows_[0].seq = 0;
    return static_cast<double>(n_tokens) / seconds_of([&] {
               for (size_t i = 0; i < n_tokens; i++)
                   run(one_, 1, true);
           });
}

double ModelRunner::decode_together(size_t n_seq, size_t n_tokens) {
    for (size_t seq = 0; seq < n_seq; seq++) {
        require(many_.rewind(0, seq), "rewind");
        rows_[seq].seq = static_cast<uint32_t>(seq);
    }
    return static_cast<double>(n_seq * n_tokens) / seconds_of([&] {
               for (size_t i = 0; i < n_tokens; i++)
                   run(many_, n_seq, true);
           });
}

double ModelRunner::decode_at(size_t depth, size_t n_tokens) {
    if (depth > 0)
        prefill(depth);
    else
        require(one_.rewind(0), "rewind");
    rows_[0].seq = 0;
    size_t stretch = std::min(kStretch, one_.n_ctx() - depth);
    return static_cast<double>(n_tokens) / seconds_of([&] {
               for (size_t i = 0; i < n_tokens; i++) {
                   if (i % stretch == 0)
                       require(one_.rewind(depth), "rewind");
                   run(one_, 1, true);
               }
           });
}

}  // namespace minigpt::gpt2
