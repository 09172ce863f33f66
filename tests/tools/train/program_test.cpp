// train, as a user runs it.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>

#include "networks/returns_desk.h"
#include "tests/tools/train/place.h"

using namespace minigpt::test;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> kEndless = {"--layers",     "1",  "--embd",  "16",
                                           "--heads",      "2",  "--ctx",   "16",
                                           "--eval-every", "50", "--iters", "100000000"};

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
        CHECK(ran.out.find("\n" + place.model + ": the best, of iteration 12: held back ") !=
              std::string::npos);
        CHECK(contents(place.model + ".svg").find("<svg ") == 0);
        CHECK(gpt2({"verify", "-m", place.model}).out == "equal\n");
        CHECK(gpt2({"-m", place.model, "-p", "the ", "-n", "8", "-s", "1"}).exit_status == 0);
        std::string hf = place.folder / ("hf-" + type + "/model.safetensors");
        fs::create_directory(place.folder / ("hf-" + type));
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
    for (int number : {SIGINT, SIGTERM, SIGHUP}) {
        Place place;
        AtWork run(place, kEndless);
        run.await("iteration 50: ");
        run.signal(number);
        CHECK(run.wait() == 130);
        std::string out = run.out();
        CHECK(out.find("stopped after iteration ") != std::string::npos);
        CHECK(out.find("--resume " + place.model + ".state") != std::string::npos);
        size_t at = out.find("after iteration ") + 16;
        std::string next = std::to_string(std::stoul(out.substr(at)) + 2);
        Ran ran = place.train({"--resume", place.model + ".state", "--stop-after", next});
        CHECK(ran.exit_status == 0);
        CHECK(ran.out.find("stopped after iteration " + next) != std::string::npos);
    }
}

TEST_CASE("train program: Ctrl-C is heard while a sample is made") {
    Place place;
    AtWork run(place, {"--eval-every", "1", "--batch", "1", "--ctx", "64", "--val", "0", "--sample",
                       "100000"});
    run.await("iteration 1: ");
    run.signal(SIGINT);
    CHECK(run.wait() == 130);
    CHECK(run.out().find("stopped after iteration 1;") != std::string::npos);
}

TEST_CASE("train program: a Ctrl-C that its caller ignores stays ignored") {
    for (int number : {SIGINT, SIGHUP}) {
        Place place;
        AtWork run(place, kEndless, number);
        run.await("iteration 50: ");
        run.signal(number);
        run.await("iteration 200: ");
        run.signal(SIGTERM);
        CHECK(run.wait() == 130);
    }
}

TEST_CASE("train program: the line that says how to go on is one for sh") {
    const std::string names[] = {"a b", "it's", "$HOME;ls", "new\nline", "-o", "a\"b*?"};
    for (const std::string& name : names) {
        CAPTURE(name);
        Place place;
        fs::rename(place.text, place.folder / (name + ".txt"));
        place.text = place.folder / (name + ".txt"), place.model = place.folder / (name + ".mgpt");
        Ran ran = place.train(small({"--stop-after", "7", "--type", "q8", "-t", "1"}));
        REQUIRE(ran.exit_status == 0);
        size_t at = ran.out.find("it goes on with\n    ");
        REQUIRE(at != std::string::npos);
        CHECK(ran.out.find(" --type q8 -t 1 --resume ") != std::string::npos);
        CHECK(ran.out.find("--stop-after") == std::string::npos);
        std::string printed = ran.out.substr(at + 20);
        printed.resize(printed.rfind("\n"));
        const char* emulator = getenv("EMULATOR");
        std::string script = (emulator == nullptr ? "" : std::string(emulator) + " ") + printed;
        REQUIRE(std::system((script + " >/dev/null").c_str()) == 0);
        Place whole;
        REQUIRE(whole.train(small({"--type", "q8"})).exit_status == 0);
        CHECK(contents(place.model + ".state") == contents(whole.model + ".state"));
    }
}

