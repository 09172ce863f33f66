// gpt2 logits, score and inspect: the numbers they print.
#include <doctest/doctest.h>

#include <cmath>

#include "minigpt/model.h"
#include "tests/json.h"
#include "tests/tools/gpt2/program.h"
#include "tests/tools/gpt2/small_models.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

// The logits after each of ids, by the library in this process.
std::vector<std::vector<float>> logits_of(const std::string& path, const std::vector<int>& ids) {
    Model model;
    REQUIRE(model.open(path.c_str()).ok());
    Session session;
    REQUIRE(session.create(model, {}).ok());
    std::vector<std::vector<float>> out;
    for (int id : ids) {
        Row row{id, 0, true};
        out.emplace_back(model.config().n_vocab);
        REQUIRE(session.forward(&row, 1, out.back().data()).ok());
    }
    return out;
}

double log_prob_of(const std::vector<float>& row, int id) {
    double sum = 0, most = row[0];
    for (float x : row)
        most = std::max<double>(most, x);
    for (float x : row)
        sum += std::exp(x - most);
    return row[static_cast<size_t>(id)] - most - std::log(sum);
}

std::string joined(const std::vector<int>& ids) {
    std::string out;
    for (int id : ids)
        out += (out.empty() ? "" : ",") + std::to_string(id);
    return out;
}

std::vector<int> some_ids(int n) {
    std::vector<int> ids;
    for (int i = 0; i < n; i++)
        ids.push_back((i * i * 7 + 3 * i) % 28);
    return ids;
}

// The definition, window by window: logits of each window from an empty cache.
std::vector<double> sliding_log_probs(const std::string& path, const std::vector<int>& ids,
                                      size_t stride) {
    std::vector<double> out;
    for (size_t begin = 0; out.size() + 1 < ids.size(); begin += stride) {
        size_t end = std::min(begin + kContext, ids.size());
        auto logits = logits_of(path, {ids.begin() + begin, ids.begin() + end});
        size_t last = stride < kContext ? end - 1 : std::min(end, ids.size() - 1);
        for (size_t t = out.size() + 1; t <= last; t++)
            out.push_back(log_prob_of(logits[t - 1 - begin], ids[t]));
    }
    return out;
}

}  // namespace

TEST_CASE("gpt2 logits: the library's to the bit, of the last position or of all") {
    SmallModels models;
    const Compute best;  // its bits may be its own
    const std::string isa = best.bit_exact() ? "scalar" : best.isa();
    for (const std::string& path : {models.bytes, models.none}) {
        std::vector<int> ids = some_ids(13);
        auto expected = logits_of(path, ids);
        Json last = Json::parse(gpt2({"logits", "-m", path, "--ids", joined(ids)}).out);
        CHECK(last["ids"].numbers<int>() == ids);
        CHECK(last["logits"].numbers<float>() == expected.back());
        for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
                 {"-t", "2"}, {"--chunk", "5"}, {"--no-cache"}, {"--isa", isa}}) {
            std::vector<std::string> args = {"logits", "-m", path, "--ids", joined(ids), "--all"};
            args.insert(args.end(), more.begin(), more.end());
            Json all = Json::parse(gpt2(args).out);
            REQUIRE(all["logits"].size() == ids.size());
            for (size_t i = 0; i < ids.size(); i++)
                CHECK(all["logits"][i].numbers<float>() == expected[i]);
        }
    }
}

TEST_CASE("gpt2 score: the mean loss over the predicted tokens, by its definition") {
    SmallModels models;
    for (int n : {2, 3, 16, 17, 18, 32, 33, 34, 100}) {
        std::vector<int> ids = some_ids(n);
        for (size_t stride : {16, 15, 8, 1}) {
            CAPTURE(n);
            CAPTURE(stride);
            std::vector<double> expected = sliding_log_probs(models.letters, ids, stride);
            REQUIRE(expected.size() == ids.size() - 1);
            std::vector<std::string> args = {"score",     "-m",          models.letters, "--ids",
                                             joined(ids), "--per-token", "--json"};
            if (stride != 16) {
                args.push_back("--stride");
                args.push_back(std::to_string(stride));
            }
            Json json = Json::parse(gpt2(args).out);
            REQUIRE(json["per_token"].size() == expected.size());
            double nll = 0;
            for (size_t i = 0; i < expected.size(); i++) {
                CHECK(json["per_token"][i]["id"].integer() == ids[i + 1]);
                CHECK(json["per_token"][i]["logprob"].number() ==
                      doctest::Approx(expected[i]).epsilon(1e-5));
                nll -= expected[i] / static_cast<double>(expected.size());
            }
            CHECK(json["tokens"].integer() == n - 1);
            CHECK(json["nll"].number() == doctest::Approx(nll).epsilon(1e-5));
            CHECK(json["ppl"].number() == doctest::Approx(std::exp(nll)).epsilon(1e-5));
            // A byte a token.
            CHECK(json["bits_per_byte"].number() ==
                  doctest::Approx(nll / std::log(2)).epsilon(1e-5));
        }
    }
}

