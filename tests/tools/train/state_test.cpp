// A run in a file.
#include "train/state.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "tests/temp_folder.h"
#include "tests/tools/networks/small_run.h"

using namespace minigpt;
using namespace minigpt::networks;
using namespace minigpt::test;
using minigpt::train::State;

TEST_CASE("train state: a run goes on from a file to the same bits, wherever it was left") {
    const std::string text = repeated(kVerse, 10);
    Corpus corpus;
    REQUIRE(make_corpus(text, 0.1, &corpus).ok());
    Compute compute;
    auto whole = made(small_config(), corpus, compute);
    run(whole.get(), 40);
    TempFolder folder;
    for (size_t left : {0, 1, 15, 29, 40}) {
        CAPTURE(left);
        auto first = made(small_config(), corpus, compute);
        run(first.get(), left);
        REQUIRE(State::of(*first, text).write(folder / "state").ok());
        State state;
        REQUIRE(state.read(folder / "state").ok());
        CHECK(state.check_text(text).ok());
        CHECK_FALSE(state.check_text(text + " ").ok());
        Vocabulary vocabulary;
        REQUIRE(state.vocabulary(&vocabulary).ok());
        CHECK(vocabulary.n_tokens() == corpus.vocabulary.n_tokens());
        auto second = made(state.config(), corpus, compute);
        REQUIRE(state.restore(second.get()).ok());
        CHECK(second->iteration() == left);
        run(second.get(), 40);
        REQUIRE(State::of(*second, text).write(folder / "state").ok());
        REQUIRE(State::of(*whole, text).write(folder / "whole").ok());
        std::ifstream a(folder / "state", std::ios::binary), b(folder / "whole", std::ios::binary);
        CHECK(std::string(std::istreambuf_iterator<char>(a), {}) ==
              std::string(std::istreambuf_iterator<char>(b), {}));
    }
}

TEST_CASE("train state: damaged, cut or of another shape is refused") {
    const std::string text = repeated(kVerse, 10);
    Corpus corpus;
    REQUIRE(make_corpus(text, 0.1, &corpus).ok());
    Compute compute;
    TrainConfig c = small_config();
    c.n_layer = 1, c.n_embd = 4;
    auto trainer = made(c, corpus, compute);
    TempFolder folder;
    REQUIRE(State::of(*trainer, text).write(folder / "state").ok());
    std::ifstream in(folder / "state", std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    auto refused = [&](const std::string& other) {
        std::ofstream(folder / "other", std::ios::binary) << other;
        State state;
        return !state.read(folder / "other").ok();
    };
    CHECK_FALSE(refused(bytes));
    for (size_t n = 0; n < bytes.size(); n += n < 300 ? 7 : 997)
        CHECK(refused(bytes.substr(0, n)));
    for (size_t at = 0; at < bytes.size(); at += at < 300 ? 7 : 997) {
        std::string other = bytes;
        other[at] = static_cast<char>(other[at] ^ 4);
        CHECK(refused(other));
    }
    State state;
    REQUIRE(state.read(folder / "state").ok());
    c.n_embd = 8;
    CHECK_FALSE(state.restore(made(c, corpus, compute).get()).ok());
}
