// Lesson 6: a text of T tokens, with a cache of keys and values and without.
#include <algorithm>
#include <cstring>
#include <memory>

#include "common/error.h"
#include "common/plot.h"
#include "common/text.h"
#include "lesson/lesson.h"
#include "minigpt/model.h"
#include "minigpt/writer.h"

namespace minigpt::lesson {
namespace {

using tools::require;

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

// What one row costs, in multiply-adds.
struct Costs {
    uint64_t matrices;  // A: through the matrices of all layers
    uint64_t meeting;   // B: of its queries with one row's keys, and of the shares with its values
    uint64_t head;      // C: through the output head, which only the last row of a step takes
};

Costs costs_of(const Config& config) {
    uint64_t n = config.n_embd;
    return {config.n_layer * n * (4 * n + 2 * config.n_ff), config.n_layer * 2 * n,
            n * config.n_rows};
}

// Of a forward pass over n_rows rows after n_past. Each row meets itself and every row before it.
uint64_t multiply_adds_of(const Config& config, uint64_t n_past, uint64_t n_rows) {
    Costs costs = costs_of(config);
    uint64_t met = n_rows * n_past + n_rows * (n_rows + 1) / 2;
    return costs.matrices * n_rows + costs.meeting * met + costs.head;
}

// The three terms of a whole text of T tokens: the sums over T steps of multiply_adds_of.
struct Terms {
    uint64_t rows, met, heads;  // how often A, B and C are in the sum

