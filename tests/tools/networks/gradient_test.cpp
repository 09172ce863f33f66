// The backward pass against finite differences of a float64 forward pass.
#include <doctest/doctest.h>

#include <cfloat>
#include <cmath>

#include "minigpt/generate.h"
#include "networks/layers.h"
#include "networks/network.h"
#include "tests/ops/support.h"
#include "tests/tools/networks/reference.h"

using namespace minigpt;
using namespace minigpt::networks;
using minigpt::test::Numbers64;

namespace {

constexpr size_t kVocab = 11;

struct Case {
    TrainConfig config;
    std::vector<int32_t> text;
    std::vector<size_t> starts;

    Case(size_t n_batch, size_t n_ctx) {
        config.n_layer = 2, config.n_head = 2, config.n_embd = 6, config.n_ctx = n_ctx;
        config.n_batch = n_batch, config.window = 3;
        Random random(5);
        for (size_t i = 0; i < 4 * n_ctx; ++i)
            text.push_back(static_cast<int32_t>(random.next() % kVocab));
        for (size_t s = 0; s < n_batch; ++s)
            starts.push_back(3 + random.next() % (3 * n_ctx - 4));
    }
    Batch batch() const { return {text.data(), starts.data(), starts.size(), config.n_ctx}; }
};

// Numbers of the size that training makes them, none near 0 or 1 as they begin: biases and norms
// matter, attention is far from uniform.
void spread(Parameters& parameters) {
    Random random(9);
    for (const Tensor& tensor : parameters.tensors()) {
        for (size_t i = 0; i < tensor.size(); ++i) {
            double x = random.next_unit() - 0.5;
            bool is_norm = tensor.rows == 1 && tensor.name.find("weight") != std::string::npos;
            parameters.weights()[tensor.offset + i] = static_cast<float>(is_norm ? 1 + x : 1.5 * x);
        }
    }
}

// Each gradient within a bound of (loss(w + h) - loss(w - h)) / 2 h, which is off by h^2 times a
// third derivative and by float64's rounding over h; that of f32's sums is the larger.
void check_gradients(const Case& c, const Compute& compute, size_t every) {
    auto network = make_network(c.config, kVocab, compute);
    spread(network->parameters());
    double loss = network->backward(c.batch(), 0);
    Numbers64 weights = minigpt::test::widened(network->parameters());
    double want = minigpt::test::reference_loss(weights, c.config, kVocab, c.batch());
    CHECK(loss == doctest::Approx(want).epsilon(1e-5));
    CHECK(network->loss(c.batch()) / static_cast<double>(c.batch().n_rows()) ==
          doctest::Approx(want).epsilon(1e-5));
    constexpr double kStep = 1e-4;
    size_t n_checked = 0;
    for (const Tensor& tensor : network->parameters().tensors()) {
        std::vector<double>& numbers = weights.at(tensor.name);
        std::vector<double> truth;
        double largest = 0;
        for (size_t i = n_checked % every; i < tensor.size(); i += every) {
            double there = numbers[i];
            numbers[i] = there + kStep;
            double above = minigpt::test::reference_loss(weights, c.config, kVocab, c.batch());
            numbers[i] = there - kStep;
            double below = minigpt::test::reference_loss(weights, c.config, kVocab, c.batch());
            numbers[i] = there;
            truth.push_back((above - below) / (2 * kStep));
            largest = std::fmax(largest, std::fabs(truth.back()));
        }
        const float* found = network->parameters().gradients() + tensor.offset;
        size_t i = n_checked % every;
        for (double gradient : truth) {
            CAPTURE(tensor.name);
            CAPTURE(i);
            CHECK(std::fabs(static_cast<double>(found[i]) - gradient) <= 2e-5 * (largest + 0.01));
            i += every;
            n_checked++;
        }
    }
    CHECK(n_checked * every >= network->parameters().count() / 2);
}

}  // namespace

TEST_CASE("train gradients: every kind of parameter agrees with finite differences in float64") {
    Compute compute;
    check_gradients(Case(2, 5), compute, 1);
}

