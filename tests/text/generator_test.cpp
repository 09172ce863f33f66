#include "minigpt/generate.h"

#include <doctest/doctest.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/allocation_trap.h"
#include "tests/model/random_model.h"
#include "tests/text/gpt2_vocabulary.h"

using namespace minigpt;
using Ids = std::vector<int32_t>;

namespace {

// All bytes, some of them joined, and an end of text: its id is the last.
Vocabulary byte_vocabulary() {
    Vocabulary v;
    v.add_bytes();
    v.merge("\xc3", "\xa9");
    v.merge("t", "h");
    v.merge("th", "e");
    v.eos = v.add_special("<|endoftext|>");
    return v;
}

constexpr uint32_t kVocab = 260;

// A random model, a session on it, and a tokenizer.
struct Fixture {
    Image image;
    Model model;
    Session session;
    Vocabulary vocabulary = byte_vocabulary();
    Tokenizer tokenizer;

    static Config config(uint32_t n_ctx) {
        Config c;
        c.n_vocab = c.n_rows = kVocab;
        c.n_ctx = n_ctx;
        c.n_embd = 16;
        c.n_head = 2;
        c.n_layer = 2;
        c.n_ff = 32;
        return c;
    }

    explicit Fixture(uint32_t n_ctx, size_t n_seq = 1)
        : image(make_image(config(n_ctx), random_arrays(config(n_ctx), 7))) {
        Status status = model.open(image.data(), image.size());
        REQUIRE_MESSAGE(status.ok(), status.message());
        SessionOptions options;
        options.n_seq = n_seq;
        options.max_rows = 3;
        REQUIRE(session.create(model, options).ok());
        REQUIRE(vocabulary.build(&tokenizer).ok());
    }
};

struct Result {
    Ids ids;
    std::string text;
    Finish finish = Finish::none;
};

Result run(Session& session, const Tokenizer& tokenizer, const GenerateOptions& options,
           const Ids& prompt) {
    Generator generator;
    Status status = generator.create(session, tokenizer, options);
    REQUIRE_MESSAGE(status.ok(), status.message());
    status = generator.prompt(prompt.data(), prompt.size());
    REQUIRE_MESSAGE(status.ok(), status.message());
    Result result;
    while (result.finish == Finish::none) {
        Piece piece;
        status = generator.next(&piece);
        REQUIRE_MESSAGE(status.ok(), status.message());
        if (piece.id >= 0)
            result.ids.push_back(piece.id);
        result.text += piece.text;
        result.finish = piece.finish;
        REQUIRE(result.ids.size() < 10000);
    }
    Piece after;
    CHECK(generator.next(&after).ok());
    CHECK(after.finish == result.finish);
    CHECK(after.id == -1);
    CHECK(after.text.empty());
    return result;
}

GenerateOptions seeded(size_t n_new, uint64_t seed = 3) {
    GenerateOptions o;
    o.n_new = n_new;
    o.sampler.seed = seed;
    o.ignore_eos = true;
    return o;
}

Ids some_ids(size_t n) {
    Ids ids;
    for (size_t i = 0; i < n; i++)
        ids.push_back(static_cast<int32_t>(i * 37 % 250));
    return ids;
}

// What the header promises, on a session of its own: the context grows to n_ctx tokens; then it
// is the last n_ctx / 2, in a session that knows no others.
Ids slide_by_hand(const Model& model, Ids context, const GenerateOptions& o) {
    size_t n_ctx = model.config().n_ctx;
    Sampler sampler;
    REQUIRE(sampler.create(o.sampler, kVocab).ok());
    std::vector<float> logits(kVocab);
    Ids made;
    while (made.size() < o.n_new) {
        if (context.size() > n_ctx) {
            size_t n_kept = std::max<size_t>(n_ctx / 2, 1);
            context.erase(context.begin(), context.end() - static_cast<long>(n_kept));
        }
        Session fresh;
        REQUIRE(fresh.create(model, SessionOptions()).ok());
        std::vector<Row> rows;
        for (int32_t id : context)
            rows.push_back(Row{id, 0, false});
        rows.back().logits = true;
        REQUIRE(fresh.forward(rows.data(), rows.size(), logits.data()).ok());
        made.push_back(sampler.sample(logits.data(), context.data(), context.size()));
        context.push_back(made.back());
    }
    return made;
}

}  // namespace

