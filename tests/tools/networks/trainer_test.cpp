// The optimizer, the schedule, and whole runs.
#include "networks/trainer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "minigpt/generate.h"
#include "networks/sample.h"
#include "tests/ops/support.h"
#include "tests/tools/networks/small_run.h"
#include "train/state.h"

using namespace minigpt;
using namespace minigpt::networks;
using namespace minigpt::test;

namespace {

uint64_t digest(const Trainer& trainer) {
    const Parameters& p = trainer.network().parameters();
    return train::fnv1a(p.weights(), p.size() * sizeof(float));
}

std::string message_of(const std::string& text, const TrainConfig& config) {
    Corpus corpus;
    Compute compute;
    Status status = make_corpus(text, config.val, &corpus);
    std::unique_ptr<Trainer> trainer;
    if (status.ok())
        status = Trainer::create(config, corpus, compute, &trainer);
    return status.message();
}

}  // namespace

TEST_CASE("train cosine: within 1e-15 of the truth") {
    for (int i = 0; i <= 1000; ++i) {
        double x = M_PI * i / 1000;
        CHECK(std::fabs(cosine(x) - std::cos(x)) < 1e-15);
    }
}

TEST_CASE("train schedule: a line up to lr, half a cosine down to lr_end of it") {
    TrainConfig c;
    c.n_iters = 1101, c.n_warmup = 99, c.lr = 0.5f, c.lr_end = 0.2f;
    CHECK(learning_rate(c, 0) == doctest::Approx(0.5 / 100));
    CHECK(learning_rate(c, 98) == doctest::Approx(0.5 * 99 / 100));
    CHECK(learning_rate(c, 99) == doctest::Approx(0.5));
    CHECK(learning_rate(c, 99 + 501 - 1) == doctest::Approx(0.3).epsilon(0.01));
    CHECK(learning_rate(c, 1100) == doctest::Approx(0.1));
    c.n_iters = 1;
    CHECK(learning_rate(c, 0) == doctest::Approx(0.5));
}

TEST_CASE("train adamw: as the paper has it, in float64") {
    TrainConfig c;
    c.n_iters = 50, c.n_warmup = 3, c.lr = 0.01f, c.clip = 0.5f;
    Parameters parameters;
    parameters.add("matrix", 3, 7, {0.5f, 0});
    parameters.add("vector", 1, 5, {0.5f, 1});
    parameters.allocate(1);
    Compute compute;
    AdamW optimizer(c, parameters, compute);
    std::vector<double> w(parameters.weights(), parameters.weights() + parameters.size());
    std::vector<double> m(w.size()), v(w.size());
    Random random(3);
    for (size_t t = 0; t < 20; ++t) {
        double square = 0;
        for (const Tensor& tensor : parameters.tensors()) {
            for (size_t i = 0; i < tensor.size(); ++i) {
                float g = static_cast<float>(random.next_unit() - 0.4);
                parameters.gradients()[tensor.offset + i] = g;
                square += static_cast<double>(g) * static_cast<double>(g);
            }
        }
        CHECK(optimizer.step(t) == doctest::Approx(std::sqrt(square)).epsilon(1e-6));
        double scale = std::fmin(1, 0.5 / std::sqrt(square)), lr = learning_rate(c, t);
        for (const Tensor& tensor : parameters.tensors()) {
            for (size_t i = tensor.offset; i < tensor.offset + tensor.size(); ++i) {
                double g = scale * static_cast<double>(parameters.gradients()[i]);
                m[i] = 0.9 * m[i] + 0.1 * g;
                v[i] = 0.99 * v[i] + 0.01 * g * g;
                double step = m[i] / (1 - std::pow(0.9, t + 1.0));
                step /= std::sqrt(v[i] / (1 - std::pow(0.99, t + 1.0))) + 1e-8;
                w[i] -= lr * (tensor.rows > 1 ? 0.1 : 0) * w[i] + lr * step;
                CHECK(static_cast<double>(parameters.weights()[i]) ==
                      doctest::Approx(w[i]).epsilon(1e-5));
            }
        }
    }
}

