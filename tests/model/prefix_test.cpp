// Sessions whose sequences begin with another session's tokens.
#include <doctest/doctest.h>

#include <cstring>

#include "minigpt/generate.h"
#include "minigpt/model.h"
#include "tests/element_types.h"
#include "tests/model/random_model.h"

using namespace minigpt;

namespace {

constexpr size_t kTokens = 90;

Config config_of_test() {
    Config config = odd_configs()[0].config;
    config.n_ctx = 100;
    return config;
}

struct OpenModel {
    OpenModel() : image(make_image(config_of_test(), random_arrays(config_of_test(), 7))) {
        REQUIRE(model.open(image.data(), image.size()).ok());
    }
    Image image;
    Model model;
};

// Token i of a text of which all tests take stretches.
Row row(size_t i, uint32_t seq = 0) {
    return {static_cast<int32_t>(i * 7 % config_of_test().n_vocab), seq, true};
}

// The logits of tokens first ... end - 1, in calls of at most `most` rows.
std::vector<float> run(Session& session, size_t first, size_t end, uint32_t seq = 0,
                       size_t most = kTokens) {
    size_t n_vocab = config_of_test().n_vocab;
    std::vector<float> logits((end - first) * n_vocab);
    for (size_t at = first; at < end; at += most) {
        std::vector<Row> rows;
        for (size_t i = at; i < end && i < at + most; i++)
            rows.push_back(row(i, seq));
        REQUIRE(session.forward(rows.data(), rows.size(), &logits[(at - first) * n_vocab]).ok());
    }
    return logits;
}

bool ends_with(const std::vector<float>& all, const std::vector<float>& tail) {
    return memcmp(&all[all.size() - tail.size()], tail.data(), tail.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("prefix: sequences go on from it with the bits they have alone, in less memory") {
    OpenModel opened;
    for (ElementType type : test::computed({ElementType::f32, ElementType::f16, ElementType::q8})) {
        const KvType kv = type == ElementType::f32   ? KvType::f32
                          : type == ElementType::f16 ? KvType::f16
                                                     : KvType::q8;
        SessionOptions options;
        options.kv = kv;
        Session alone;
        REQUIRE(alone.create(opened.model, options).ok());
        std::vector<float> want = run(alone, 0, kTokens);
        for (size_t n_prefix : {0, 1, 31, 32, 33, 64, 89}) {
            CAPTURE(n_prefix);
            Session prefix, session;
            REQUIRE(prefix.create(opened.model, options).ok());
            run(prefix, 0, n_prefix);
            SessionOptions shared = options;
            shared.n_seq = 3;
            size_t whole_bytes, bytes;
            REQUIRE(session_bytes(opened.model, shared, &whole_bytes).ok());
            shared.prefix = &prefix;
            REQUIRE(session_bytes(opened.model, shared, &bytes).ok());
            CHECK((n_prefix < 32 ? bytes == whole_bytes : bytes < whole_bytes));
            REQUIRE(session.create(opened.model, shared).ok());
            CHECK(session.n_prefix() == n_prefix);
            CHECK(session.n_past(2) == n_prefix);
            // The prefix goes on elsewhere meanwhile.
            run(prefix, 3, 10);
            CHECK(ends_with(want, run(session, n_prefix, kTokens, 0)));
            CHECK(ends_with(want, run(session, n_prefix, kTokens, 1, 1)));
            CHECK(ends_with(want, run(session, n_prefix, kTokens, 2, 17)));
            REQUIRE(session.rewind(n_prefix, 1).ok());
            CHECK(ends_with(want, run(session, n_prefix, kTokens, 1)));
        }
    }
}

TEST_CASE("prefix: the whole context is there, and no more") {
    OpenModel opened;
    Session prefix, session;
    REQUIRE(prefix.create(opened.model, {}).ok());
    run(prefix, 0, 40);
    SessionOptions options;
    options.prefix = &prefix;
    REQUIRE(session.create(opened.model, options).ok());
    std::vector<float> logits = run(session, 40, 100);
    Row more = row(100);
    CHECK(session.forward(&more, 1, logits.data()).code() == Code::context_full);
}

TEST_CASE("prefix: what cannot be shared or rewound is refused") {
    OpenModel opened, other;
    Session prefix, session, never;
    REQUIRE(prefix.create(opened.model, {}).ok());
    run(prefix, 0, 40);
    auto refused = [&](const Model& model, SessionOptions options, const char* words) {
        Session refused_session;
        Status status = refused_session.create(model, options);
        CAPTURE(std::string(status.message()));
        CHECK(status.code() == Code::bad_argument);
        CHECK(strstr(status.message(), words) != nullptr);
    };
    SessionOptions options;
    options.prefix = &prefix;
    refused(other.model, options, "another model");
    if (!test::computed({ElementType::f16}).empty()) {
        options.kv = KvType::f16;
        refused(opened.model, options, "another type");
        options.kv = KvType::f32;
    }
    options.n_ctx = 39;
    refused(opened.model, options, "40 tokens; n_ctx is 39");
    options.n_ctx = 40;
    Session full;
    REQUIRE(full.create(opened.model, options).ok());
    CHECK(full.n_past() == 40);
    Row more = row(40);
    more.logits = false;
    CHECK(full.forward(&more, 1, nullptr).code() == Code::context_full);
    options.n_ctx = 0;
    REQUIRE(session.create(opened.model, options).ok());
    Status status = session.rewind(39);
    CHECK(status.code() == Code::bad_argument);
    CHECK(strstr(status.message(), "40") != nullptr);
    options.prefix = &session;
    refused(opened.model, options, "prefix itself");
    options.prefix = &never;
    refused(opened.model, options, "another model");
    options.prefix = &prefix;
    Row next = row(40);
    next.logits = false;
    REQUIRE(prefix.begin(&next, 1, nullptr).ok());
    refused(opened.model, options, "under way");
}

TEST_CASE("prefix: a generator's prompt begins with it, and gives what it gives without") {
    OpenModel opened;
    Tokenizer tokenizer;
    REQUIRE(tokenizer.open(opened.model).ok());
    std::vector<int32_t> prompt;
    for (size_t i = 0; i < 50; i++)
        prompt.push_back(row(i).id);
    Session prefix, shared, alone;
    REQUIRE(prefix.create(opened.model, {}).ok());
    run(prefix, 0, 45);
    SessionOptions options;
    options.prefix = &prefix;
    REQUIRE(shared.create(opened.model, options).ok());
    REQUIRE(alone.create(opened.model, {}).ok());
    std::vector<int32_t> ids[2];
    for (Session* session : {&shared, &alone}) {
        Generator generator;
        REQUIRE(generator.create(*session, tokenizer, {}).ok());
        for (int again = 0; again < 2; again++) {
            REQUIRE(generator.prompt(prompt.data(), prompt.size()).ok());
            for (Piece piece; generator.next(&piece).ok() && piece.finish == Finish::none;)
                ids[session == &alone].push_back(piece.id);
        }
    }
    CHECK(ids[0].size() > 20);
    CHECK(ids[0] == ids[1]);

    Generator generator;
    REQUIRE(generator.create(shared, tokenizer, {}).ok());
    CHECK(generator.prompt(prompt.data(), 45).code() == Code::bad_argument);
    GenerateOptions slide;
    slide.overflow = Overflow::slide;
    CHECK(generator.create(shared, tokenizer, slide).code() == Code::bad_argument);
}
