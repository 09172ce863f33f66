// gpt2 bench: that it runs, and that what it counts is what a model does. No test of speed.
#include "gpt2/bench.h"

#include <doctest/doctest.h>

#include "tests/element_types.h"
#include "tests/json.h"
#include "tests/model/random_model.h"
#include "tests/quick.h"
#include "tests/threads.h"
#include "tests/tools/gpt2/program.h"
#include "tests/tools/gpt2/small_models.h"

using namespace minigpt::test;
using minigpt::Arrays;
using minigpt::Config;
using minigpt::ElementType;
using minigpt::Image;
using minigpt::Model;
using minigpt::WriterOptions;

TEST_CASE("gpt2 bench: every measurement is there and positive") {
    if (!::test::can_run("models/shakespeare.mgpt"))
        return;
    if (is_quick()) {
        MESSAGE("skipped: an emulated program cannot start itself again");
        return;
    }
    Json json = Json::parse(gpt2({"bench", "-p", "20", "-n", "3", "-r", "2", "-t", "2", "-b", "1,3",
                                  "--depth", "0,7,127", "--json"})
                                .out);
    for (const char* name : {"prefill_tok_s", "decode_tok_s", "fma_peak_gflops", "read_gb_s",
                             "read_huge_gb_s", "prefill_of_peak", "decode_of_bandwidth",
                             "first_token_s", "peak_bytes", "prefill_gflop", "decode_bytes"}) {
        CAPTURE(name);
        CHECK(json[name].number() > 0);
    }
    for (const auto& range : json["spread"].members) {
        CAPTURE(range.first);
        double median = json[range.first].number();
        std::vector<double> ends = range.second.numbers<double>();
        REQUIRE(ends.size() == 2);
        CHECK(ends[0] <= median);
        CHECK(median <= ends[1]);
    }
    CHECK(json["threads"].number() == threads_of(2));
    CHECK(json["isa"].text != "");
    CHECK(json["model"].text == "the model inside gpt2");
    for (const char* name : {"batch", "depth"}) {
        for (const Json& each : json[name].elements)
            CHECK(each["tok_s"].number() > 0);
    }
    CHECK(json["batch"].size() == 2);
    CHECK(json["batch"][1]["n"].integer() == 3);
    CHECK(json["depth"].size() == 3);
    CHECK(json["depth"][2]["n"].integer() == 127);
    // A process holds more than its program's own weights.
    CHECK(json["peak_bytes"].number() > 1e6);
}

TEST_CASE("gpt2 bench: models of any kind, in a table too; what does not fit is cut and said") {
    if (is_quick()) {
        MESSAGE("skipped: an emulated program cannot start itself again");
        return;
    }
    SmallModels models;
    for (const std::string& path : {models.bytes, models.none}) {
        Ran ran = gpt2({"bench", "-m", path, "-r", "1", "-t", "1", "-b", "2", "--load"});
        CAPTURE(ran.err);
        CHECK(ran.exit_status == 0);
        CHECK(ran.err.find("gpt2: -p: 512 is cut to 16") != std::string::npos);
        CHECK(ran.err.find("gpt2: -n: 128 is cut to 16") != std::string::npos);
        for (const char* words :
             {"fma peak", "huge pages", "prefill 16", "decode 16", "decode, 2 together",
              "first token", "peak memory", "in huge pages"}) {
            CAPTURE(words);
            CHECK(ran.out.find(words) != std::string::npos);
        }
    }
}

TEST_CASE("gpt2 bench: what cannot be measured is refused") {
    SmallModels models;
    check_fails(gpt2({"bench", "-m", models.bytes, "--depth", "16"}), 1, {"--depth", "16", "15"});
    check_fails(gpt2({"bench", "-m", models.folder / "none.such"}), 1, {"none.such"});
    check_fails(gpt2({"bench", "-p", "0"}), 2, {"-p", "found 0"});
    check_fails(gpt2({"bench", "-r", "0"}), 2, {"-r", "found 0"});
    check_fails(gpt2({"bench", "-b", "0"}), 2, {"-b", "found 0"});
    check_fails(gpt2({"bench", "-b", "1,x"}), 2, {"-b", "\"x\""});
    check_fails(gpt2({"bench", "--batch", ""}), 2, {"--batch", "nothing"});
    check_fails(gpt2({"bench", "--depth", "99999999999999999999"}), 2, {"--depth"});
    check_fails(gpt2({"bench", "--temp", "1"}), 2, {"--temp", "not a flag of bench"});
}