TEST_CASE("gpt2 score: --bos predicts the first token too; ids without text have no bytes") {
    SmallModels models;
    Json bos =
        Json::parse(gpt2({"score", "-m", models.bytes, "-p", "hello", "--bos", "--json"}).out);
    CHECK(bos["tokens"].integer() == 3);
    CHECK(!bos.has("per_token"));
    CHECK(bos["bits_per_byte"].number() ==
          doctest::Approx(bos["nll"].number() * 3 / 5 / std::log(2)));
    std::string ids = std::to_string(kEos) + ",256,257,111";
    Json by_ids = Json::parse(gpt2({"score", "-m", models.bytes, "--ids", ids, "--json"}).out);
    CHECK(by_ids["nll"].text == bos["nll"].text);
    // <|endoftext|> in the text is predicted, and is no byte of it: l l o is 3 of 4.
    Json inside = Json::parse(
        gpt2({"score", "-m", models.bytes, "-p", "hello<|endoftext|>", "--special", "--json"}).out);
    CHECK(inside["tokens"].integer() == 3);
    CHECK(inside["bits_per_byte"].number() ==
          doctest::Approx(inside["nll"].number() * 3 / 3 / std::log(2)));
    Json none = Json::parse(gpt2({"score", "-m", models.none, "--ids", "1,2,3", "--json"}).out);
    CHECK(none["bits_per_byte"].is_null());

    std::string text = gpt2({"score", "-m", models.bytes, "-p", "hello", "--per-token"}).out;
    CHECK(text.find("\"ll\"") != std::string::npos);
    CHECK(text.find("bits per byte") != std::string::npos);
}

TEST_CASE("gpt2 inspect: configuration, parameters, tensors and memory") {
    SmallModels models;
    Json json = Json::parse(gpt2({"inspect", "-m", models.none, "--json"}).out);
    CHECK(json["config"]["n_vocab"].integer() == 28);
    CHECK(json["config"]["n_rows"].integer() == 32);
    CHECK(json["config"]["n_ctx"].integer() == kContext);
    CHECK(json["config"]["n_ff"].integer() == 40);
    CHECK(!json["config"]["tied"].boolean());
    CHECK(!json["subnormals"].boolean());
    CHECK(json["config"]["activation"].text == "gelu_tanh");
    CHECK(json["config"]["biases"].size() == 7);
    CHECK(json["source"]["format"].text == "a test");
    CHECK(json["tokenizer"]["kind"].text == "none");
    CHECK(json["tokenizer"]["eos"].is_null());
    CHECK(json["memory"]["session_bytes"].integer() > json["memory"]["kv_bytes"].integer());
    CHECK(json["memory"]["kv_bytes"].integer() >= 2 * 2 * 24 * kContext * 4);

    int64_t numbers = 0;
    for (const Json& tensor : json["tensors"].elements) {
        int64_t n = 1;
        for (const Json& side : tensor["shape"].elements)
            n *= side.integer();
        numbers += n;
        CHECK(tensor["type"].text == "f32");
        CHECK(tensor["bytes"].integer() >= 4 * n);
        CHECK(tensor["subnormals"].integer() == 0);
    }
    CHECK(json["tensors"].elements[0]["name"].text == "wte.weight");
    CHECK(json["tensors"].elements.back()["name"].text == "lm_head.weight");
    CHECK(json["parameters"].integer() == numbers);
    CHECK(json["parameters_untied"].integer() == numbers);
    Json tied = Json::parse(gpt2({"inspect", "-m", models.letters, "--json"}).out);
    CHECK(tied["parameters_untied"].integer() - tied["parameters"].integer() == 28 * 24);
    CHECK(tied["tokenizer"]["kind"].text == "chars");

    std::string text = gpt2({"inspect", "-m", models.bytes}).out;
    for (const char* word : {"h.1.mlp.c_fc.weight", "24 x 40", "bpe, <|endoftext|> is 258",
                             "small\\nmodel", "with the head apart"}) {
        CAPTURE(word);
        CHECK(text.find(word) != std::string::npos);
    }
}

TEST_CASE("gpt2 inspect: says whether the kernels have the bits of every machine") {
    SmallModels models;
    bool present;
    for (size_t i = 0; const char* isa = isa_name(i, &present); i++) {
        if (!present)
            continue;
        CAPTURE(std::string(isa));
        Compute compute;
        REQUIRE(compute.create(1, isa).ok());
        std::vector<std::string> args = {"inspect", "-m", models.none, "--isa", isa};
        CHECK((gpt2(args).out.find("the bits are its own") == std::string::npos) ==
              compute.bit_exact());
        args.push_back("--json");
        Json json = Json::parse(gpt2(args).out);
        CHECK(json["isa"].text == isa);
        CHECK(json["bit_exact"].boolean() == compute.bit_exact());
    }
    CHECK(gpt2({"--version"}).out.find("scalar (bits of its own)") == std::string::npos);
}
