// gpt2 compare: how far the predictions of model B are from those of model A on a text.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/error.h"
#include "common/json.h"
#include "common/output.h"
#include "common/progress.h"
#include "common/text.h"
#include "gpt2/commands.h"
#include "gpt2/input.h"
#include "gpt2/loaded.h"
#include "gpt2/windows.h"
#include "minigpt/generate.h"
#include "minigpt/ops.h"

namespace minigpt::gpt2 {
namespace {

// Logits held of each model at once: as many rows as fit, or one.
constexpr size_t kLogitsBytes = size_t{32} << 20;

struct Comparison {
    size_t n_tokens = 0, n_agree = 0;
    double kl = 0, most_kl = 0;   // sum and maximum, in nats
    double nll_a = 0, nll_b = 0;  // sums of -log(p) of the text's own tokens

    double mean(double sum) const { return sum / static_cast<double>(n_tokens); }
};

// One of the two models, its session, and the rows of a block.
struct Side {
    explicit Side(const Options& options) : loaded(options) {}

    void start(const Options& options, size_t n_rows) {
        require(session.create(loaded.model, session_options(options, loaded)), loaded.name);
        n_vocab = loaded.model.config().n_vocab;
        logits.resize(n_rows * n_vocab);
        probs.resize(n_vocab);
    }

    const float* row(size_t i) const { return logits.data() + i * n_vocab; }

    // Fills probs with exp(logit - maximum) of a row; the log of their sum, maximum included.
    double normalise(size_t i) {
        const float* x = row(i);
        float most = x[best(i)];
        for (size_t j = 0; j < n_vocab; j++)
            probs[j] = x[j] - most;
        require(exp_each(probs.data(), probs.data(), n_vocab, &loaded.compute), "exp");
        double sum = 0;
        for (float p : probs)
            sum += static_cast<double>(p);
        return std::log(sum) + static_cast<double>(most);
    }

    // The likeliest token; the lowest id of equals.
    size_t best(size_t i) const {
        return static_cast<size_t>(std::max_element(row(i), row(i) + n_vocab) - row(i));
    }