// v is so small here that epsilon is what it is added to: the first step of a gradient g is
// lr g / (|g| + epsilon).
TEST_CASE("train adamw: epsilon is 1e-8, which gradients of 1e-8 halve") {
    TrainConfig c;
    c.n_iters = 1, c.lr = 0.25f, c.weight_decay = 0;
    Parameters parameters;
    parameters.add("vector", 1, 3, {0, 0});
    parameters.allocate(1);
    const float gradients[] = {1e-8f, -1e-8f, 3e-8f};
    std::copy(gradients, gradients + 3, parameters.gradients());
    Compute compute;
    AdamW(c, parameters, compute).step(0);
    CHECK(parameters.weights()[0] == doctest::Approx(-0.125).epsilon(1e-5));
    CHECK(parameters.weights()[1] == doctest::Approx(0.125).epsilon(1e-5));
    CHECK(parameters.weights()[2] == doctest::Approx(-0.1875).epsilon(1e-5));
}

TEST_CASE("train: what is validated begins with the first token held back, of either network") {
    Corpus corpus;
    REQUIRE(make_corpus(repeated(kVerse, 5), 0.3, &corpus).ok());
    Compute compute;
    for (Architecture architecture : {Architecture::gpt, Architecture::mlp}) {
        TrainConfig c = small_config();
        c.architecture = architecture;
        auto trainer = made(c, corpus, compute);
        run(trainer.get(), 3);  // else every window has nearly the same loss
        const bool is_mlp = architecture == Architecture::mlp;
        const size_t first = corpus.n_train + (is_mlp ? c.window - 1 : 0);
        const size_t n_whole = (corpus.ids.size() - first - 1) / c.n_ctx;
        REQUIRE(n_whole >= 5);
        // Window by window: all of them, and two or three of them evenly spread.
        auto mean_of = [&](const std::vector<size_t>& windows) {
            double sum = 0;
            for (size_t window : windows) {
                size_t start = first + window * c.n_ctx;
                sum += trainer->network().loss({corpus.ids.data(), &start, 1, c.n_ctx});
            }
            return sum / static_cast<double>(windows.size() * c.n_ctx);
        };
        std::vector<size_t> all(n_whole);
        std::iota(all.begin(), all.end(), size_t{0});
        CHECK(trainer->validate(n_whole) == doctest::Approx(mean_of(all)).epsilon(1e-12));
        CHECK(trainer->validate(1000) == trainer->validate(n_whole));
        CHECK(trainer->validate(2) == doctest::Approx(mean_of({0, n_whole / 2})).epsilon(1e-12));
        CHECK(trainer->validate(3) ==
              doctest::Approx(mean_of({0, n_whole / 3, 2 * n_whole / 3})).epsilon(1e-12));
    }
}

TEST_CASE("train: a window needs a token behind it to predict") {
    Corpus corpus;
    REQUIRE(make_corpus(repeated(kVerse, 5), 0.3, &corpus).ok());
    Compute compute;
    TrainConfig c = small_config();
    // What is held back is three windows and not one token more.
    corpus.n_train = corpus.ids.size() - 3 * c.n_ctx;
    auto trainer = made(c, corpus, compute);
    run(trainer.get(), 3);
    double sum = 0;
    for (size_t window : {0, 1}) {
        size_t start = corpus.n_train + window * c.n_ctx;
        sum += trainer->network().loss({corpus.ids.data(), &start, 1, c.n_ctx});
    }
    CHECK(trainer->validate(1000) ==
          doctest::Approx(sum / static_cast<double>(2 * c.n_ctx)).epsilon(1e-12));
}

TEST_CASE("train: a verse is learnt by heart, and said again") {
    TrainConfig c = small_config();
    c.n_iters = 300, c.dropout = 0;
    Corpus corpus;
    REQUIRE(make_corpus(repeated(kVerse, 20), 0.1, &corpus).ok());
    Compute compute;
    auto trainer = made(c, corpus, compute);
    double first = trainer->validate(10);
    CHECK(first == doctest::Approx(std::log(corpus.vocabulary.n_tokens())).epsilon(0.05));
    run(trainer.get(), c.n_iters);
    trainer->use_best();
    CHECK(trainer->best_loss() < 0.4);
    CHECK(trainer->validate(1000) < 0.4);
    std::string text;
    REQUIRE(sample_text(trainer->network(), corpus.vocabulary, kVerse, 60, 1, "\n", &text).ok());
    CHECK(text.size() > 20);
    CHECK(text.find("sat on the") != std::string::npos);
    CHECK(text.find('\n') == std::string::npos);
}