TEST_CASE("train gradients: without the mask, too") {
    Compute compute;
    Case c(2, 5);
    c.config.mask = false;
    check_gradients(c, compute, 3);
}

TEST_CASE("train gradients: of the perceptron") {
    Compute compute;
    Case c(3, 7);
    c.config.architecture = Architecture::mlp;
    check_gradients(c, compute, 1);
}

TEST_CASE("train gradients: sequences longer than a block of attention's rows") {
    Compute compute;
    Case c(1, 67);
    c.config.n_layer = 1;
    check_gradients(c, compute, 29);
    c.config.mask = false;
    check_gradients(c, compute, 97);
}

TEST_CASE("train gradients: the same bits on every Compute") {
    for (bool is_mlp : {false, true}) {
        Case c(5, 33);
        c.config.n_embd = 36, c.config.dropout = 0.2f;
        c.config.architecture = is_mlp ? Architecture::mlp : Architecture::gpt;
        std::vector<float> want;
        ::test::for_each_exact_compute([&](const Compute& compute) {
            auto network = make_network(c.config, kVocab, compute);
            spread(network->parameters());
            network->backward(c.batch(), 3);
            const Parameters& p = network->parameters();
            if (want.empty())
                want.assign(p.gradients(), p.gradients() + p.size());
            CHECK(::test::first_difference(p.gradients(), want.data(), p.size()) == p.size());
        });
    }
}

// With dropout the loss is that of the network whose dropped numbers are gone: a step along the
// gradient by h changes it by h |gradient|^2.
TEST_CASE("train gradients: with dropout, the directional derivative") {
    Compute compute;
    Case c(4, 16);
    c.config.n_embd = 32, c.config.dropout = 0.3f;
    auto network = make_network(c.config, kVocab, compute);
    spread(network->parameters());
    Parameters& p = network->parameters();
    double loss = network->backward(c.batch(), 7);
    CHECK(loss == network->backward(c.batch(), 7));
    CHECK(loss != network->backward(c.batch(), 8));
    CHECK(loss != network->loss(c.batch()) / static_cast<double>(c.batch().n_rows()));
    network->backward(c.batch(), 7);
    const std::vector<float> weights(p.weights(), p.weights() + p.size());
    const std::vector<float> gradient(p.gradients(), p.gradients() + p.size());
    double square = 0;
    for (float g : gradient)
        square += static_cast<double>(g) * static_cast<double>(g);
    const double step = 2e-3 / std::sqrt(square);
    double moved[2];
    for (int side : {0, 1}) {
        for (size_t i = 0; i < p.size(); ++i) {
            double by = static_cast<double>(gradient[i]) * (side == 0 ? step : -step);
            p.weights()[i] = static_cast<float>(static_cast<double>(weights[i]) + by);
        }
        moved[side] = network->backward(c.batch(), 7);
    }
    CHECK((moved[0] - moved[1]) / (2 * step) == doctest::Approx(square).epsilon(1e-3));
}

TEST_CASE("train dropout: drops its share, keeps the mean, the same for any division") {
    const size_t n = 100000;
    std::vector<float> ones(n, 1), y(n), pieces(n);
    Dropout dropout(0.25f, 1, 2, 3);
    dropout.apply(y.data(), ones.data(), 0, n);
    size_t n_dropped = 0, n_kept = 0;
    for (float f : y) {
        n_dropped += f == 0;
        n_kept += f == 1 / 0.75f;
    }
    CHECK(n_dropped + n_kept == n);
    // Five standard deviations.
    CHECK(std::fabs(static_cast<double>(n_dropped) - 25000) < 5 * std::sqrt(n * 0.25 * 0.75));
    for (size_t at = 0; at < n; at += 777)
        dropout.apply(pieces.data() + at, ones.data() + at, at, n - at < 777 ? n - at : 777);
    CHECK(pieces == y);
    std::vector<float> other(n);
    Dropout(0.25f, 1, 2, 4).apply(other.data(), ones.data(), 0, n);
    CHECK(other != y);
}