    Loaded loaded;
    Session session;
    size_t n_vocab = 0;
    std::vector<float> logits;  // [rows of a block, n_vocab]
    std::vector<float> probs;   // [n_vocab]
};

// What row i of both says of token `id`, which follows it.
void compare_row(Side& a, Side& b, size_t i, int32_t id, Comparison* sum) {
    double log_sum_a = a.normalise(i), log_sum_b = b.normalise(i);
    const float *x = a.row(i), *y = b.row(i);
    double kl = 0, total = 0;
    for (size_t j = 0; j < a.n_vocab; j++) {
        double p = static_cast<double>(a.probs[j]);
        total += p;
        if (p > 0) {
            kl += p * ((static_cast<double>(x[j]) - log_sum_a) -
                       (static_cast<double>(y[j]) - log_sum_b));
        }
    }
    // Rounding can leave the zero of two near distributions a little below it.
    kl = kl / total < 0 ? 0 : kl / total;
    size_t token = static_cast<size_t>(id);
    sum->n_tokens++;
    sum->n_agree += a.best(i) == b.best(i);
    sum->kl += kl;
    sum->most_kl = kl > sum->most_kl ? kl : sum->most_kl;
    sum->nll_a += log_sum_a - static_cast<double>(x[token]);
    sum->nll_b += log_sum_b - static_cast<double>(y[token]);
}

// Both models through the same windows, a block of rows at a time.
Comparison compare_ids(Side& a, Side& b, const std::vector<int32_t>& ids, size_t n_ctx,
                       size_t stride, size_t n_rows) {
    Comparison sum;
    ProgressLine line;
    std::vector<Row> rows;
    for_each_window(ids.size(), n_ctx, stride, [&](size_t begin, size_t n, size_t first) {
        const int32_t* window = ids.data() + begin;
        for (Side* side : {&a, &b})
            require(side->session.rewind(0), "rewind");
        for (size_t i = 0, end; i < n; i = end) {
            // Before the first that counts come rows without logits, all of them at once.
            end = i < first ? first : std::min(i + n_rows, n);
            rows.clear();
            for (size_t j = i; j < end; j++)
                rows.push_back({window[j], 0, j >= first});
            for (Side* side : {&a, &b}) {
                require(side->session.forward(rows.data(), rows.size(), side->logits.data()),
                        side->loaded.name);
            }
            for (size_t j = std::max(i, first); j < end; j++) {
                for (Side* side : {&a, &b}) {
                    require(check_logits(side->row(j - i), side->n_vocab, begin + j),
                            side->loaded.name);
                }
                compare_row(a, b, j - i, window[j + 1], &sum);
                line.show("compare", sum.n_tokens, ids.size() - 1);
            }
        }
    });
    return sum;
}

void check_same_vocabulary(const Side& a, const Side& b, const std::vector<int32_t>& ids,
                           const Input& input, const Options& options) {
    uint32_t n_a = a.loaded.model.config().n_vocab, n_b = b.loaded.model.config().n_vocab;
    if (n_a != n_b) {
        refuse("%s: found a vocabulary of %u token%s, expected %u, that of %s",
               b.loaded.name.c_str(), n_b, plural(n_b), n_a, a.loaded.name.c_str());
    }
    if (input.is_text && b.loaded.tokenizer.kind() != TokenizerKind::none &&
        ids_to_predict(input, options, b.loaded) != ids) {
        refuse("%s: its vocabulary makes other tokens of %s than that of %s", b.loaded.name.c_str(),
               input.name.c_str(), a.loaded.name.c_str());
    }
}

std::string to_json(const Comparison& c) {
    return "{\"tokens\":" + std::to_string(c.n_tokens) + ",\"kl\":" + json_number(c.mean(c.kl)) +
           ",\"kl_max\":" + json_number(c.most_kl) +
           ",\"top1_agreement\":" + json_number(c.mean(static_cast<double>(c.n_agree))) +
           ",\"ppl_a\":" + json_number(std::exp(c.mean(c.nll_a))) +
           ",\"ppl_b\":" + json_number(std::exp(c.mean(c.nll_b))) + "}\n";
}

std::string to_text(const Comparison& c) {
    return format("tokens           %zu\n", c.n_tokens) +
           format("mean KL(A || B)  %.6g nats\n", c.mean(c.kl)) +
           format("largest KL       %.6g nats\n", c.most_kl) +
           format("top-1 agreement  %.6f\n", c.mean(static_cast<double>(c.n_agree))) +
           format("perplexity of A  %.6g\n", std::exp(c.mean(c.nll_a))) +
           format("perplexity of B  %.6g\n", std::exp(c.mean(c.nll_b)));
}

}  // namespace

void compare(const Options& options) {
    Input input = read_input(options);
    Options of_a = options, of_b = options;
    of_a.model = options.compared[0];
    of_b.model = options.compared[1];
    Side a(of_a), b(of_b);
    std::vector<int32_t> ids = ids_to_predict(input, options, a.loaded);
    check_same_vocabulary(a, b, ids, input, options);

    size_t n_ctx = std::min(a.loaded.model.config().n_ctx, b.loaded.model.config().n_ctx);
    size_t row_bytes = size_t{a.loaded.model.config().n_vocab} * sizeof(float);
    size_t n_rows = std::min({std::max<size_t>(1, kLogitsBytes / row_bytes), n_ctx, options.chunk});
    a.start(of_a, n_rows);
    b.start(of_b, n_rows);
    Comparison result = compare_ids(a, b, ids, n_ctx, checked_stride(options, n_ctx), n_rows);
    Output out;
    out.write(options.json ? to_json(result) : to_text(result));
    out.finish();
}

}  // namespace minigpt::gpt2
