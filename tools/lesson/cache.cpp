// Lesson 6: a text of T tokens, with a cache of keys and values and without.
#include <cstring>
#include <memory>

#include "common/error.h"
#include "common/output.h"
#include "lesson/lesson.h"
#include "lesson/svg.h"
#include "minigpt/model.h"

namespace minigpt::lesson {
namespace {

using cli::require;

// A small model of random weights, in memory.
class RandomModel {
public:
    explicit RandomModel(const Config& config) {
        WriterOptions options;
        uint64_t n_bytes = 0;
        require(Writer::image_bytes(config, options, &n_bytes), "model");
        void* image = image_.of(n_bytes);
        Writer writer;
        require(writer.open(image, n_bytes, config, options), "model");
        Random random(5);
        for (size_t i = 0; i < tensor_count(config); i++) {
            TensorSpec spec = tensor_spec(config, i);
            bool is_gain = spec.n_dims == 1 && strstr(spec.name, ".weight") != nullptr;
            Matrix a = random_matrix(spec.shape[0], spec.shape[1], 0.2f, &random);
            for (float& each : a.x)
                each += is_gain ? 1.0f : 0.0f;
            require(writer.add(spec.name, spec.n_dims == 1
                                              ? ArrayView::vector(a.row(0), a.n_rows)
                                              : ArrayView::matrix(a.row(0), a.n_rows, a.n_cols)),
                    spec.name);
        }
        require(writer.finish(), "model");
        require(model.open(image, n_bytes), "model");
    }