TEST_CASE("generator: makes n tokens, and their text in whole") {
    Fixture f(64);
    Result r = run(f.session, f.tokenizer, seeded(40), some_ids(3));
    CHECK(r.ids.size() == 40);
    CHECK(r.finish == Finish::length);
    CHECK(r.text == decode(f.tokenizer, r.ids));
    CHECK(run(f.session, f.tokenizer, seeded(40), some_ids(3)).ids == r.ids);
    CHECK(run(f.session, f.tokenizer, seeded(40, 4), some_ids(3)).ids != r.ids);
    CHECK(run(f.session, f.tokenizer, seeded(0), some_ids(3)).ids.empty());
    CHECK(run(f.session, f.tokenizer, seeded(1), some_ids(3)).ids == Ids{r.ids[0]});
}

TEST_CASE("generator: a context of n yields n + 1 - prompt tokens, and refuses n + 1") {
    for (uint32_t n_ctx : {1u, 2u, 8u, 17u}) {
        Fixture f(n_ctx);
        for (size_t n : {size_t{1}, size_t{n_ctx} - 1, size_t{n_ctx}}) {
            if (n == 0)
                continue;
            Result r = run(f.session, f.tokenizer, seeded(1000), some_ids(n));
            CHECK(r.ids.size() == n_ctx + 1 - n);
            CHECK(r.finish == Finish::context_full);
            CHECK(r.text == decode(f.tokenizer, r.ids));
            // The last one that fits is reported as asked for, if it was.
            r = run(f.session, f.tokenizer, seeded(n_ctx + 1 - n), some_ids(n));
            CHECK(r.finish == Finish::length);
        }
        Generator g;
        REQUIRE(g.create(f.session, f.tokenizer, seeded(1)).ok());
        Status status = g.prompt(some_ids(n_ctx + 1).data(), n_ctx + 1);
        CHECK(status.code() == Code::context_full);
    }
}

TEST_CASE("generator: a slide goes on as a fresh session given the last half") {
    for (uint32_t n_ctx : {1u, 2u, 3u, 8u, 17u}) {
        Fixture f(n_ctx);
        for (size_t n : {size_t{1}, size_t{n_ctx}}) {
            GenerateOptions o = seeded(45);
            o.overflow = Overflow::slide;
            o.sampler.repeat_penalty = 1.3f;
            Result r = run(f.session, f.tokenizer, o, some_ids(n));
            CHECK(r.finish == Finish::length);
            CHECK(r.ids == slide_by_hand(f.model, some_ids(n), o));
            CHECK(r.text == decode(f.tokenizer, r.ids));
        }
    }
}

TEST_CASE("generator: without the cache the tokens are the same") {
    Fixture f(16);
    for (Overflow overflow : {Overflow::stop, Overflow::slide}) {
        GenerateOptions o = seeded(40);
        o.overflow = overflow;
        Result cached = run(f.session, f.tokenizer, o, some_ids(5));
        o.use_cache = false;
        Result plain = run(f.session, f.tokenizer, o, some_ids(5));
        CHECK(cached.ids == plain.ids);
        CHECK(cached.finish == plain.finish);
    }
}

TEST_CASE("generator: without the cache nothing in it is used") {
    Fixture f(16);
    GenerateOptions o = seeded(8);
    Ids expected = run(f.session, f.tokenizer, o, some_ids(5)).ids, made;
    o.use_cache = false;
    Generator g;
    REQUIRE(g.create(f.session, f.tokenizer, o).ok());
    REQUIRE(g.prompt(some_ids(5).data(), 5).ok());
    while (made.size() < 8) {
        Piece piece;
        REQUIRE(g.next(&piece).ok());
        made.push_back(piece.id);
        // As many other tokens in their place.
        size_t n = f.session.n_past();
        REQUIRE(f.session.rewind(0).ok());
        std::vector<Row> rows(n, Row{9, 0, false});
        REQUIRE(f.session.forward(rows.data(), n, nullptr).ok());
    }
    CHECK(made == expected);
}