TEST_CASE("train: without the mask the training loss goes to nothing") {
    TrainConfig c = small_config();
    c.n_iters = 300, c.dropout = 0, c.mask = false, c.n_layer = 1;
    std::string text;
    Random random(2);
    for (int i = 0; i < 3000; ++i)
        text += static_cast<char>('a' + random.next() % 8);  // nothing to be learnt but the leak
    Corpus corpus;
    REQUIRE(make_corpus(text, 0.1, &corpus).ok());
    Compute compute;
    auto trainer = made(c, corpus, compute);
    run(trainer.get(), c.n_iters);
    CHECK(trainer->evaluations().back().val < 0.5);  // log(8) is 2.08
}

// What `make models` rests on. The number is this run's on every compiler, CPU and thread count.
TEST_CASE("train: the same bits everywhere") {
    Corpus corpus;
    REQUIRE(make_corpus(repeated(kVerse, 5), 0.2, &corpus).ok());
    ::test::for_each_exact_compute([&](const Compute& compute) {
        auto trainer = made(small_config(), corpus, compute);
        run(trainer.get(), 4);
        CHECK(digest(*trainer) == 0x527f45c9bd701fd7u);
    });
}

TEST_CASE("train: texts and configurations that do not do are refused by name") {
    TrainConfig c = small_config();
    CHECK(message_of("", c) == "0 different characters; expected at least 2");
    CHECK(message_of("aaaa", c) == "1 different characters; expected at least 2");
    CHECK(message_of("ab\xff", c) == "not UTF-8 at byte 2");
    CHECK(message_of("abc", c).find("has 2 tokens; a context of 24 needs 25") != std::string::npos);
    CHECK(message_of(repeated("ab", 50), c).find("the held-back text") != std::string::npos);
    c.val = 0;
    CHECK(message_of(repeated("ab", 12) + "a", c).empty());
    c.n_head = 3;
    CHECK(message_of(kVerse, c).find("embd: found 32") == 0);
    c = small_config(), c.lr = NAN;
    CHECK(message_of(kVerse, c).find("lr: found nan") == 0);
}

TEST_CASE("train: an evaluation's training loss is the mean of the steps since the last") {
    Corpus corpus;
    REQUIRE(make_corpus(repeated(kVerse, 5), 0.2, &corpus).ok());
    Compute compute;
    TrainConfig c = small_config();
    c.n_iters = 20, c.eval_every = 8;
    auto trainer = made(c, corpus, compute);
    double sum = 0;
    size_t n = 0, n_best = 0;
    CHECK(!trainer->has_best());
    CHECK(!trainer->is_best());
    while (!trainer->is_done()) {
        REQUIRE(trainer->step().ok());
        sum += trainer->last_loss(), n++;
        const size_t i = trainer->iteration();
        if (i % 8 != 0 && i != 20) {
            CHECK(!trainer->is_best());
            continue;
        }
        const Evaluation& e = trainer->evaluations().back();
        CHECK(e.iteration == i);
        CHECK(e.train == doctest::Approx(sum / static_cast<double>(n)).epsilon(1e-12));
        CHECK(trainer->is_best() == (e.val == trainer->best_loss()));
        n_best += trainer->is_best();
        sum = 0, n = 0;
    }
    CHECK(trainer->evaluations().size() == 3);
    CHECK(n_best >= 2);  // a verse of which every step learns something
    // The best weights are those of the best evaluation.
    trainer->use_best();
    CHECK(trainer->validate(c.eval_windows) == trainer->best_loss());
}

TEST_CASE("train sample: another seed is another text, and ends before the stop") {
    Corpus corpus;
    REQUIRE(make_corpus(repeated(kVerse, 5), 0.2, &corpus).ok());
    Compute compute;
    auto trainer = made(small_config(), corpus, compute);
    auto text_of = [&](uint64_t seed, const std::string& stop) {
        std::string text;
        REQUIRE(
            sample_text(trainer->network(), corpus.vocabulary, "the", 200, seed, stop, &text).ok());
        return text;
    };
    const std::string one = text_of(1, "");
    CHECK(one.size() == 200);
    CHECK(one == text_of(1, ""));
    CHECK(one != text_of(2, ""));
    const size_t end = one.find("a");
    REQUIRE(end != std::string::npos);
    CHECK(text_of(1, "a") == one.substr(0, end));
}

