// build/bench: models of random weights, and a run of each op. No test of speed.
#include <doctest/doctest.h>

#include <sstream>

#include "minigpt/model.h"
#include "minigpt/tokenizer.h"
#include "tests/quick.h"
#include "tests/temp_folder.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

TEST_CASE("bench: make-model writes a model that runs, the same each time") {
    TempFolder folder;
    std::string path = folder / "tiny.mgpt", again = folder / "again.mgpt";
    for (const std::string& each : {path, again})
        REQUIRE(run_program("bench", {"make-model", "tiny", each, "--type", "f16"}).exit_status ==
                0);
    Model model, second;
    REQUIRE(model.open(path.c_str()).ok());
    REQUIRE(second.open(again.c_str()).ok());
    CHECK(model.check_weights(Compute()).ok());
    CHECK(model.config().n_vocab == 50257);
    CHECK(model.tensor(0).type == ElementType::f16);
    for (size_t i = 0; i < model.n_tensors(); i++)
        CHECK(model.tensor(i).checksum == second.tensor(i).checksum);

    Tokenizer tokenizer;
    REQUIRE(tokenizer.open(model).ok());
    CHECK(tokenizer.eos() == 50256);
    int32_t ids[16];
    size_t n_ids = 0;
    REQUIRE(tokenizer.encode("quick", ids, 16, &n_ids).ok());
    CHECK(n_ids == 3);
    Ran ran = gpt2({"-m", path, "-p", "quick", "-n", "3", "--print-ids", "--temp", "0"});
    CHECK(ids_of(ran.out).size() == 3);
}

TEST_CASE("bench: ops runs every product") {
    std::string why = too_slow();
    if (!why.empty()) {
        MESSAGE("skipped: the largest products take minutes " << why);
        return;
    }
    Ran ran = run_program("bench", {"ops", "--gemm", "--quick", "-r", "1", "-t", "2"});
    CHECK(ran.exit_status == 0);
    std::istringstream lines(ran.out);
    size_t n_lines = 0, m, n, k;
    for (double rate; lines >> m >> n >> k >> rate; n_lines++)
        CHECK(rate > 0);
    CHECK(n_lines == 16);
}

TEST_CASE("bench: what it does not know is refused") {
    TempFolder folder;
    auto status = [](const std::vector<std::string>& args) {
        return run_program("bench", args).exit_status;
    };
    CHECK(status({}) == 2);
    CHECK(status({"make-model"}) == 2);
    CHECK(status({"make-model", "125M", folder / "a"}) == 2);
    CHECK(status({"make-model", "tiny", folder / "a", "--type", "f64"}) == 2);
    CHECK(status({"make-model", "tiny", (folder / "none") + "/a"}) == 1);
    CHECK(status({"ops", "-t", "0"}) == 2);
    CHECK(status({"ops", "-r"}) == 2);
    CHECK(status({"ops", "--isa", "mmx"}) == 1);
    CHECK(run_program("bench", {"--help"}).out.find("make-model") != std::string::npos);
}
