// Lesson 7: the temperature divides logits, before the softmax.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "common/error.h"
#include "common/plot.h"
#include "common/text.h"
#include "lesson/lesson.h"
#include "minigpt/model.h"
#include "minigpt/tokenizer.h"

extern "C" const unsigned char minigpt_bundled_model[];
extern "C" const unsigned char minigpt_bundled_model_end[];

namespace minigpt::lesson {
namespace {

using tools::require;

const char kPrompt[] = "ROMEO:\nI ";
constexpr size_t kShown = 8;
const double kTemperatures[] = {0.5, 1, 2};

// The logits after kPrompt, of the small model that gpt2 has inside, and a name for each token.
struct Real {
    Matrix logits;  // [1, n_vocab]
    Names names;
    std::vector<size_t> best;  // the kShown likeliest tokens, the best first
};

std::string name_of_token(const Tokenizer& tokenizer, size_t id) {
    std::string text(tokenizer.token(static_cast<int32_t>(id)));
    return text == "\n" ? "newline" : text == " " ? "space" : text;
}

Real real_logits(const Compute& compute) {
    Model model;
    size_t n_bytes = static_cast<size_t>(minigpt_bundled_model_end - minigpt_bundled_model);
    require(model.open(minigpt_bundled_model, n_bytes), "the bundled model");
    Tokenizer tokenizer;
    require(tokenizer.open(model), "the bundled model");
    int32_t ids[sizeof kPrompt];
    size_t n_ids = 0;
    require(tokenizer.encode(kPrompt, ids, sizeof kPrompt, &n_ids), "the prompt");
    SessionOptions options;
    options.compute = &compute;
    Session session;
    require(session.create(model, options), "session");
    std::vector<Row> rows;
    for (size_t i = 0; i < n_ids; i++)
        rows.push_back({ids[i], 0, i + 1 == n_ids});
    Real real;
    real.logits = Matrix(1, model.config().n_vocab);
    require(session.forward(rows.data(), n_ids, real.logits.row(0)), "forward");
    for (size_t id = 0; id < model.config().n_vocab; id++) {
        real.names.push_back(name_of_token(tokenizer, id));
        real.best.push_back(id);
    }
    std::stable_sort(real.best.begin(), real.best.end(),
                     [&](size_t a, size_t b) { return real.logits.x[a] > real.logits.x[b]; });
    real.best.resize(kShown);
    return real;
}

double entropy_bits(const Matrix& probs) {
    double sum = 0;
    for (float p : probs.x)
        sum -= p > 0 ? static_cast<double>(p) * std::log2(static_cast<double>(p)) : 0;
    return sum;
}

// The shown tokens' columns, one for all others together, and the sum; a row for each matrix.
void show(Page& page, const Real& real, const std::string& name, const Names& rows,
          const std::vector<Matrix>& all) {
    Matrix shown(all.size(), kShown + 1);
    Names cols;
    for (size_t j = 0; j < kShown; j++)
        cols.push_back(real.names[real.best[j]]);
    cols.push_back("others");
    for (size_t i = 0; i < all.size(); i++) {
        double others = row_sums(all[i])[0];
        for (size_t j = 0; j < kShown; j++) {
            shown.at(i, j) = all[i].x[real.best[j]];
            others -= static_cast<double>(shown.at(i, j));
        }
        shown.at(i, kShown) = static_cast<float>(others);
    }
    page.matrix(name, "", shown, rows, cols, Page::Sums::shown);
}

// How the shares come about at t = 1: exp of each logit, divided by the sum of all.
void show_softmax(Page& page, const Real& real, const Matrix& probs) {
    std::vector<float> powers = page.math.exp(real.logits.x);
    double sum = 0, shown[2] = {0, 0};
    for (float power : powers)
        sum += static_cast<double>(power);
    std::vector<Names> cells = {{""}, {"logit"}, {"exp(logit)"}, {"share"}};
    std::vector<double> shares, expected;
    for (size_t id = 0; id < powers.size(); id++) {
        shares.push_back(static_cast<double>(probs.x[id]));
        expected.push_back(static_cast<double>(powers[id]) / sum);
    }
    for (size_t id : real.best) {
        cells[0].push_back(real.names[id]);
        cells[1].push_back(number(static_cast<double>(real.logits.x[id])));
        cells[2].push_back(number(static_cast<double>(powers[id])));
        cells[3].push_back(number(shares[id]));
        shown[0] += static_cast<double>(powers[id]), shown[1] += shares[id];
    }
    for (const auto& [others, all] :
         {std::pair<Names, Names>({"others", "", number(sum - shown[0]), number(1 - shown[1])},
                                  {"|     sum", "|        ", "| " + number(sum), "|   1.000"})}) {
        for (size_t i = 0; i < 4; i++)
            cells[i].push_back(others[i]), cells[i].push_back(all[i]);
    }
    page.table(cells);
    page.claim_near("each share is exp(logit) divided by the sum over all letters", shares,
                    expected, 1e-6);
}

// How often 20,000 draws of the library's sampler, at a temperature, give each token.
std::vector<double> frequencies(const Matrix& logits, double temperature_) {
    const size_t n_draws = 20000;
    SamplerOptions options;
    options.temperature = static_cast<float>(temperature_);
    options.seed = 7;
    Sampler sampler;
    require(sampler.create(options, logits.n_cols), "sampler");
    std::vector<double> counts(logits.n_cols);
    for (size_t i = 0; i < n_draws; i++)
        counts[static_cast<size_t>(sampler.sample(logits.row(0), nullptr, 0))] += 1.0 / n_draws;
    return counts;
}

std::vector<Matrix> divide_logits(Page& page, const Real& real) {
    page.say(
        "A temperature t divides the logits, before the softmax. Below 1 it moves them apart, so "
        "the best letter gets more. Above 1 it moves them together. Lesson 2 has the same "
        "division: "
        "there sqrt(head_dim) keeps the scores from being too far apart.");
    std::vector<Matrix> probs;
    Names names;
    for (double t : kTemperatures) {
        probs.push_back(
            page.math.softmax(scaled(real.logits, static_cast<float>(1 / t)), Math::kAllKeys));
        names.push_back(tools::format("t = %.1f", t));
    }
    show(page, real, "softmax(logits / t)", names, probs);
    page.say(
        "The entropy measures how open the choice is: %.2f bits at t = 0.5, %.2f at 1, %.2f at 2.",
        entropy_bits(probs[0]), entropy_bits(probs[1]), entropy_bits(probs[2]));
    page.claim(entropy_bits(probs[0]) < entropy_bits(probs[1]) &&
                   entropy_bits(probs[1]) < entropy_bits(probs[2]),
               "the entropy grows with t");
    size_t first = real.best[0], second = real.best[1];
    std::vector<double> found, expected;
    for (size_t i = 0; i < 3; i++) {
        found.push_back(std::log(static_cast<double>(probs[i].x[first])) -
                        std::log(static_cast<double>(probs[i].x[second])));
        expected.push_back((static_cast<double>(real.logits.x[first]) - real.logits.x[second]) /
                           kTemperatures[i]);
    }
    page.claim_near(
        "log(p of the best / p of the second) is the difference of their logits, divided by t",
        found, expected, 1e-5);
    return probs;
}

void divide_probs(Page& page, const Real& real, const Matrix& probs) {
    page.say(
        "Dividing the probabilities, after the softmax, changes nothing. They then sum to 1 / t. "
        "When they are divided by that sum, so that they sum to 1 again, they are what they were.");
    Matrix divided = scaled(probs, 0.5f);
    float sum = static_cast<float>(row_sums(divided)[0]);
    Matrix again = scaled(divided, 1 / sum);
    show(page, real, "with t = 2", {"softmax", "softmax / t", "over its sum"},
         {probs, divided, again});
    page.claim_near("divided, they sum to 1 / t", {static_cast<double>(sum)}, {0.5}, 1e-5);
    page.claim_near("divided by their sum they are softmax(logits) again", doubles(again.x),
                    doubles(probs.x), 1e-6);
}

}  // namespace

void temperature(Page& page) {
    page.title("temperature", "7  Temperature: which division it is");
    Real real = real_logits(page.math.compute());
    page.say(
        "The small model inside gpt2 has read \"ROMEO:\\nI \". It gives each of its %zu letters a "
        "logit: a score, before the softmax. The softmax makes shares of them. The %zu likeliest "
        "letters, and the other %zu together:",
        real.names.size(), kShown, real.names.size() - kShown);
    show_softmax(page, real, page.math.softmax(real.logits, Math::kAllKeys));
    std::vector<Matrix> probs = divide_logits(page, real);
    divide_probs(page, real, probs[1]);

    page.say(
        "Which division does the library do? It draws 20,000 letters at each temperature. How "
        "often "
        "each letter came, as a share:");
    std::vector<Matrix> drawn;
    double worst = 0;
    for (size_t i = 0; i < 3; i++) {
        std::vector<double> counts = frequencies(real.logits, kTemperatures[i]);
        drawn.push_back(Matrix(1, counts.size(), std::vector<float>(counts.begin(), counts.end())));
        for (size_t id = 0; id < counts.size(); id++)
            worst = std::max(worst, std::fabs(counts[id] - static_cast<double>(probs[i].x[id])));
    }
    show(page, real, "drawn", {"t = 0.5", "t = 1.0", "t = 2.0"}, drawn);
    // Four standard deviations of a frequency near 1/2: 4 sqrt(0.25 / 20000).
    page.claim(worst < 0.0142, "no frequency is further from softmax(logits / t) than 0.0142");
    page.claim(frequencies(real.logits, 0)[real.best[0]] > 0.9999,
               "at temperature 0 every draw is the letter of the largest logit");
    if (page.has_pictures()) {
        Names names;
        std::vector<tools::Series> series = {{"t = 0.5", {}}, {"t = 1", {}}, {"t = 2", {}}};
        for (size_t id : real.best) {
            names.push_back(real.names[id]);
            for (size_t i = 0; i < 3; i++)
                series[i].y.push_back(static_cast<double>(probs[i].x[id]));
        }
        page.picture("temperature.svg",
                     tools::bar_plot({"The next letter after \"ROMEO: I \"",
                                      "the eight likeliest letters", "probability", series},
                                     names));
    }
}

}  // namespace minigpt::lesson