TEST_CASE("bench: operations and bytes are counted from the model's own shapes") {
    SmallModels models;
    Model tied, untied;
    REQUIRE(tied.open(models.bytes.c_str()).ok());
    REQUIRE(untied.open(models.none.c_str()).ok());
    // Two layers of 24 wide with 40 hidden: c_attn, c_proj, c_fc, c_proj.
    double weights = 2.0 * (24 * 72 + 24 * 24 + 2 * 24 * 40);
    // 3 tokens see 1 + 2 + 3 keys, by 24 channels, twice.
    double attention = 2.0 * 6 * 24 * 2 * 2;
    CHECK(minigpt::gpt2::prefill_operations(tied, 3) == 2 * weights * 3 + attention + 2 * 24 * 259);
    CHECK(minigpt::gpt2::prefill_operations(untied, 3) ==
          2 * weights * 3 + attention + 2 * 24 * 28);

    // Panels are of 16 outputs: 72 are 80, 24 are 32, 40 are 48. Vectors are as long as they are.
    double matrices = 2.0 * 24 * (80 + 32 + 48) + 2.0 * 40 * 32;
    double vectors = 2.0 * (4 * 24 + 72 + 24 + 40 + 24) + 2 * 24;
    CHECK(minigpt::gpt2::decode_bytes(tied) == 4 * (matrices + vectors + 24 * 272));
    CHECK(minigpt::gpt2::decode_bytes(untied) == 4 * (matrices + vectors + 24 * 32));
}

TEST_CASE("bench: medians") {
    minigpt::gpt2::Samples samples;
    CHECK(samples.median() == 0);
    for (double value : {3.0, 1.0, 2.0})
        samples.add(value);
    CHECK(samples.median() == 2);
    samples.add(10);
    CHECK(samples.median() == 2.5);
    CHECK(samples.least() == 1);
    CHECK(samples.most() == 10);
}

TEST_CASE("bench: a decode past the probe is never shown without a word") {
    minigpt::gpt2::BenchResult result;
    result.n_prefill = result.n_decode = 1;
    result.prefill.add(1);
    result.fma.add(1e9);
    result.read_small.add(10e9);
    result.read_huge.add(20e9);
    result.decode_bytes = 1e9;
    struct {
        double tokens;
        bool loaded, doubtful;
    } cases[] = {
        {11.4, false, false}, {11.6, false, true}, {22.9, true, false}, {23.1, true, true}};
    for (const auto& c : cases) {
        result.loaded = c.loaded;
        result.decode.values = {c.tokens};
        CHECK((minigpt::gpt2::bench_text(result).find("the probe was disturbed") !=
               std::string::npos) == c.doubtful);
        CHECK(Json::parse(minigpt::gpt2::bench_json(result))["probe_doubtful"].boolean() ==
              c.doubtful);
    }
}

TEST_CASE("bench: a model's type is its matrices', though the token table of q4 is q8") {
    Config config;
    config.n_vocab = config.n_rows = 28;
    config.n_ctx = 16;
    config.n_embd = config.n_ff = 32;
    config.n_head = config.n_layer = 1;
    Arrays arrays = random_arrays(config, 3);
    for (ElementType type : ::test::computed()) {
        WriterOptions options;
        options.type = type;
        Image image = make_image(config, arrays, options);
        Model model;
        REQUIRE(model.open(image.data(), image.size()).ok());
        CHECK(minigpt::gpt2::matrix_type(model) == type);
    }
}