TEST_CASE("train program: what is done already is said, and --stop-after is heard") {
    Place place;
    const std::string state = place.model + ".state";
    Ran ran = place.train(small({"--stop-after", "3"}));
    CHECK(ran.exit_status == 0);
    CHECK(ran.out.find("there is no " + place.model +
                       " yet: the first evaluation comes after iteration 5\n") !=
          std::string::npos);
    CHECK_FALSE(fs::exists(place.model));
    for (std::string n : {"3", "2", "1"}) {
        ran = place.train({"--resume", state, "--stop-after", n});
        CHECK(ran.exit_status == 0);
        CHECK(ran.out.find("stopped after iteration 3;") != std::string::npos);
    }
    ran = place.train({"--resume", state, "--stop-after", "7"});
    CHECK(ran.out.find("stopped after iteration 7;") != std::string::npos);
    CHECK(ran.out.find("there is no") == std::string::npos);
    REQUIRE(place.train({"--resume", state}).exit_status == 0);
    std::string model = contents(place.model);
    fs::remove(place.model);
    ran = place.train({"--resume", state});
    CHECK(ran.exit_status == 0);
    CHECK(ran.out.find("all 12 iterations are done already\n") != std::string::npos);
    CHECK(ran.out.find("stopped after") == std::string::npos);
    CHECK(contents(place.model) == model);
}

TEST_CASE("train program: a run that never found a finite loss writes no model") {
    Place place;
    std::vector<std::string> steep = {"--layers", "1",  "--embd",   "16", "--heads",        "2",
                                      "--ctx",    "16", "--lr",     "10", "--weight-decay", "10",
                                      "--lr-end", "1",  "--warmup", "0"};
    size_t n_without = 0;
    for (int n_iters = 1; n_iters <= 12; n_iters++) {
        std::vector<std::string> flags = steep;
        flags.insert(flags.end(), {"--iters", std::to_string(n_iters)});
        Ran ran = place.train(flags);
        CAPTURE(n_iters);
        CAPTURE(ran.out);
        CHECK(contents(place.model + ".svg").find("nan") == std::string::npos);
        CHECK(contents(place.model + ".svg").find("inf") == std::string::npos);
        if (ran.exit_status != 0) {
            check_refused(ran, 1, "finite");
            CHECK_FALSE(fs::exists(place.model));
            n_without += ran.err.find("no evaluation found a loss") != std::string::npos;
        } else {
            CHECK(gpt2({"verify", "-m", place.model}).out == "equal\n");
            fs::remove(place.model);
        }
    }
    CHECK(n_without > 0);
}

TEST_CASE("train program: says at once how long it will take, and shows NUL bytes") {
    Place place;
    write(place.text, std::string("a\0b", 3) + contents(place.text));
    AtWork run(place, kEndless);
    run.await(" left\n");
    run.signal(SIGTERM);
    CHECK(run.wait() == 130);
    Ran ran = place.train(small({"--force"}));
    CHECK(ran.out.find(std::string("    a\0bthe c|", 13)) != std::string::npos);
    CHECK(ran.out.find("a bar, and how the model goes on\n") != std::string::npos);
}

TEST_CASE("train program: without the mask it warns that gpt2 has one") {
    Place place;
    const std::string warning = "train: without the mask: gpt2 runs every model with it";
    Ran ran = place.train(small({"--no-mask", "--stop-after", "6"}));
    CHECK(ran.exit_status == 0);
    CHECK(ran.err.find(warning) == 0);
    ran = place.train({"--resume", place.model + ".state"});
    CHECK(ran.exit_status == 0);
    CHECK(ran.err.find(warning) == 0);
}

TEST_CASE("train program: prints the returns desk's replies") {
    CHECK(run_program("train", {"--returns-desk", "30", "--seed", "7"}).out ==
          minigpt::networks::returns_desk_text(7, 30));
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
    check_refused(place.train(small({"--vocab", place.model}), other), 1,
                  "text.txt: text: 'Q' (U+0051) at byte 600 is not in the model's vocabulary");
    const std::string whole = contents(place.model);
    for (size_t at = 0; at < whole.size(); at += whole.size() / 40) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 1);
        write(place.model, damaged);
        CAPTURE(at);
        check_refused(place.train(small({"--vocab", place.model}), place.folder / "d"), 1,
                      "m.mgpt: ");
    }
}