    Model model;

private:
    Workspace image_;
};

// What was done until a text had T tokens.
struct Work {
    size_t n_tokens;
    uint64_t rows, multiply_adds;
    double seconds;
};

struct Text {
    std::vector<int32_t> ids;
    std::vector<Work> work;  // at T = 16, 32, ... longest
};

// Multiply-adds of a forward pass over n_rows rows after n_past: each row goes through all
// matrices of the layers and meets itself and every row before it twice, as key and as value; one
// row goes through the head.
uint64_t multiply_adds_of(const Config& config, uint64_t n_past, uint64_t n_rows) {
    uint64_t matrices = uint64_t{config.n_embd} * (4 * config.n_embd + 2 * config.n_ff);
    uint64_t met = n_rows * n_past + n_rows * (n_rows + 1) / 2;
    return config.n_layer * (n_rows * matrices + met * 2 * config.n_embd) +
           uint64_t{config.n_embd} * config.n_rows;
}

// The sums over T steps of multiply_adds_of, in closed form.
uint64_t closed_form(const Config& config, uint64_t n_tokens, bool use_cache) {
    uint64_t a = uint64_t{config.n_layer} * config.n_embd * (4 * config.n_embd + 2 * config.n_ff);
    uint64_t b = uint64_t{config.n_layer} * 2 * config.n_embd, n = n_tokens;
    uint64_t twos = n * (n + 1) / 2, threes = n * (n + 1) * (n + 2) / 6;
    return (use_cache ? a * n + b * twos : a * twos + b * threes) +
           n * config.n_embd * config.n_rows;
}

// Token by token from id 0. Without the cache each step forgets all and begins at the first.
Text generate(const Compute& compute, const Model& model, size_t longest, bool use_cache) {
    Session session;
    SessionOptions options;
    options.compute = &compute;
    require(session.create(model, options), "session");
    Sampler sampler;
    SamplerOptions sampling;
    sampling.seed = 6;
    require(sampler.create(sampling, model.config().n_vocab), "sampler");

    Text text{{0}, {}};
    Work work = {};
    std::vector<float> logits(model.config().n_vocab);
    std::vector<Row> rows;
    while (text.ids.size() <= longest) {
        if (!use_cache)
            require(session.rewind(0), "session");
        size_t n_past = session.n_past();
        rows.clear();
        for (size_t i = n_past; i < text.ids.size(); i++)
            rows.push_back({text.ids[i], 0, i + 1 == text.ids.size()});
        work.seconds += seconds_of(1, [&] {
            require(session.forward(rows.data(), rows.size(), logits.data()), "forward");
        });
        work.rows += rows.size();
        work.multiply_adds += multiply_adds_of(model.config(), n_past, rows.size());
        work.n_tokens = text.ids.size();
        if (work.n_tokens >= 16 && (work.n_tokens & (work.n_tokens - 1)) == 0)
            text.work.push_back(work);
        text.ids.push_back(sampler.sample(logits.data(), text.ids.data(), text.ids.size()));
    }
    return text;
}

void show_work(Page& page, const Config& config, const Text& with, const Text& without) {
    std::vector<Names> rows = {{"T", "rows with", "rows without", "multiply-adds with",
                                "multiply-adds without", "times as many"}};
    std::vector<Names> times = {{"T", "with", "without", "times as many ms"}};
    bool counted = true, closed = true;
    for (size_t i = 0; i < with.work.size(); i++) {
        const Work &a = with.work[i], &b = without.work[i];
        counted = counted && a.rows == a.n_tokens && b.rows == a.n_tokens * (a.n_tokens + 1) / 2;
        closed = closed && a.multiply_adds == closed_form(config, a.n_tokens, true) &&
                 b.multiply_adds == closed_form(config, b.n_tokens, false);
        std::string name = cli::grouped(a.n_tokens);
        rows.push_back(
            {name, cli::grouped(a.rows), cli::grouped(b.rows), cli::grouped(a.multiply_adds),
             cli::grouped(b.multiply_adds),
             number(static_cast<double>(b.multiply_adds) / static_cast<double>(a.multiply_adds),
                    1)});
        times.push_back(
            {name, time_text(a.seconds), time_text(b.seconds), number(b.seconds / a.seconds, 1)});
    }
    page.say(
        "What was counted until the text had T tokens, with the cache and without: rows that were "
        "computed (one is one token, run through the model once), and multiply-adds (one is a "
        "product of two numbers, added to a sum).");
    page.table(rows);
    page.claim(counted, "T rows are computed with the cache, T (T + 1) / 2 without");
    page.say(
        "Let A be the multiply-adds of one row in the layers' matrices, and B those of one row "
        "that meets one other (or itself) in attention. Then a text of T tokens takes, beside T "
        "times the output head:");
    page.show(
        "with the cache   A T + B T (T + 1) / 2\n"
        "without          A T (T + 1) / 2 + B T (T + 1) (T + 2) / 6");
    page.claim(closed, "the multiply-adds that were counted on the way are these sums");
    page.say("How long the same two runs took:");
    page.table(times);
}

void draw_work(Page& page, const Text& with, const Text& without) {
    std::vector<double> x;
    Series work[2] = {{"with the cache", {}}, {"without", {}}}, time[2] = {work[0], work[1]};
    for (size_t i = 0; i < with.work.size(); i++) {
        x.push_back(static_cast<double>(with.work[i].n_tokens));
        for (size_t s = 0; s < 2; s++) {
            const Work& each = s == 0 ? with.work[i] : without.work[i];
            work[s].y.push_back(static_cast<double>(each.multiply_adds));
            time[s].y.push_back(std::max(each.seconds, 1e-9) * 1e3);
        }
    }
    page.picture("cache-work.svg", log_plot("Multiply-adds until a text has T tokens", "T, tokens",
                                            "multiply-adds", x, {work[0], work[1]}));
    page.picture("cache-time.svg", log_plot("Time until a text has T tokens", "T, tokens",
                                            "milliseconds", x, {time[0], time[1]}));
}

// The same sum for GPT-2 small, closed: no run.
void show_gpt2(Page& page) {
    Config config;
    config.n_rows = 50257;
    config.n_ctx = 1024;
    config.n_embd = 768;
    config.n_layer = 12;
    config.n_ff = 3072;
    uint64_t with = 0, without = 0;
    for (uint64_t t = 0; t < config.n_ctx; t++) {
        with += multiply_adds_of(config, t, 1);
        without += multiply_adds_of(config, 0, t + 1);
    }
    double ratio = static_cast<double>(without) / static_cast<double>(with);
    page.say(
        "GPT-2 small, counted the same way for a text of 1,024 tokens: %s multiply-adds with the "
        "cache and %s without, %.0f times as many.",
        cli::grouped(with).c_str(), cli::grouped(without).c_str(), ratio);
}

}  // namespace

void cache(Page& page) {
    cache_up_to(page, 1024);
}

void cache_up_to(Page& page, size_t longest) {
    Config config;
    config.n_vocab = config.n_rows = 64;
    config.n_ctx = static_cast<uint32_t>(longest);
    config.n_embd = 16;
    config.n_head = 1;
    config.n_layer = 1;
    config.n_ff = 64;
    page.title("cache", "6  The cache: what was computed once need not be computed again");
    page.say(
        "To say what follows T tokens, a model runs over all of them. Their keys and values do not "
        "depend on what comes later: that is the mask. So they can be kept, (n_layer, 2, T, "
        "n_embd) numbers, and each step computes one new row, whose query meets all kept keys. A "
        "model of random weights (n_layer = %u, n_embd = %u, n_head = %u) writes %zu tokens both "
        "ways: with this cache, and without, when each step computes all rows again.",
        config.n_layer, config.n_embd, config.n_head, longest);
    RandomModel made(config);
    Text with = generate(page.math.compute(), made.model, longest, true);
    Text without = generate(page.math.compute(), made.model, longest, false);
    std::string first;
    for (size_t i = 1; i <= 16; i++)
        first += (i == 1 ? "" : " ") + std::to_string(with.ids[i]);
    page.show("%s ...", first.c_str());
    page.claim(with.ids == without.ids, "both ways give the same %zu ids", longest);
    show_work(page, config, with, without);
    show_gpt2(page);
    if (page.has_pictures())
        draw_work(page, with, without);
}

}  // namespace minigpt::lesson