    uint64_t sum(const Costs& costs) const {
        return costs.matrices * rows + costs.meeting * met + costs.head * heads;
    }
};

Terms closed_form(uint64_t n, bool use_cache) {
    uint64_t twos = n * (n + 1) / 2, threes = n * (n + 1) * (n + 2) / 6;
    return use_cache ? Terms{n, twos, n} : Terms{twos, threes, n};
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

// The same text again, kRuns times in all, so that a time is a median: one run alone tells as much
// about what else the machine did.
constexpr size_t kRuns = 5;

Text generate_timed(const Compute& compute, const Model& model, size_t longest, bool use_cache) {
    std::vector<Text> runs;
    for (size_t i = 0; i < kRuns; i++)
        runs.push_back(generate(compute, model, longest, use_cache));
    for (size_t i = 0; i < runs[0].work.size(); i++) {
        std::vector<double> seconds;
        for (const Text& run : runs)
            seconds.push_back(run.work[i].seconds);
        std::nth_element(seconds.begin(), seconds.begin() + kRuns / 2, seconds.end());
        runs[0].work[i].seconds = seconds[kRuns / 2];
    }
    return runs[0];
}

// "3,072 * 16 + 32 * 136 + 1,024 * 16 = 49,152 + 4,352 + 16,384 = 69,888"
std::string spelled_out(const Costs& costs, const Terms& terms) {
    const uint64_t factors[3][2] = {
        {costs.matrices, terms.rows}, {costs.meeting, terms.met}, {costs.head, terms.heads}};
    std::string products, sum;
    for (const auto& [cost, times] : factors) {
        const char* plus = products.empty() ? "" : " + ";
        products += plus + tools::grouped(cost) + " * " + tools::grouped(times);
        sum += plus + tools::grouped(cost * times);
    }
    return products + " = " + sum + " = " + tools::grouped(terms.sum(costs));
}

void show_sums(Page& page, const Config& config, const Text& with, const Text& without) {
    Costs costs = costs_of(config);
    page.say("Where do these numbers come from? One row costs, in multiply-adds:");
    page.show(
        "A  in the layer's matrices  n_embd * (4 n_embd + 2 n_ff) = %u * (4 * %u + 2 * %u) = %s\n"
        "B  for each row it meets    2 n_embd                     = 2 * %u               = %s\n"
        "C  in the output head       n_embd * n_vocab             = %u * %u              = %s",
        config.n_embd, config.n_embd, config.n_ff, tools::grouped(costs.matrices).c_str(),
        config.n_embd, tools::grouped(costs.meeting).c_str(), config.n_embd, config.n_rows,
        tools::grouped(costs.head).c_str());
    page.say(
        "A: q, k, v and the output take n_embd * n_embd each, the two matrices of the MLP n_embd * "
        "n_ff each. B: a query meets a key, and a share a value. C: only the last row of a step "
        "goes through the output head. A text of T tokens takes");
    page.show(
        "with the cache   A * T               + B * T (T + 1) / 2          + C * T\n"
        "without          A * T (T + 1) / 2   + B * T (T + 1) (T + 2) / 6  + C * T");
    page.say("and for T = 16 that is");
    page.show("with the cache   %s\nwithout          %s",
              spelled_out(costs, closed_form(16, true)).c_str(),
              spelled_out(costs, closed_form(16, false)).c_str());
    bool are_sums = true;
    for (size_t i = 0; i < with.work.size(); i++) {
        const Work &a = with.work[i], &b = without.work[i];
        are_sums = are_sums && a.multiply_adds == closed_form(a.n_tokens, true).sum(costs) &&
                   b.multiply_adds == closed_form(b.n_tokens, false).sum(costs);
    }
    page.claim(are_sums, "these sums are what was counted step by step, for every T");
}

void show_work(Page& page, const Config& config, const Text& with, const Text& without) {
    std::vector<Names> rows = {{"T", "rows with", "rows without", "multiply-adds with",
                                "multiply-adds without", "times as many"}};
    std::vector<Names> times = {{"T", "with", "without", "times as many ms"}};
    bool counted = true;
    for (size_t i = 0; i < with.work.size(); i++) {
        const Work &a = with.work[i], &b = without.work[i];
        counted = counted && a.rows == a.n_tokens && b.rows == a.n_tokens * (a.n_tokens + 1) / 2;
        std::string name = tools::grouped(a.n_tokens);
        rows.push_back(
            {name, tools::grouped(a.rows), tools::grouped(b.rows), tools::grouped(a.multiply_adds),
             tools::grouped(b.multiply_adds),
             number(static_cast<double>(b.multiply_adds) / static_cast<double>(a.multiply_adds),
                    1)});
        times.push_back(
            {name, time_text(a.seconds), time_text(b.seconds), number(b.seconds / a.seconds, 1)});
    }
    page.say(
        "The work until the text had T tokens, with the cache and without. A row is one token, run "
        "through the model once. A multiply-add multiplies two numbers and adds the product to a "
        "sum.");
    page.table(rows);
    page.claim(counted, "with the cache T rows are computed, without it T (T + 1) / 2");
    show_sums(page, config, with, without);
    page.say("The time that both took, each the median of %zu runs on this machine:", kRuns);
    page.table(times);
}

void draw_work(Page& page, const Text& with, const Text& without) {
    std::vector<double> x;
    tools::Plot work = {"Multiply-adds until a text has T tokens",
                        "T, tokens",
                        "multiply-adds",
                        {{"with the cache", {}}, {"without", {}}}};
    tools::Plot time = work;
    time.title = tools::format("Time until a text has T tokens, median of %zu runs", kRuns);
    time.y_name = "milliseconds";
    for (size_t i = 0; i < with.work.size(); i++) {
        x.push_back(static_cast<double>(with.work[i].n_tokens));
        for (size_t s = 0; s < 2; s++) {
            const Work& each = s == 0 ? with.work[i] : without.work[i];
            work.series[s].y.push_back(static_cast<double>(each.multiply_adds));
            time.series[s].y.push_back(std::max(each.seconds, 1e-9) * 1e3);
        }
    }
    page.picture("cache-work.svg", tools::line_plot(work, x, tools::Scale::logarithmic));
    page.picture("cache-time.svg", tools::line_plot(time, x, tools::Scale::logarithmic));
}

// The same sum for GPT-2 small, without a run.
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
        "GPT-2 small (n_layer = 12, n_embd = 768, n_ff = 3072, n_vocab = 50257), counted the same "
        "way for a text of 1,024 tokens: %s multiply-adds with the cache, %s without it. That is "
        "%.0f times as many.",
        tools::grouped(with).c_str(), tools::grouped(without).c_str(), ratio);
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
        "To predict what follows T tokens, a model runs over all of them. Their keys and values "
        "do not depend on later tokens, because of the mask. So they can be kept: (n_layer, 2, T, "
        "n_embd) numbers. Each step then computes one new row, whose query meets all kept keys.");
    page.say(
        "Here a model of random weights (n_layer = %u, n_embd = %u, n_head = %u, n_ff = %u, "
        "n_vocab = %u) writes %zu tokens in two ways. One uses this cache. The other computes all "
        "rows again at each step. Both draw the same random numbers. The text begins:",
        config.n_layer, config.n_embd, config.n_head, config.n_ff, config.n_vocab, longest);
    RandomModel made(config);
    Text with = generate_timed(page.math.compute(), made.model, longest, true);
    Text without = generate_timed(page.math.compute(), made.model, longest, false);
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
