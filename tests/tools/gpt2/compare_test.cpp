// gpt2 compare: two models' predictions side by side.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "minigpt/model.h"
#include "tests/element_types.h"
#include "tests/json.h"
#include "tests/model/random_model.h"
#include "tests/tools/gpt2/program.h"
#include "tests/tools/gpt2/small_models.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

// The small model without a vocabulary again, in another type or of another seed.
void write_other(const std::string& path, const std::string& like, ElementType type,
                 unsigned seed) {
    Model model;
    REQUIRE(model.open(like.c_str()).ok());
    const Config& config = model.config();
    WriterOptions options;
    options.type = type;
    Arrays arrays = random_arrays(config, seed);
    Writer writer;
    REQUIRE(writer.open(path.c_str(), config, options).ok());
    for (size_t i = 0; i < tensor_count(config); i++) {
        TensorSpec spec = tensor_spec(config, i);
        REQUIRE(writer.add(spec.name, view_of(spec, arrays.at(spec.name))).ok());
    }
    REQUIRE(writer.finish().ok());
}

std::string some_ids(int n) {
    std::string ids;
    for (int i = 0; i < n; i++)
        ids += (i == 0 ? "" : ",") + std::to_string((i * i * 7 + 3 * i) % 28);
    return ids;
}

// log p of all tokens after each of ids, in doubles.
std::vector<std::vector<double>> log_probs_of(const std::string& path, const std::string& ids) {
    std::vector<std::vector<double>> out;
    Json json = Json::parse(gpt2({"logits", "-m", path, "--ids", ids, "--all"}).out);
    for (const Json& row : json["logits"].elements) {
        std::vector<double> x = row.numbers<double>();
        double sum = 0;
        for (double each : x)
            sum += std::exp(each);
        for (double& each : x)
            each -= std::log(sum);
        out.push_back(x);
    }
    return out;
}

}  // namespace

TEST_CASE("gpt2 compare: a model and itself do not differ, and perplexity is score's") {
    SmallModels models;
    std::string file = models.folder / "text";
    FILE* out = fopen(file.c_str(), "wb");
    REQUIRE(out != nullptr);
    fputs("hello hello, a text of some windows; hello again, and so on\n", out);
    fclose(out);
    for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
             {}, {"--stride", "5"}, {"--bos"}, {"--chunk", "3"}}) {
        std::vector<std::string> args = {"compare", models.bytes, models.bytes,
                                         "-f",      file,         "--json"};
        std::vector<std::string> score = {"score", "-m", models.bytes, "-f", file, "--json"};
        args.insert(args.end(), more.begin(), more.end());
        score.insert(score.end(), more.begin(), more.end());
        Json json = Json::parse(gpt2(args).out), expected = Json::parse(gpt2(score).out);
        CHECK(json["tokens"].integer() == expected["tokens"].integer());
        CHECK(json["kl"].number() == 0);
        CHECK(json["kl_max"].number() == 0);
        CHECK(json["top1_agreement"].number() == 1);
        CHECK(json["ppl_a"].text == json["ppl_b"].text);
        CHECK(json["ppl_a"].number() == doctest::Approx(expected["ppl"].number()).epsilon(1e-5));
    }
    Ran table = gpt2({"compare", models.bytes, models.bytes, "-p", "hello"});
    CHECK(table.out.find("top-1 agreement  1.000000\n") != std::string::npos);
}

TEST_CASE("gpt2 compare: the numbers of two models, by their definition") {
    SmallModels models;
    std::string other = models.folder / "other.mgpt";
    write_other(other, models.none, ElementType::f32, 8);
    std::string ids = some_ids(14);
    auto a = log_probs_of(models.none, ids), b = log_probs_of(other, ids);
    std::vector<int> tokens = Json::parse("[" + ids + "]").numbers<int>();
    double kl = 0, most = 0, agree = 0, nll_a = 0, nll_b = 0, n = 13;
    for (size_t i = 0; i < 13; i++) {
        double row = 0;
        for (size_t j = 0; j < a[i].size(); j++)
            row += std::exp(a[i][j]) * (a[i][j] - b[i][j]);
        kl += row / n;
        most = std::max(most, row);
        agree += (std::max_element(a[i].begin(), a[i].end()) - a[i].begin() ==
                  std::max_element(b[i].begin(), b[i].end()) - b[i].begin()) /
                 n;
        nll_a -= a[i][static_cast<size_t>(tokens[i + 1])] / n;
        nll_b -= b[i][static_cast<size_t>(tokens[i + 1])] / n;
    }
    Json json = Json::parse(gpt2({"compare", models.none, other, "--ids", ids, "--json"}).out);
    CHECK(json["kl"].number() == doctest::Approx(kl).epsilon(1e-4));
    CHECK(json["kl_max"].number() == doctest::Approx(most).epsilon(1e-4));
    CHECK(json["top1_agreement"].number() == doctest::Approx(agree));
    CHECK(json["ppl_a"].number() == doctest::Approx(std::exp(nll_a)).epsilon(1e-5));
    CHECK(json["ppl_b"].number() == doctest::Approx(std::exp(nll_b)).epsilon(1e-5));
    Json back = Json::parse(gpt2({"compare", other, models.none, "--ids", ids, "--json"}).out);
    CHECK(back["ppl_a"].text == json["ppl_b"].text);
}

TEST_CASE("gpt2 compare: half precision is near its original, and not the same") {
    if (::test::computed({ElementType::f16}).empty())
        return;
    SmallModels models;
    std::string half = models.folder / "half.mgpt", full = models.folder / "full.mgpt";
    write_other(full, models.none, ElementType::f32, 7);
    write_other(half, models.none, ElementType::f16, 7);
    Json json = Json::parse(gpt2({"compare", full, half, "--ids", some_ids(60), "--json"}).out);
    CHECK(json["kl"].number() > 0);
    CHECK(json["kl"].number() < 1e-4);
    CHECK(json["top1_agreement"].number() >= 0.95);
    CHECK(json["ppl_a"].number() == doctest::Approx(json["ppl_b"].number()).epsilon(1e-2));
}

TEST_CASE("gpt2 compare: models that cannot be compared are refused") {
    SmallModels models;
    check_fails(gpt2({"compare", models.bytes, models.letters, "-p", "hello"}), 1,
                {"letters.mgpt", "28", "259"});
    // As many ids, but without a vocabulary only ids can be read.
    Ran ids = gpt2({"compare", models.letters, models.none, "-p", "hello"});
    CHECK(ids.exit_status == 0);
    check_fails(gpt2({"compare", models.none, models.letters, "-p", "hello"}), 1,
                {"none.mgpt", "no vocabulary"});
    check_fails(gpt2({"compare", models.bytes, models.folder / "gone", "-p", "hello"}), 1,
                {"gone"});
    check_fails(gpt2({"compare", models.bytes, models.bytes, "--ids", "1"}), 1, {"found 1 token,"});
    check_fails(gpt2({"compare", models.bytes, models.bytes, "-p", "hello", "--stride", "17"}), 2,
                {"--stride", "16"});
    check_fails(gpt2({"compare", models.bytes, "-p", "hello"}), 2, {"found 1 model,"});
    check_fails(gpt2({"compare", "a", "b", "c", "-p", "hello"}), 2, {"c: no flag before it"});
    check_fails(gpt2({"compare", "-m", "a", "b", "-p", "hello"}), 2, {"-m: not a flag of compare"});
    check_fails(gpt2({"compare", "a", "b", "--no-cache"}), 2, {"--no-cache: not a flag"});
}
