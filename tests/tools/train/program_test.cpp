// train, as a user runs it.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/temp_folder.h"
#include "tests/tools/gpt2/program.h"
#include "tools/train/returns_desk.h"

using minigpt::test::gpt2;
using minigpt::test::Ran;
using minigpt::test::run_program;

namespace {

std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

// A folder with a text to learn, and a run that takes no time.
struct Place {
    TempFolder folder;
    std::string text = folder / "text.txt", model = folder / "m.mgpt";

    Place() {
        std::string all;
        for (int i = 0; i < 40; ++i)
            all += "the cat sat on the mat. \xc3\xa9t\xc3\xa9 " + std::to_string(i * i) + "\n";
        write(text, all);
    }
    Ran train(const std::vector<std::string>& more, const std::string& output = "") const {
        std::vector<std::string> args = {text, "-o", output.empty() ? model : output};
        args.insert(args.end(), more.begin(), more.end());
        return run_program("train", args);
    }
};

const std::vector<std::string> kSmall = {"--layers", "1",    "--heads",      "2", "--embd",  "16",
                                         "--ctx",    "16",   "--batch",      "4", "--iters", "12",
                                         "--lr",     "0.01", "--eval-every", "5"};

std::vector<std::string> small(std::vector<std::string> more) {
    more.insert(more.begin(), kSmall.begin(), kSmall.end());
    return more;
}

void check_refused(const Ran& ran, int status, const std::string& words) {
    CAPTURE(ran.out);
    CAPTURE(ran.err);
    CHECK(ran.exit_status == status);
    CHECK(ran.err.find("train: ") == 0);
    CHECK(ran.err.find(words) != std::string::npos);
    if (status == 1)
        CHECK(ran.err.find('\n') == ran.err.size() - 1);
}

}  // namespace

TEST_CASE("train program: a trained file runs, verifies, and goes to Hugging Face and back") {
    Place place;
    for (std::string type : {"f32", "q8"}) {
        Ran ran = place.train(small({"--type", type}));
        CAPTURE(ran.err);
        REQUIRE(ran.exit_status == 0);
        CHECK(ran.err.empty());
        CHECK(ran.out.find("parameters") != std::string::npos);
        CHECK(ran.out.find("iteration 10: training ") != std::string::npos);
        CHECK(ran.out.find("the best so far") != std::string::npos);
        CHECK(ran.out.find("tokens/s") != std::string::npos);
        CHECK(contents(place.model + ".svg").find("<svg ") == 0);
        CHECK(gpt2({"verify", "-m", place.model}).out == "equal\n");
        CHECK(gpt2({"-m", place.model, "-p", "the ", "-n", "8", "-s", "1"}).exit_status == 0);
        std::string hf = place.folder / ("hf-" + type + "/model.safetensors");
        std::filesystem::create_directory(place.folder / ("hf-" + type));
        CHECK(run_program("convert", {place.model, "-o", hf}).exit_status == 0);
        std::string back = place.folder / "back.mgpt";
        CHECK(run_program("convert", {place.folder / ("hf-" + type), "-o", back}).exit_status == 0);
        std::vector<std::string> score = {"logits", "-p", "the cat", "-m"};
        score.push_back(place.model);
        std::string want = gpt2(score).out;
        CHECK(want.find("logits") != std::string::npos);
        score.back() = back;
        CHECK(gpt2(score).out == want);
    }
}

TEST_CASE("train program: stopped and resumed, on other threads and kernels: the same files") {
    Place place;
    std::string other = place.folder / "n.mgpt";
    std::vector<std::string> dropout = {"--dropout", "0.1"};
    REQUIRE(place.train(small(dropout)).exit_status == 0);
    dropout.insert(dropout.end(), {"--stop-after", "7", "-t", "2"});
    Ran ran = place.train(small(dropout), other);
    CHECK(ran.exit_status == 0);
    CHECK(ran.out.find("--resume " + other + ".state") != std::string::npos);
    ran = place.train({"--resume", other + ".state", "--isa", "scalar", "-t", "1"}, other);
    CAPTURE(ran.err);
    CHECK(ran.exit_status == 0);
    CHECK(contents(place.model).size() > 1000);
    CHECK(contents(other) == contents(place.model));
    CHECK(contents(other + ".state") == contents(place.model + ".state"));
}

TEST_CASE("train program: Ctrl-C saves, says how to go on, and it does") {
    Place place;
    const char* build = getenv("MINIGPT_BUILD");
    const char* emulator = getenv("EMULATOR");
    std::string command = emulator == nullptr ? "" : std::string(emulator) + " ";
    command += std::string(build == nullptr ? "build" : build) + "/train " + place.text + " -o " +
               place.model + " --layers 1 --embd 16 --heads 2 --ctx 16 --iters 100000000 >" +
               place.folder / "out" + " & pid=$!; while [ ! -s " + place.model +
               ".svg ]; do sleep 0.05; done; kill -INT $pid; wait $pid";
    int status = std::system(command.c_str());
    CHECK(WEXITSTATUS(status) == 130);
    std::string out = contents(place.folder / "out");
    CHECK(out.find("stopped after iteration ") != std::string::npos);
    CHECK(out.find("--resume " + place.model + ".state") != std::string::npos);
    size_t at = out.find("after iteration ") + 16;
    std::string next = std::to_string(std::stoul(out.substr(at)) + 2);
    Ran ran = place.train({"--resume", place.model + ".state", "--stop-after", next});
    CHECK(ran.exit_status == 0);
    CHECK(ran.out.find("stopped after iteration " + next) != std::string::npos);
}

