// gpt2 and convert together against what others computed (float64 or published).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "minigpt/minigpt.h"
#include "tests/element_types.h"
#include "tests/json.h"
#include "tests/quick.h"
#include "tests/temp_folder.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt::test;
namespace fs = std::filesystem;

namespace {

std::string converted(const std::string& source, const TempFolder& folder) {
    std::string model = folder / "model.mgpt";
    Ran ran = run_program("convert", {source, "-o", model});
    CAPTURE(ran.err);
    REQUIRE(ran.exit_status == 0);
    return model;
}

std::string joined(const std::vector<int>& ids) {
    std::string out;
    for (int id : ids)
        out += (out.empty() ? "" : ",") + std::to_string(id);
    return out;
}

Json json_of(const std::vector<std::string>& args) {
    Ran ran = gpt2(args);
    CAPTURE(ran.err);
    REQUIRE(ran.exit_status == 0);
    return Json::parse(ran.out);
}

// max |a - b| / max |b|
double relative_error(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    double difference = 0, scale = 0;
    for (size_t i = 0; i < a.size(); i++) {
        difference = std::max(difference, std::fabs(a[i] - b[i]));
        scale = std::max(scale, std::fabs(b[i]));
    }
    return difference / scale;
}

std::string greedy_text(const std::string& model, const std::string& prompt, size_t n) {
    Ran ran = gpt2({"-m", model, "-p", prompt, "--temp", "0", "-n", std::to_string(n)});
    CAPTURE(ran.err);
    CHECK(ran.exit_status == 0);
    return ran.out;
}

// Logits, argmax and log probability of each position, greedy ids, the text's ids: as far as
// expected.json has them.
void check_case(const std::string& source) {
    CAPTURE(source);
    TempFolder folder;
    std::string model = converted(source, folder);
    if (!::test::can_run(model))
        return;
    Json truth = Json::read(source + "/expected.json");
    std::vector<int> ids = truth["prompt_ids"].numbers<int>();

    Json all = json_of({"logits", "-m", model, "--ids", joined(ids), "--all"})["logits"];
    REQUIRE(all.size() == ids.size());
    CHECK(relative_error(all.elements.back().numbers<double>(),
                         truth["logits_last"].numbers<double>()) < 1e-4);
    for (size_t i = 0; truth.has("argmax") && i < ids.size(); i++) {
        std::vector<double> row = all.elements[i].numbers<double>();
        CHECK(std::max_element(row.begin(), row.end()) - row.begin() ==
              truth["argmax"].elements[i].integer());
    }
    if (truth.has("logprob")) {
        Json score = json_of({"score", "-m", model, "--ids", joined(ids), "--per-token", "--json"});
        std::vector<double> expected = truth["logprob"].numbers<double>();
        REQUIRE(score["per_token"].size() == expected.size());
        for (size_t i = 0; i < expected.size(); i++) {
            CHECK(score["per_token"].elements[i]["logprob"].number() ==
                  doctest::Approx(expected[i]).epsilon(1e-4));
        }
    }
    std::vector<int> greedy = truth["greedy"].numbers<int>();
    CHECK(ids_of(gpt2({"generate", "-m", model, "--ids", joined(ids), "-n",
                       std::to_string(greedy.size()), "--temp", "0", "--print-ids", "--ignore-eos"})
                     .out) == greedy);
    if (truth.has("text")) {
        CHECK(ids_of(gpt2({"tokenize", "-m", model, "-p", truth["text"].text}).out) == ids);
        CHECK(gpt2({"detokenize", "-m", model, "--ids", joined(ids)}).out == truth["text"].text);
    }
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

TEST_CASE("gpt2: converted checkpoints agree with float64") {
    size_t n = 0;
    for (const auto& entry : fs::directory_iterator("tests/data/checkpoints")) {
        check_case(entry.path());
        n++;
    }
    CHECK(n > 0);
}

TEST_CASE("gpt2: outside checkpoints of every format agree with float64") {
    std::string folder = outside_data("checkpoints");
    if (folder.empty())
        return;
    size_t n = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        check_case(entry.path());
        n++;
    }
    CHECK(n >= 11);
}

TEST_CASE("gpt2: shakespeare-char agrees in logits, greedy text and validation loss") {
    std::string source = outside_data("trained/shakespeare-char");
    if (source.empty())
        return;
    check_case(source);
    TempFolder folder;
    std::string model = converted(source, folder);
    Json truth = Json::read(source + "/expected.json");
    CHECK(greedy_text(model, truth["text"].text, truth["greedy"].size()) ==
          truth["greedy_text"].text);

    std::string why = too_slow();
    if (!why.empty()) {
        MESSAGE("skipped: the loss on 111,000 characters takes minutes " << why);
        return;
    }
    std::string text = read_file(outside_data("text/tinyshakespeare.txt"));
    text = text.substr(text.size() * 9 / 10);
    size_t n_windows = (text.size() - 1) / 128;
    std::string path = folder / "text";
    std::ofstream(path, std::ios::binary) << text.substr(0, n_windows * 128 + 1);
    Json score = json_of({"score", "-m", model, "-f", path, "--json"});
    CHECK(score["tokens"].integer() == static_cast<int64_t>(n_windows * 128));
    CHECK(score["nll"].number() == doctest::Approx(truth["val_loss"].number()).epsilon(1e-5));
}

TEST_CASE("gpt2: slm4096 agrees up to the full context, and in its loss on its corpus") {
    std::string source = outside_data("trained/slm4096");
    if (source.empty())
        return;
    TempFolder folder;
    std::string model = converted(source + "/hf", folder);
    Json truth = Json::read(source + "/expected.json");
    for (const Json& one : truth["computed_numpy_float64"].elements) {
        std::string prompt = one["prompt"].text, expected = one["greedy"].text;
        Json logits = json_of({"logits", "-m", model, "-p", prompt})["logits"];
        CHECK(relative_error(logits.numbers<double>(), one["first_logits"].numbers<double>()) <
              1e-4);
        std::string text = greedy_text(model, prompt, 200);
        CHECK(text.substr(0, expected.size()) == expected);
        CHECK(text.size() == 129 - prompt.size());
    }
    std::string path = folder / "text";
    std::ofstream(path, std::ios::binary)
        << read_file(source + "/corpus.txt").substr(0, 31 * 128 + 1);
    CHECK(json_of({"score", "-m", model, "-f", path, "--json"})["nll"].number() ==
          doctest::Approx(truth["nll_31_windows_of_128"].number()).epsilon(1e-4));
}

TEST_CASE("gpt2: the sorting model's published logits, and all 729 inputs sort") {
    std::string source = outside_data("trained/sort");
    if (source.empty())
        return;
    TempFolder folder;
    std::string model = converted(source, folder);
    Json truth = Json::read(source + "/expected.json");
    for (size_t b = 0; b < truth["input_ids"].size(); b++) {
        std::vector<int> ids = truth["input_ids"].elements[b].numbers<int>();
        Json all = json_of({"logits", "-m", model, "--ids", joined(ids), "--all"})["logits"];
        for (size_t i = 0; i < ids.size(); i++) {
            CHECK(relative_error(all.elements[i].numbers<double>(),
                                 truth["logits"].elements[b].elements[i].numbers<double>()) < 1e-4);
        }
    }
    using namespace minigpt;
    Model opened;
    REQUIRE(opened.open(model.c_str()).ok());
    Session session;
    REQUIRE(session.create(opened, {}).ok());
    Tokenizer none;
    GenerateOptions options;
    options.n_new = 6;
    options.sampler.temperature = 0;
    Generator generator;
    REQUIRE(generator.create(session, none, options).ok());
    size_t n_sorted = 0;
    for (int n = 0; n < 729; n++) {
        std::vector<int32_t> letters, sorted;
        for (int i = 0, rest = n; i < 6; i++, rest /= 3)
            letters.push_back(rest % 3);
        REQUIRE(generator.prompt(letters.data(), letters.size()).ok());
        for (Piece piece; piece.finish == Finish::none;) {
            REQUIRE(generator.next(&piece).ok());
            if (piece.id >= 0)
                sorted.push_back(piece.id);
        }
        std::sort(letters.begin(), letters.end());
        n_sorted += sorted == letters;
    }
    CHECK(n_sorted == 729);
}

TEST_CASE("gpt2: the hub's tiny random GPT-2 agrees with its published digits") {
    std::string source = outside_data("trained/tiny-random-gpt2");
    if (source.empty())
        return;
    TempFolder folder;
    std::string model = converted(source, folder);
    Json truth = Json::read(source + "/expected.json");
    std::vector<double> published =
        truth["prompt_logits_every_200th_of_flattened_[2,4,1000]"].numbers<double>();
    for (size_t b = 0; b < 2; b++) {
        std::vector<int> ids = truth["input_ids"].elements[b].numbers<int>();
        Json all = json_of({"logits", "-m", model, "--ids", joined(ids), "--all"})["logits"];
        for (size_t i = 0; i < 20; i++) {
            CHECK(all.elements[i / 5].elements[i % 5 * 200].number() ==
                  doctest::Approx(published[b * 20 + i]).epsilon(1e-4));
        }
        std::vector<int> greedy = truth["greedy_max_length_10"].elements[b].numbers<int>();
        greedy.erase(greedy.begin(), greedy.begin() + 4);
        CHECK(ids_of(
                  gpt2({"-m", model, "--ids", joined(ids), "-n", "6", "--temp", "0", "--print-ids"})
                      .out) == greedy);
    }
}