TEST_CASE("train program: a perceptron learns, and has no weight file") {
    Place place;
    Ran ran = place.train(
        {"--model", "mlp", "--window", "4", "--embd", "16", "--ctx", "16", "--iters", "12"});
    CHECK(ran.exit_status == 0);
    CHECK(ran.out.find("no weight file") != std::string::npos);
    CHECK_FALSE(fs::exists(place.model));
    CHECK(fs::exists(place.model + ".state"));
    check_refused(place.train({"--resume", place.model + ".state", "--type", "q8"}), 2,
                  "--type is for a GPT");
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
    CHECK_FALSE(fs::exists(place.model + ".state"));
    fs::remove(place.text);
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
    check_refused(place.train(small({}), place.folder / "none/m.mgpt"), 1, "none/m.mgpt: ");
    write(place.model + ".state", state.substr(0, state.size() / 2));
    check_refused(place.train({"--resume", place.model + ".state"}), 1, "cut short or damaged");
    check_refused(place.train({"--resume", place.model}, place.folder / "n.mgpt"), 1,
                  "not a training state");
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
             {{"--layers"}, "--layers: its value (N) is missing"},
             {{"--lr", "nan"}, "--lr: found nan"},
             {{"--dropout", "1"}, "--dropout: found 1"},
             {{"--embd", "30"}, "--embd: found 30"},
             {{"--type", "f8"}, "--type: found f8"},
             {{"--model", "rnn"}, "--model: found rnn"},
             {{"--type", "q5"}, "--type: found q5, expected f32, f16, bf16, q8 or q4"},
             {{"--wings", "2"}, "--wings: no such flag"},
             {{"more.txt"}, "one TEXT"},
             {{"--lr-end", "-1"}, "--lr-end: found -1"},
             {{"--lr-end", "1e30"}, "--lr-end: found 1e+30"},
             {{"--warmup", "300"}, "--warmup: found 300, expected 0 to 200"},
             {{"--sample", "100001"}, "--sample: found 100001, expected 0 to 100000"},
             {{"-t", "0"}, "-t: found 0, expected 1 to 256"},
             {{"-t", "257"}, "-t: found 257"},
             {{"--isa", "mmx"}, "--isa mmx: unknown; this build has "},
             {{"--isa", ""}, "--isa: its value is empty"},
             {{"--layers", "x"}, "--layers: found x, expected a whole number"},
             {{"--stop-after", "0"}, "--stop-after: found 0"},
             {{"--window", "4"}, "--window is for a perceptron"},
             {{"--heads", "4", "--model", "mlp"}, "--heads is for a GPT"},
             {{"--model", "mlp", "--layers", "4"}, "--layers is for a GPT"},
             {{"--model", "mlp", "--type", "q8"}, "--type is for a GPT"},
             {{"--model", "mlp", "--no-mask"}, "--no-mask is for a GPT"},
             {{"--model", "mlp", "--dropout", "0.1"}, "--dropout is for a GPT"},
             {{"--val", "0", "--eval-windows", "4"}, "--eval-windows is of held-back text"},
             {{"--returns-desk", "5"}, "--returns-desk makes a text and takes none"},
             {{"--resume", "x.state", "--vocab", "char"}, "--vocab is what the run began with"},
             {{"--resume", "x.state", "--lr", "1"}, "--lr is what the run began with"},
             {{"--seed", "99999999999999999999"}, "--seed: found"}}) {
        check_refused(place.train(args), 2, words);
    }
    check_refused(run_program("train", {"--returns-desk", "0"}), 2, "--returns-desk: found 0");
    check_refused(run_program("train", {"--returns-desk", "5", "-o", "m"}), 2, "not with -o");
    check_refused(run_program("train", {"--lr", "1", "--returns-desk", "5"}), 2, "not with --lr");
    check_refused(run_program("train", {}), 2, "TEXT is missing");
    check_refused(run_program("train", {place.text}), 2, "-o MODEL.mgpt is missing");
    Ran help = run_program("train", {"--help"});
    CHECK(help.exit_status == 0);
    CHECK(help.out.find("--dropout") != std::string::npos);
}