TEST_CASE("train program: prints the returns desk's replies") {
    CHECK(run_program("train", {"--returns-desk", "30", "--seed", "7"}).out ==
          minigpt::train::returns_desk_text(7, 30));
}

TEST_CASE("train program: a vocabulary from a weight file") {
    Place place;
    REQUIRE(place.train(small({})).exit_status == 0);
    std::string other = place.folder / "n.mgpt";
    write(place.text, contents(place.text).substr(0, 600));
    REQUIRE(place.train(small({"--vocab", place.model}), other).exit_status == 0);
    CHECK(gpt2({"tokenize", "-m", other, "-p", "the"}).out ==
          gpt2({"tokenize", "-m", place.model, "-p", "the"}).out);
    write(place.text, contents(place.text) + "Q");
    check_refused(place.train(small({"--vocab", place.model}), other), 1, "text.txt: ");
}

TEST_CASE("train program: a perceptron learns, and has no weight file") {
    Place place;
    Ran ran = place.train(small({"--model", "mlp", "--window", "4"}));
    CHECK(ran.exit_status == 0);
    CHECK(ran.out.find("no weight file") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(place.model));
    CHECK(std::filesystem::exists(place.model + ".state"));
}

TEST_CASE("train program: texts that do not do are one clear line, and leave no file") {
    Place place;
    for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
             {"", "the text is empty"},
             {"aaaaaaa", "1 different characters"},
             {"abcabc", "a context of 16 needs 17"},
             {std::string(100, 'a') + "\xc3(", "not UTF-8 at byte 100"}}) {
        write(place.text, text);
        check_refused(place.train(small({})), 1, "text.txt: ");
        check_refused(place.train(small({})), 1, words);
    }
    CHECK_FALSE(std::filesystem::exists(place.model + ".state"));
    std::filesystem::remove(place.text);
    check_refused(place.train(small({})), 1, "text.txt: cannot open");
}

TEST_CASE("train program: a full disk, a missing folder, a damaged state: nothing is lost") {
    Place place;
    REQUIRE(place.train(small({})).exit_status == 0);
    std::string model = contents(place.model), state = contents(place.model + ".state");
    struct rlimit before, small_limit;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small_limit = before;
    small_limit.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small_limit) == 0);
    Ran ran = place.train(small({"--seed", "2"}));
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    check_refused(ran, 1, "m.mgpt.state: cannot be written");
    CHECK(contents(place.model) == model);
    CHECK(contents(place.model + ".state") == state);
    check_refused(place.train(small({}), place.folder / "none/m.mgpt"), 1, "none/m.mgpt.state: ");
    write(place.model + ".state", state.substr(0, state.size() / 2));
    check_refused(place.train({"--resume", place.model + ".state"}), 1, "cut short or damaged");
    check_refused(place.train({"--resume", place.model}), 1, "not a training state");
    write(place.model + ".state", state);
    write(place.text, contents(place.text) + "e");
    check_refused(place.train({"--resume", place.model + ".state"}), 1, "another text");
}

TEST_CASE("train program: a wrong command line is status 2 and names what is wrong") {
    Place place;
    for (const auto& [args, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"--layers", "0"}, "--layers: found 0"},
             {{"--layers", "-1"}, "--layers: found -1"},
             {{"--layers", "4x"}, "--layers: found 4x"},
             {{"--layers"}, "missing after --layers"},
             {{"--lr", "nan"}, "--lr: found nan"},
             {{"--dropout", "1"}, "--dropout: found 1"},
             {{"--embd", "30"}, "--embd: found 30"},
             {{"--type", "f8"}, "--type: found f8"},
             {{"--model", "rnn"}, "--model: found rnn"},
             {{"--wings", "2"}, "unknown option --wings"},
             {{"more.txt"}, "one TEXT"},
             {{"--resume", "x.state", "--lr", "1"}, "--lr is what the run began with"},
             {{"--seed", "99999999999999999999"}, "--seed: found"}}) {
        check_refused(place.train(args), 2, words);
    }
    check_refused(run_program("train", {}), 2, "TEXT is missing");
    check_refused(run_program("train", {place.text}), 2, "-o MODEL.mgpt is missing");
    Ran help = run_program("train", {"--help"});
    CHECK(help.exit_status == 0);
    CHECK(help.out.find("--dropout") != std::string::npos);
}
