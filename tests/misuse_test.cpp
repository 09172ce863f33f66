// Objects that are used before they are made answer harmlessly.
#include <doctest/doctest.h>

#include <string>

#include "minigpt/minigpt.h"
#include "tests/model/random_model.h"

using namespace minigpt;

TEST_CASE("misuse: a model that is not open has no tensors, no tests and no config") {
    Model model;
    Compute compute;
    CHECK(model.check_weights(compute).code() == Code::bad_argument);
    CHECK(model.check_sections(compute).code() == Code::bad_argument);
    CHECK(model.check_tensor(0, compute).code() == Code::bad_argument);
    CHECK(model.n_tensors() == 0);
    CHECK(model.n_self_tests() == 0);
    for (size_t index : {size_t{0}, size_t{1}, SIZE_MAX}) {
        CHECK(model.tensor(index).data == nullptr);
        CHECK(model.tensor(index).bytes == 0);
        CHECK(model.self_test(index).n_ids == 0);
    }
    size_t n_bytes = 1;
    CHECK(model.tokenizer(&n_bytes) == nullptr);
    CHECK(n_bytes == 0);
    size_t bytes;
    CHECK(session_bytes(model, {}, &bytes).code() == Code::bad_argument);
    CHECK(verify(model, compute).code() == Code::bad_argument);
}

TEST_CASE("misuse: a session, a sampler, a writer and a generator that are not created") {
    Session session;
    bool more;
    Row row = {0};
    CHECK(session.forward(&row, 1, nullptr).code() == Code::bad_argument);
    CHECK(session.begin(&row, 1, nullptr).code() == Code::bad_argument);
    CHECK(session.step(1, &more).code() == Code::bad_argument);
    CHECK(session.rewind(0).code() == Code::bad_argument);
    session.cancel();
    CHECK(session.n_past() == 0);
    CHECK(session.n_ctx() == 0);
    CHECK(session.config().n_vocab == 0);
    Sampler sampler;
    float logits[2] = {0, 1};
    sampler.restart();
    CHECK(sampler.sample(logits, nullptr, 0) == -1);
    Writer writer;
    CHECK(writer.finish().code() == Code::bad_argument);
    CHECK(writer.add("wte.weight", ArrayView::vector(logits, 2)).code() == Code::bad_argument);
    Generator generator;
    Piece piece;
    CHECK(generator.prompt(nullptr, 0).code() == Code::bad_argument);
    CHECK(generator.next(&piece).code() == Code::bad_argument);
}

TEST_CASE("misuse: a writer refuses an empty path and tables that are not there") {
    Config config;
    config.n_vocab = config.n_rows = 16;
    config.n_ctx = config.n_embd = config.n_ff = 16;
    config.n_head = config.n_layer = 1;
    WriterOptions options;
    CHECK(Writer().open("", config, options).code() == Code::bad_argument);
    CHECK(Writer().open(nullptr, config, options).code() == Code::bad_argument);
    options.tokenizer_bytes = 200;
    uint64_t bytes;
    REQUIRE(Writer::image_bytes(config, options, &bytes).ok());
    Image image(static_cast<size_t>(bytes));
    CHECK(Writer().open(image.data(), image.size(), config, options).code() == Code::bad_argument);
}
