#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "minigpt/compute.h"
#include "tests/json.h"
#include "tests/tools/gpt2/program.h"
#include "tests/tools/gpt2/small_models.h"

using namespace minigpt::test;

namespace {

using Args = std::vector<std::string>;

Args operator+(Args a, const Args& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::string out_of(const Args& args, const std::string& stdin_text = "") {
    Ran ran = gpt2(args, stdin_text);
    CAPTURE(ran.err);
    CHECK(ran.exit_status == 0);
    return ran.out;
}

std::string contents_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

TEST_CASE("gpt2 generate: stdout is the continuation only; --echo puts the prompt before it") {
    SmallModels models;
    Args base = {"-m", models.letters, "-p", "hello", "-n", "8", "-s", "3"};
    std::string text = out_of(base);
    CHECK(text.size() == 8);
    CHECK(gpt2(base).err == "");
    CHECK(out_of(base + Args{"--echo"}) == "hello" + text);
    CHECK(out_of(Args{"generate"} + base) == text);

    std::string line = out_of(base + Args{"--print-ids"});
    CHECK(line.back() == '\n');
    CHECK(ids_of(line).size() == 8);
    CHECK(out_of({"detokenize", "-m", models.letters, "--ids", line}) == text);
    CHECK(out_of(base + Args{"--print-ids", "--echo"}) == "7 4 11 11 14 " + line);
}

TEST_CASE("gpt2 generate: --json holds prompt, ids, text, the reason of the end and the seed") {
    SmallModels models;
    Args base = {"-m", models.letters, "-p", "hello", "-n", "8"};
    Json json = Json::parse(out_of(base + Args{"-s", "18446744073709551615", "--json"}));
    CHECK(json["prompt_ids"].numbers<int>() == std::vector<int>{7, 4, 11, 11, 14});
    CHECK(json["text"].text == out_of(base + Args{"-s", "18446744073709551615"}));
    CHECK(json["ids"].numbers<int>() ==
          ids_of(out_of(base + Args{"-s", "18446744073709551615", "--print-ids"})));
    CHECK(json["finish"].text == "length");
    CHECK(json["seed"].text == "18446744073709551615");
    CHECK(Json::parse(out_of(base + Args{"--temp", "0", "--json"}))["seed"].is_null());
    CHECK(Json::parse(out_of({"-m", models.none, "--ids", "1", "--json"}))["text"].is_null());
}

TEST_CASE("gpt2 generate: a seed from the system is told and gives the text again") {
    SmallModels models;
    Args base = {"-m", models.letters, "-p", "hello", "-n", "10"};
    Ran first = gpt2(base), second = gpt2(base);
    REQUIRE(first.err.find("seed: ") == 0);
    CHECK(first.err.back() == '\n');
    CHECK(first.err != second.err);
    std::string seed = first.err.substr(6, first.err.size() - 7);
    Ran again = gpt2(base + Args{"-s", seed});
    CHECK(again.out == first.out);
    CHECK(again.err == "");
    CHECK(gpt2(base + Args{"--temp", "0"}).err == "");
}

TEST_CASE(
    "gpt2 generate: threads, chunks, no cache, --load and the scalar table give the same text") {
    SmallModels models;
    const minigpt::Compute best;  // its bits may be its own
    const std::string isa = best.bit_exact() ? "scalar" : best.isa();
    Args base = {"-m", models.bytes, "-p", "hello", "-n", "11", "-s", "5", "--print-ids"};
    std::string ids = out_of(base);
    for (const Args& other : std::vector<Args>{{"-t", "1"},
                                               {"-t", "2"},
                                               {"-t", "7"},
                                               {"--chunk", "1"},
                                               {"--chunk", "3"},
                                               {"--chunk", "4294967295"},
                                               {"--no-cache"},
                                               {"--isa", isa},
                                               {"--load"},
                                               {"--no-check"}}) {
        CAPTURE(other[0]);
        CHECK(out_of(base + other) == ids);
    }
}

TEST_CASE("gpt2 generate: temperature 0, top-k 1 and top-p 0 are greedy") {
    SmallModels models;
    Args base = {"-m", models.letters, "-p", "hello", "-n", "8", "-s", "1"};
    std::string greedy = out_of(base + Args{"--temp", "0"});
    CHECK(out_of(base + Args{"--top-k", "1"}) == greedy);
    CHECK(out_of(base + Args{"--top-p", "0"}) == greedy);
    CHECK(out_of(base + Args{"--top-k", "4000000000"}) == out_of(base));
    CHECK(out_of(base + Args{"--repeat-penalty", "1"}) == out_of(base));
}

TEST_CASE("gpt2 generate: -n 0 writes nothing") {
    SmallModels models;
    Args base = {"-m", models.letters, "-p", "hello", "-n", "0", "-s", "1"};
    CHECK(out_of(base) == "");
    CHECK(out_of(base + Args{"--echo"}) == "hello");
    CHECK(out_of(base + Args{"--print-ids"}) == "\n");
    CHECK(Json::parse(out_of(base + Args{"--json"}))["ids"].size() == 0);
}

TEST_CASE("gpt2 generate: -p, -f and standard input give the same, bytes kept as they are") {
    SmallModels models;
    std::string path = models.folder / "prompt";
    std::ofstream(path) << "hello\n";
    Args base = {"-m", models.letters, "-n", "5", "-s", "1"};
    std::string text = out_of(base + Args{"-p", "hello\n"});
    CHECK(out_of(base + Args{"-f", path}) == text);
    CHECK(out_of(base, "hello\n") == text);
    CHECK(out_of(base + Args{"-f", "-"}, "hello\n") == text);
    CHECK(out_of(base + Args{"--ids", "7,4,11,11,14,27"}) == text);
    // A prompt that is given leaves standard input alone.
    CHECK(out_of(base + Args{"-p", "hello\n"}, "other") == text);

    std::string bytes("\0\xff h\r\n", 6);
    Ran ran = gpt2({"-m", models.bytes, "-n", "0", "-s", "1", "--echo"}, bytes);
    CHECK(ran.out == bytes);
}

TEST_CASE("gpt2 generate: an empty prompt begins with <|endoftext|>, which is no text") {
    SmallModels models;
    Args base = {"-m", models.bytes, "-n", "5", "-s", "1"};
    Json json = Json::parse(out_of(base + Args{"-p", "", "--json"}));
    CHECK(json["prompt_ids"].numbers<int>() == std::vector<int>{kEos});
    std::string text = out_of(base + Args{"--ids", std::to_string(kEos)});
    CHECK(out_of(base + Args{"-p", ""}) == text);
    CHECK(out_of(base) == text);
    CHECK(out_of(base + Args{"--ids", ""}) == text);
    CHECK(out_of(base + Args{"-p", "", "--echo"}) == text);
    CHECK(out_of(base + Args{"-p", "<|endoftext|>", "--special"}) == text);
}

TEST_CASE("gpt2 generate: a full context stops with a note, or slides on") {
    SmallModels models;
    // 16 positions: a prompt of n tokens yields 17 - n.
    for (int n : {1, 8, 15, 16}) {
        std::string ids = "1";
        for (int i = 1; i < n; i++)
            ids += ",2";
        Args base = {"-m", models.none, "--ids", ids, "-n", "40", "-s", "1", "--print-ids"};
        Ran ran = gpt2(base);
        CHECK(ran.exit_status == 0);
        CHECK(ids_of(ran.out).size() == static_cast<size_t>(kContext + 1 - n));
        CHECK(ran.err.find("gpt2: the context of 16 tokens is full") == 0);
        Ran slid = gpt2(base + Args{"--overflow", "slide"});
        CHECK(slid.exit_status == 0);
        CHECK(slid.err == "");
        CHECK(ids_of(slid.out).size() == 40);
        CHECK(slid.out.compare(0, ran.out.size() - 1, ran.out, 0, ran.out.size() - 1) == 0);
        CHECK(out_of(base + Args{"--overflow", "slide", "--no-cache"}) == slid.out);
    }
}

TEST_CASE("gpt2 generate: a note begins its own line where it goes to the text's file") {
    SmallModels models;
    std::string both = models.folder / "both";
    int n_seen[2] = {0, 0};  // texts without a newline at their end, with one
    for (int seed = 0; seed < 500 && (n_seen[0] == 0 || n_seen[1] == 0); seed++) {
        Args args = {"-m",   models.letters, "-p", "hello", "--temp",
                     "1000", "-n",           "40", "-s",    std::to_string(seed)};
        Ran apart = gpt2(args);
        CHECK(apart.err.find("gpt2: the context") == 0);
        bool ends_line = apart.out.back() == '\n';
        n_seen[ends_line]++;
        std::filesystem::remove(both);
        CHECK(run_program("gpt2", args, "", both, both).exit_status == 0);
        CHECK(contents_of(both) == apart.out + (ends_line ? "" : "\n") + apart.err);
    }
    CHECK(n_seen[0] > 0);
    CHECK(n_seen[1] > 0);
    // Without a note nothing is added.
    Args ends = {"-m", models.letters, "-p", "hello", "-n", "3", "-s", "1"};
    std::filesystem::remove(both);
    run_program("gpt2", ends, "", both, both);
    CHECK(contents_of(both) == out_of(ends));
}

TEST_CASE("gpt2 generate: at a terminal the text is followed by a newline if it has none") {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
        MESSAGE("skipped: no pseudo-terminal");
        return;
    }
    SmallModels models;
    std::string path = ptsname(terminal);
    for (const char* prompt : {"hello", "hello\n"}) {
        Args args = {"-m", models.letters, "-p", prompt, "-n", "0", "-s", "1", "--echo"};
        int open_end = open(path.c_str(), O_RDWR | O_NOCTTY);
        REQUIRE(open_end >= 0);
        CHECK(run_program("gpt2", args, "", path, path).exit_status == 0);
        char shown[64];
        ssize_t n = read(terminal, shown, sizeof shown);
        REQUIRE(n > 0);
        CHECK(std::string(shown, static_cast<size_t>(n)) == "hello\r\n");
        close(open_end);
    }
    close(terminal);
}

TEST_CASE("gpt2 generate: a stop text ends before itself") {
    SmallModels models;
    Args base = {"-m", models.letters, "-p", "hello", "-n", "11", "-s", "2"};
    std::string text = out_of(base);
    REQUIRE(text.size() == 11);
    std::string stop = text.substr(4, 3);
    size_t at = text.find(stop);
    CHECK(out_of(base + Args{"--stop", stop}) == text.substr(0, at));
    CHECK(out_of(base + Args{"--stop", "never, NEVER", "--stop", stop}) == text.substr(0, at));
    Json json = Json::parse(out_of(base + Args{"--stop", stop, "--json"}));
    CHECK(json["finish"].text == "stop");
    CHECK(json["text"].text == text.substr(0, at));
}