TEST_CASE("generator: ends before the end of text, unless it is to be ignored") {
    Fixture f(64);
    Ids all = run(f.session, f.tokenizer, seeded(40), some_ids(3)).ids;
    for (size_t at : {size_t{0}, size_t{7}, size_t{39}}) {
        Vocabulary v = byte_vocabulary();
        v.eos = all[at];
        Tokenizer t;
        REQUIRE(v.build(&t).ok());
        GenerateOptions o = seeded(40);
        CHECK(run(f.session, t, o, some_ids(3)).ids == all);
        o.ignore_eos = false;
        Result r = run(f.session, t, o, some_ids(3));
        size_t first = static_cast<size_t>(std::find(all.begin(), all.end(), v.eos) - all.begin());
        Ids expected(all.begin(), all.begin() + static_cast<long>(first));
        CHECK(r.ids == expected);
        CHECK(r.text == decode(t, expected));
        CHECK(r.finish == Finish::eos);
    }
}

TEST_CASE("generator: ends before a stop text, also one over several tokens") {
    Fixture f(128);
    std::string all = run(f.session, f.tokenizer, seeded(100), some_ids(3)).text;
    for (size_t at : {size_t{0}, size_t{1}, size_t{20}, all.size() - 5}) {
        for (size_t n : {size_t{1}, size_t{2}, size_t{5}}) {
            std::string stop = all.substr(at, n);
            std::string_view stops[] = {"no such text", stop};
            GenerateOptions o = seeded(100);
            o.stops = stops;
            o.n_stops = 2;
            Result r = run(f.session, f.tokenizer, o, some_ids(3));
            CHECK(r.finish == Finish::stop_text);
            CHECK(r.text == all.substr(0, all.find(stop)));
        }
    }
    // One that begins and never ends is flushed.
    std::string open = all.substr(all.size() - 4) + "never";
    std::string_view stops[] = {open};
    GenerateOptions o = seeded(100);
    o.stops = stops;
    o.n_stops = 1;
    Result r = run(f.session, f.tokenizer, o, some_ids(3));
    CHECK(r.finish == Finish::length);
    CHECK(r.text == all);
}

TEST_CASE("generator: an empty prompt begins with the end of text, where there is one") {
    Fixture f(16);
    Ids eos = {f.tokenizer.eos()};
    CHECK(run(f.session, f.tokenizer, seeded(9), {}).ids ==
          run(f.session, f.tokenizer, seeded(9), eos).ids);
    Tokenizer none;
    Generator g;
    REQUIRE(g.create(f.session, none, seeded(9)).ok());
    CHECK(g.prompt(nullptr, 0).code() == Code::bad_argument);
}

TEST_CASE("generator: without a vocabulary it gives ids alone") {
    Fixture f(32);
    Tokenizer none;
    Result r = run(f.session, none, seeded(20), some_ids(2));
    CHECK(r.ids == run(f.session, f.tokenizer, seeded(20), some_ids(2)).ids);
    CHECK(r.text.empty());
}

TEST_CASE("generator: a prompt starts over, seed included, in its own sequence") {
    Fixture f(32, 2);
    GenerateOptions o = seeded(6);
    o.seq = 1;
    Generator g;
    REQUIRE(g.create(f.session, f.tokenizer, o).ok());
    Ids first, second;
    for (Ids* ids : {&first, &second}) {
        REQUIRE(g.prompt(some_ids(4).data(), 4).ok());
        for (int i = 0; i < 5; i++) {
            Piece piece;
            REQUIRE(g.next(&piece).ok());
            ids->push_back(piece.id);
        }
    }
    CHECK(first == second);
    CHECK(f.session.n_past(0) == 0);
    CHECK(f.session.n_past(1) == 8);
}

