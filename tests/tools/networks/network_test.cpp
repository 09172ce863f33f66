// What a network says of a text, one prediction at a time, and how it counts.
#include "networks/network.h"

#include <doctest/doctest.h>

#include <cmath>

#include "networks/gpt.h"
#include "networks/mlp.h"
#include "tests/tools/networks/small_run.h"

using namespace minigpt;
using namespace minigpt::networks;
using namespace minigpt::test;

namespace {

constexpr size_t kVocab = 13;

TrainConfig config_of(Architecture architecture) {
    TrainConfig c = small_config();
    c.architecture = architecture;
    c.n_embd = 8, c.n_ctx = 6, c.window = 4, c.n_batch = 1;
    return c;
}

std::vector<int32_t> text_of(size_t n) {
    std::vector<int32_t> text;
    for (size_t i = 0; i < n; i++)
        text.push_back(static_cast<int32_t>((i * i + 3 * i + 5) % kVocab));
    return text;
}

std::vector<float> logits_after(Network* network, const std::vector<int32_t>& ids) {
    std::vector<float> logits(kVocab);
    network->logits_after(logits.data(), ids.data(), ids.size());
    return logits;
}

double loss_of(const std::vector<float>& logits, int32_t target) {
    double sum = 0;
    for (float logit : logits)
        sum += std::exp(static_cast<double>(logit));
    return std::log(sum) - static_cast<double>(logits[static_cast<size_t>(target)]);
}

}  // namespace

TEST_CASE("networks: what follows a text is what the loss is made of, token by token") {
    const std::vector<int32_t> text = text_of(20);
    Compute compute;
    for (Architecture architecture : {Architecture::gpt, Architecture::mlp}) {
        TrainConfig c = config_of(architecture);
        auto network = make_network(c, kVocab, compute);
        const size_t start = 5, n_context = network->n_context();
        CHECK(n_context == (architecture == Architecture::gpt ? c.n_ctx : c.window));
        // A GPT sees nothing before a sequence's start, a perceptron its window.
        const size_t first = architecture == Architecture::gpt ? start : start + 1 - c.window;
        double sum = 0;
        for (size_t i = start; i < start + c.n_ctx; i++) {
            std::vector<int32_t> seen(text.begin() + static_cast<long>(first),
                                      text.begin() + static_cast<long>(i) + 1);
            sum += loss_of(logits_after(network.get(), seen), text[i + 1]);
        }
        CHECK(network->loss({text.data(), &start, 1, c.n_ctx}) ==
              doctest::Approx(sum).epsilon(1e-5));
    }
}

TEST_CASE(
    "networks: of a long text the last n_context tokens are read, in a short one id 0 before") {
    Compute compute;
    for (Architecture architecture : {Architecture::gpt, Architecture::mlp}) {
        auto network = make_network(config_of(architecture), kVocab, compute);
        const size_t n = network->n_context();
        const std::vector<int32_t> text = text_of(3 * n);
        const std::vector<int32_t> last(text.end() - static_cast<long>(n), text.end());
        std::vector<int32_t> longer = last;
        longer.insert(longer.begin(), 7);
        const std::vector<float> want = logits_after(network.get(), last);
        CHECK(logits_after(network.get(), text) == want);
        CHECK(logits_after(network.get(), longer) == want);
        longer[1] = longer[1] == 0 ? 1 : 0;  // the first token that is read
        CHECK(logits_after(network.get(), longer) != want);
    }
    auto mlp = make_network(config_of(Architecture::mlp), kVocab, compute);
    CHECK(logits_after(mlp.get(), {3, 9}) == logits_after(mlp.get(), {0, 0, 3, 9}));
    CHECK(logits_after(mlp.get(), {3, 9}) != logits_after(mlp.get(), {1, 1, 3, 9}));
}

TEST_CASE("networks: a row of attention sums to 1, and to 0 behind its position") {
    Compute compute;
    const TrainConfig c = config_of(Architecture::gpt);
    Gpt gpt(c, kVocab, compute);
    for (size_t n : {size_t{1}, size_t{4}, c.n_ctx}) {
        logits_after(&gpt, text_of(n));
        for (size_t layer = 0; layer < c.n_layer; layer++) {
            for (size_t head = 0; head < c.n_head; head++) {
                for (size_t row = 0; row < n; row++) {
                    const float* shares = gpt.attention_row(layer, head, row);
                    double seen = 0, behind = 0;
                    for (size_t j = 0; j < n; j++)
                        (j <= row ? seen : behind) += static_cast<double>(shares[j]);
                    CHECK(seen == doctest::Approx(1).epsilon(1e-6));
                    CHECK(behind == 0);
                }
            }
        }
    }
}

TEST_CASE("networks: operations of a step are 6 a parameter, and attention's squares") {
    Compute compute;
    TrainConfig c = config_of(Architecture::gpt);
    Gpt gpt(c, kVocab, compute);
    // wte, wpe, two layers of 12 n^2 + 13 n, ln_f; scores and values, forward and twice backward.
    const double parameters = 13 * 8 + 6 * 8 + 2 * (12 * 64 + 13 * 8) + 2 * 8;
    CHECK(static_cast<double>(gpt.parameters().count()) == parameters);
    CHECK(gpt.flops_per_token() == 6 * parameters + 3 * 2 * 2 * (2 * 8 * 6));
    Mlp mlp(config_of(Architecture::mlp), kVocab, compute);
    const double of_mlp = 13 * 8 + (4 * 8) * 32 + 32 + 32 * 13 + 13;
    CHECK(static_cast<double>(mlp.parameters().count()) == of_mlp);
    CHECK(mlp.flops_per_token() == 6 * of_mlp);
}