TEST_CASE("train: the ends of what a configuration may be are taken") {
    TrainConfig c;
    c.n_layer = c.n_head = c.n_embd = c.n_ctx = c.window = c.n_batch = 1;
    c.n_iters = c.eval_every = c.eval_windows = 1, c.n_warmup = 0;
    c.lr = 1e-9f, c.lr_end = c.beta1 = c.beta2 = c.weight_decay = c.dropout = 0, c.clip = 1e-6f;
    c.val = 0;
    CHECK(check(c).ok());
    c.n_layer = 256, c.n_head = c.n_embd = c.n_ctx = 8192, c.window = 1024, c.n_batch = 4096;
    c.n_iters = c.eval_every = c.eval_windows = c.n_warmup = size_t{1} << 30;
    c.lr = 10, c.lr_end = 1, c.beta1 = 0.9999f, c.weight_decay = 10, c.dropout = 0.9f,
    c.clip = 1e6f;
    c.val = 0.9;
    CHECK(check(c).message() == std::string());
    CHECK(check(c).ok());
}

TEST_CASE("train: every number of a configuration is checked") {
    float TrainConfig::*const reals[] = {
        &TrainConfig::lr,           &TrainConfig::lr_end, &TrainConfig::beta1,  &TrainConfig::beta2,
        &TrainConfig::weight_decay, &TrainConfig::clip,   &TrainConfig::dropout};
    size_t TrainConfig::*const sizes[] = {&TrainConfig::n_layer,    &TrainConfig::n_head,
                                          &TrainConfig::n_embd,     &TrainConfig::n_ctx,
                                          &TrainConfig::window,     &TrainConfig::n_batch,
                                          &TrainConfig::n_iters,    &TrainConfig::n_warmup,
                                          &TrainConfig::eval_every, &TrainConfig::eval_windows};
    REQUIRE(check(TrainConfig()).ok());
    for (float wrong : {NAN, INFINITY, -INFINITY, -1e-3f, 1e30f}) {
        for (auto real : reals) {
            TrainConfig c;
            c.*real = wrong;
            CHECK(check(c).code() == Code::bad_argument);
        }
        TrainConfig c;
        c.val = static_cast<double>(wrong);
        CHECK(check(c).code() == Code::bad_argument);
    }
    for (auto beta : {&TrainConfig::beta1, &TrainConfig::beta2}) {
        TrainConfig c;
        c.*beta = 1;  // a mean that never takes anything in
        CHECK(check(c).code() == Code::bad_argument);
    }
    for (auto size : sizes) {
        TrainConfig c;
        c.*size = SIZE_MAX;
        CHECK(check(c).code() == Code::bad_argument);
    }
    TrainConfig c;
    c.architecture = static_cast<Architecture>(2);
    CHECK(check(c).code() == Code::bad_argument);
}

TEST_CASE("train: a loss that is no number stops the run, and changes nothing") {
    TrainConfig c = small_config();
    Corpus corpus;
    REQUIRE(make_corpus(kVerse, 0, &corpus).ok());
    Compute compute;
    auto trainer = made(c, corpus, compute);
    trainer->network().parameters().weights()[0] = NAN;
    uint64_t before = digest(*trainer);
    CHECK(trainer->step().code() == Code::bad_argument);
    CHECK(digest(*trainer) == before);
    CHECK(trainer->iteration() == 0);
}

TEST_CASE("train corpus: characters in the order of their code points, of any length") {
    Corpus corpus;
    const std::string text = "z\xf0\x9f\x98\x80 a\xc3\xa9\xe2\x82\xac a";
    REQUIRE(make_corpus(text, 0, &corpus).ok());
    CHECK(corpus.vocabulary.n_tokens() == 6);
    CHECK(corpus.ids == std::vector<int32_t>{2, 5, 0, 1, 3, 4, 0, 1});
    CHECK(corpus.vocabulary.decode(corpus.ids) == text);
    CHECK(corpus.n_train == 8);
}