TEST_CASE("generator: allocates nothing after create") {
    if (!allocations_are_counted()) {
        MESSAGE("skipped: allocations are not counted under a sanitizer");
        return;
    }
    Fixture f(16);
    GenerateOptions o = seeded(60);
    std::string_view stops[] = {"no such text"};
    o.stops = stops;
    o.n_stops = 1;
    o.overflow = Overflow::slide;
    o.sampler.top_k = 50;
    o.sampler.top_p = 0.9f;
    o.sampler.repeat_penalty = 1.1f;
    Ids prompt = some_ids(4);
    Generator g;
    REQUIRE(g.create(f.session, f.tokenizer, o).ok());
    size_t before = n_allocations(), n_pieces = 0;
    Status status = g.prompt(prompt.data(), prompt.size());
    Piece piece;
    while (status.ok() && piece.finish == Finish::none) {
        status = g.next(&piece);
        n_pieces++;
    }
    CHECK(n_allocations() == before);
    CHECK(status.ok());
    CHECK(n_pieces == 60);
}

TEST_CASE("generator: a prompt goes on from the session's prefix, with a token at least") {
    Fixture f(16);
    Result alone = run(f.session, f.tokenizer, seeded(6), some_ids(5));
    Session prefix, session;
    REQUIRE(prefix.create(f.model, {}).ok());
    for (int32_t id : some_ids(3)) {
        Row row = {id, 0, false};
        REQUIRE(prefix.forward(&row, 1, nullptr).ok());
    }
    SessionOptions options;
    options.prefix = &prefix;
    REQUIRE(session.create(f.model, options).ok());
    CHECK(run(session, f.tokenizer, seeded(6), some_ids(5)).ids == alone.ids);
    Generator g;
    REQUIRE(g.create(session, f.tokenizer, seeded(6)).ok());
    CHECK(std::string(g.prompt(some_ids(3).data(), 3).message()) ==
          "the prompt's length is 3; expected more than the prefix's 3");
}

TEST_CASE("generator: what cannot be is refused by name") {
    Fixture f(8);
    Generator g;
    Piece piece;
    CHECK(g.next(&piece).code() == Code::bad_argument);
    CHECK(g.prompt(nullptr, 0).code() == Code::bad_argument);
    GenerateOptions o;
    o.seq = 1;
    CHECK(std::string(g.create(f.session, f.tokenizer, o).message()) ==
          "seq: 1; the session has 1");
    o = GenerateOptions();
    o.sampler.top_p = 2;
    CHECK(std::string(g.create(f.session, f.tokenizer, o).message()) ==
          "top_p: 2, expected 0 to 1");
    o = GenerateOptions();
    std::string_view stops[] = {""};
    o.stops = stops;
    o.n_stops = 1;
    CHECK(std::string(g.create(f.session, f.tokenizer, o).message()) == "stop text 0 is empty");
    CHECK(std::string(g.create(f.session, gpt2_tokenizer(), GenerateOptions()).message()) ==
          "tokenizer: n_tokens is 50257, but n_vocab is 260");
    REQUIRE(g.create(f.session, f.tokenizer, GenerateOptions()).ok());
    CHECK(g.next(&piece).code() == Code::bad_argument);
    for (int32_t bad : {-1, 260, 1 << 30}) {
        Ids ids = {1, bad};
        CHECK(g.prompt(ids.data(), ids.size()).code() == Code::bad_id);
    }
}

TEST_CASE("generator: in the caller's memory it is the same and allocates nothing") {
    Fixture f(16);
    GenerateOptions o = seeded(40);
    std::string_view stops[] = {"no such text", "nor this"};
    o.stops = stops;
    o.n_stops = 2;
    o.overflow = Overflow::slide;
    o.sampler.top_k = 50;
    o.sampler.top_p = 0.9f;
    Result expected = run(f.session, f.tokenizer, o, some_ids(4));
    size_t bytes = 0;
    REQUIRE(generator_bytes(f.session, f.tokenizer, o, &bytes).ok());
    Image memory(bytes + 64);
    // What lies behind it stays.
    memset(memory.data(), 0x5a, memory.size());
    o.memory = memory.data();
    o.memory_bytes = bytes;
    size_t before = n_allocations();
    {
        Generator g;
        REQUIRE(g.create(f.session, f.tokenizer, o).ok());
        // Made again in the same place, and moved.
        REQUIRE(g.create(f.session, f.tokenizer, o).ok());
        Generator moved = std::move(g);
        Piece piece;
        int32_t ids[4] = {};
        CHECK(g.next(&piece).code() == Code::bad_argument);
        g = std::move(moved);
        REQUIRE(g.prompt(ids, 4).ok());
        for (int i = 0; i < 20; i++)
            REQUIRE(g.next(&piece).ok());
        if (allocations_are_counted())
            CHECK(n_allocations() == before);
    }
    Result found = run(f.session, f.tokenizer, o, some_ids(4));
    CHECK(found.ids == expected.ids);
    CHECK(found.text == expected.text);
    for (size_t i = bytes; i < memory.size(); i++)
        REQUIRE(memory.data()[i] == 0x5a);

    Generator g;
    o.memory_bytes = bytes - 1;
    Status status = g.create(f.session, f.tokenizer, o);
    CHECK(status.code() == Code::out_of_memory);
    CHECK(std::string(status.message()) == std::to_string(bytes - 1) +
                                               " bytes were given; the generator needs " +
                                               std::to_string(bytes));
    o.memory = memory.data() + 8;
    o.memory_bytes = bytes;
    CHECK(g.create(f.session, f.tokenizer, o).code() == Code::bad_argument);
}

