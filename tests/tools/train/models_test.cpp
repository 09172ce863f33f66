// The models that training ships.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "minigpt/generate.h"
#include "minigpt/minigpt.h"
#include "minigpt/ops.h"
#include "minigpt/verify.h"
#include "networks/returns_desk.h"
#include "tests/element_types.h"
#include "tests/quick.h"
#include "tests/temp_folder.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::networks;

namespace {

// A model at work: text in, logits or more text out.
struct Clerk {
    Model model;
    Tokenizer tokenizer;
    Session session;
    std::vector<float> logits;

    explicit Clerk(const char* path) {
        REQUIRE(model.open(path).ok());
        REQUIRE(tokenizer.open(model).ok());
        REQUIRE(session.create(model, {}).ok());
        logits.resize(model.config().n_vocab);
    }

    // The last n_ctx - `room` tokens of a text; their last row's logits.
    std::vector<int32_t> read(const std::string& text, size_t room) {
        std::vector<int32_t> ids(text.size());
        size_t n = 0;
        REQUIRE(tokenizer.encode(text, ids.data(), ids.size(), &n).ok());
        ids.resize(n);
        size_t most = model.config().n_ctx - room;
        if (n > most)
            ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(most));
        std::vector<Row> rows;
        for (int32_t id : ids)
            rows.push_back({id});
        rows.back().logits = true;
        REQUIRE(session.rewind(0).ok());
        REQUIRE(session.forward(rows.data(), rows.size(), logits.data()).ok());
        return ids;
    }

    double probability(const char* character) {
        double log_p = 0;
        REQUIRE(log_prob(&log_p, logits.data(), logits.size(), tokenizer.find(character)).ok());
        return std::exp(log_p);
    }

    // What is drawn after a text until the line ends, `room` characters at most.
    std::string line_after(const std::string& text, size_t room, uint64_t seed) {
        std::vector<int32_t> ids = read(text, room);
        GenerateOptions options;
        options.n_new = room;
        options.sampler.seed = seed;
        std::string_view stop = "\n";
        options.stops = &stop, options.n_stops = 1;
        Generator generator;
        REQUIRE(generator.create(session, tokenizer, options).ok());
        REQUIRE(generator.prompt(ids.data(), ids.size()).ok());
        std::string line;
        Piece piece;
        do {
            REQUIRE(generator.next(&piece).ok());
            line += piece.text;
        } while (piece.finish == Finish::none);
        return line;
    }
};

}  // namespace

TEST_CASE("models: the returns desk knows what the word far back decided") {
    if (!::test::can_run("models/returns-desk.mgpt"))
        return;
    Clerk clerk("models/returns-desk.mgpt");
    Compute compute;
    CHECK(verify(clerk.model, compute).ok());
    double sum = 0;
    size_t n = 0, n_right = 0;
    for (const Reply& reply : returns_desk_replies(4711, 200)) {  // not what it was trained on
        if (!reply.has_window() || n == 100)
            continue;
        n++;
        clerk.read("\n" + reply.opening(), 0);
        sum += clerk.probability(reply.is_past ? "w" : "y");
        std::string rest = clerk.line_after("\n" + reply.opening(), 20, n);
        n_right += judge_reply(reply.opening() + rest) == Verdict::right;
    }
    CHECK(n == 100);
    CHECK(sum / 100 >= 0.99);
    CHECK(n_right >= 99);
}

TEST_CASE("models: Shakespeare predicts the held-back tenth at 1.50 nats a character, in 1.5 MB") {
    std::string source = minigpt::test::outside_data("text/tinyshakespeare.txt");
    if (source.empty() || !::test::can_run("models/shakespeare.mgpt"))
        return;
    std::string why = too_slow();
    if (!why.empty()) {
        MESSAGE("skipped: the loss on 111,000 characters takes minutes " << why);
        return;
    }
    std::ifstream in(source, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(in), {});
    text = text.substr(text.size() * 9 / 10);
    size_t n_windows = (text.size() - 1) / 256;
    TempFolder folder;
    std::string path = folder / "text";
    std::ofstream(path, std::ios::binary) << text.substr(0, n_windows * 256 + 1);
    std::string score = minigpt::test::gpt2({"score", "-f", path, "--json"}).out;
    size_t at = score.find("\"nll\":");
    REQUIRE(at != std::string::npos);
    CHECK(std::stod(score.substr(at + 6)) <= 1.50);
    CHECK(std::filesystem::file_size("models/shakespeare.mgpt") <= 1500000);
}