TEST_CASE("generator: the longest token after three bytes of a character fits in the memory") {
    Vocabulary v;
    v.add_bytes();
    v.merge("\xf0", "\x9f");
    const int32_t open = v.merge("\xf0\x9f", "\x98");
    int32_t longest = -1;
    std::string x = "x";
    for (size_t n : {1, 2, 4, 8, 16, 16, 8, 4, 2}) {  // 62 in all
        longest = v.merge(x, std::string(n, 'x'));
        x += std::string(n, 'x');
    }
    v.eos = v.add_special("<|endoftext|>");
    Tokenizer tokenizer;
    REQUIRE(v.build(&tokenizer).ok());
    REQUIRE(tokenizer.token(longest).size() == 62);
    // A model that says one of the two at a time, each as likely as the other.
    Config config = Fixture::config(64);
    config.n_vocab = config.n_rows = static_cast<uint32_t>(tokenizer.n_tokens());
    Arrays arrays = random_arrays(config, 7);
    for (float& w : arrays["ln_f.weight"])
        w = 0;
    for (float& b : arrays["ln_f.bias"])
        b = 0;
    arrays["ln_f.bias"][0] = 10;
    for (size_t id = 0; id < config.n_vocab; id++) {
        bool is_said = id == static_cast<size_t>(open) || id == static_cast<size_t>(longest);
        arrays["wte.weight"][id * config.n_embd] = is_said ? 10 : -10;
    }
    Image image = make_image(config, arrays);
    Model model;
    REQUIRE(model.open(image.data(), image.size()).ok());
    Session session;
    REQUIRE(session.create(model, SessionOptions()).ok());
    GenerateOptions o = seeded(50);
    size_t bytes = 0;
    REQUIRE(generator_bytes(session, tokenizer, o, &bytes).ok());
    Image memory(bytes + 64);
    memset(memory.data(), 0x5a, memory.size());
    o.memory = memory.data();
    o.memory_bytes = bytes;
    Result result = run(session, tokenizer, o, {0});
    CHECK(result.text == decode(tokenizer, result.ids));
    CHECK(result.text.find("\xf0\x9f\x98" + x) != std::string::npos);
    for (size_t i = bytes; i < memory.size(); i++)
        REQUIRE(memory.data()[i] == 0x5a);
}

TEST_CASE("generator: a second prompt has nothing of what the first held back") {
    Fixture f(64);
    Result all = run(f.session, f.tokenizer, seeded(40), some_ids(3));
    size_t n_held[2] = {0, 0};
    for (size_t with_stops : {0, 1}) {
        for (size_t n = 1; n < 40; n++) {
            std::string made =
                decode(f.tokenizer, Ids(all.ids.begin(), all.ids.begin() + static_cast<long>(n)));
            // It begins with the last byte made, and never ends.
            std::string open = made.substr(made.size() - 1) + "never";
            std::string_view stop = open;
            GenerateOptions o = seeded(40);
            o.stops = &stop;
            o.n_stops = with_stops;
            Generator g;
            REQUIRE(g.create(f.session, f.tokenizer, o).ok());
            std::string text;
            Piece piece;
            REQUIRE(g.prompt(some_ids(3).data(), 3).ok());
            for (size_t i = 0; i < n; i++) {
                REQUIRE(g.next(&piece).ok());
                text += piece.text;
            }
            n_held[with_stops] += text.size() < made.size();
            text.clear();
            REQUIRE(g.prompt(some_ids(3).data(), 3).ok());
            do {
                REQUIRE(g.next(&piece).ok());
                text += piece.text;
            } while (piece.finish == Finish::none);
            CHECK(text == all.text);
        }
    }
    CHECK(n_held[0] > 0);
    CHECK(n_held[1] == 39);
}

TEST_CASE("generator: logits that are not finite are an error, never a token") {
    Config config = Fixture::config(16);
    Arrays arrays = random_arrays(config, 7);
    for (float& x : arrays.at("wpe.weight"))
        x = 3e38f;
    Image image = make_image(config, arrays);
    Model model;
    REQUIRE(model.open(image.data(), image.size()).ok());
    Session session;
    REQUIRE(session.create(model, {}).ok());
    for (float temperature : {0.0f, 1.0f}) {
        GenerateOptions o = seeded(5);
        o.sampler.temperature = temperature;
        Generator g;
        Piece piece;
        Tokenizer none;
        REQUIRE(g.create(session, none, o).ok());
        REQUIRE(g.prompt(some_ids(3).data(), 3).ok());
        for (int again = 0; again < 2; again++) {
            Status status = g.next(&piece);
            CHECK(status.code() == Code::bad_file);
            CHECK(std::string(status.message()) ==
                  "logits at position 2: 260 of 260 are not finite; the weights are broken");
            CHECK(piece.id == -1);
        }
    }
}

TEST_CASE("generator: check_logits finds each that is not finite, and takes all that are") {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    float most = std::numeric_limits<float>::max(),
          least = std::numeric_limits<float>::denorm_min();
    for (size_t n = 1; n < 20; n++) {
        std::vector<float> logits(n);
        for (size_t i = 0; i < n; i++)
            logits[i] = std::vector<float>{0, -0.0f, most, -most, least, -least, 1}[i % 7];
        CHECK(check_logits(logits.data(), n, 0).ok());
        for (size_t i = 0; i < n; i++) {
            for (float bad : {kInf, -kInf, std::nanf(""), -std::nanf("")}) {
                float good = logits[i];
                logits[i] = bad;
                Status status = check_logits(logits.data(), n, 7);
                CHECK(status.code() == Code::bad_file);
                CHECK(std::string(status.message()) ==
                      "logits at position 7: 1 of " + std::to_string(n) +
                          " are not finite; the weights are broken");
                logits[i] = good;
            }
        }
    }
    CHECK(check_logits(nullptr, 1, 0).code() == Code::bad_argument);
}

TEST_CASE("generator: null pointers and unknown choices are refused by name") {
    Fixture f(8);
    Generator g;
    GenerateOptions o;
    o.n_stops = 1;
    CHECK(std::string(g.create(f.session, f.tokenizer, o).message()) ==
          "stops: a null pointer, n_stops is 1");
    std::string_view stops[] = {{}};
    o.stops = stops;
    CHECK(g.create(f.session, f.tokenizer, o).code() == Code::bad_argument);
    o = GenerateOptions();
    o.overflow = static_cast<Overflow>(2);
    CHECK(g.create(f.session, f.tokenizer, o).code() == Code::bad_argument);
    CHECK(generator_bytes(f.session, f.tokenizer, {}, nullptr).code() == Code::bad_argument);
    Session none;
    CHECK(g.create(none, f.tokenizer, {}).code() == Code::bad_argument);
    REQUIRE(g.create(f.session, f.tokenizer, {}).ok());
    CHECK(std::string(g.prompt(nullptr, 3).message()) == "ids: a null pointer, n_ids is 3");
    REQUIRE(g.prompt(some_ids(3).data(), 3).ok());
    CHECK(g.next(nullptr).code() == Code::bad_argument);
    Piece piece;
    CHECK(g.next(&piece).ok());
}
