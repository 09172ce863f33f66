#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "tests/model/random_model.h"
#include "tests/temp_folder.h"
#include "tests/tools/gpt2/program.h"
#include "tests/tools/gpt2/small_models.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

const std::vector<std::vector<std::string>> kEverySubcommand = {
    {"generate", "--ids", "1", "-s", "1"},
    {"tokenize", "-p", "a"},
    {"detokenize", "--ids", "1"},
    {"logits", "--ids", "1"},
    {"score", "--ids", "1,2"},
    {"inspect"},
};

std::vector<std::string> with_model(std::vector<std::string> args, const std::string& model) {
    args.push_back("-m");
    args.push_back(model);
    return args;
}

std::string ones(int n) {
    std::string ids = "1";
    for (int i = 1; i < n; i++)
        ids += ",1";
    return ids;
}

}  // namespace

TEST_CASE("gpt2: a file that is no model is refused by each subcommand, with its path") {
    SmallModels models;
    std::string good = read_file(models.bytes);
    std::string zeros = models.folder / "zeros", cut = models.folder / "cut";
    std::string empty = models.folder / "empty", flipped = models.folder / "flipped";
    write_file(zeros, std::string(100000, '\0'));
    write_file(cut, good.substr(0, good.size() - 1));
    write_file(empty, "");
    good[good.size() - 100] ^= 1;
    write_file(flipped, good);
    for (const auto& args : kEverySubcommand) {
        CAPTURE(args[0]);
        for (const std::string& path :
             {zeros, cut, empty, flipped, models.folder.path(), models.folder / "missing"}) {
            check_fails(gpt2(with_model(args, path)), 1, {path + ": "});
        }
    }
}

TEST_CASE("gpt2: a checkpoint of another format is told to be none of ours, and who reads it") {
    TempFolder folder;
    const std::string heads[] = {"GGUF\3", std::string("PK\3\4", 4), "\x80\2}q",
                                 std::string("\x30\0\0\0\0\0\0\0{\"", 10)};
    for (size_t n : {0, 1000}) {
        for (const std::string& head : heads) {
            write_file(folder / "m", head + std::string(n, 'x'));
            check_fails(gpt2({"inspect", "-m", folder / "m"}), 1,
                        {folder / "m", "no .mgpt file", "convert"});
        }
    }
    check_fails(gpt2({"inspect", "-m", folder.path()}), 1, {"no .mgpt file", "convert"});
}

TEST_CASE("gpt2: --no-check lets changed weights pass, and nothing else") {
    SmallModels models;
    std::string bytes = read_file(models.none);
    bytes[bytes.size() - 100] ^= 1;  // inside the head, the last tensor
    write_file(models.none, bytes);
    CHECK(gpt2({"inspect", "-m", models.none}).exit_status == 1);
    CHECK(gpt2({"inspect", "-m", models.none, "--no-check"}).exit_status == 0);
    bytes[40] ^= 1;
    write_file(models.none, bytes);
    check_fails(gpt2({"inspect", "-m", models.none, "--no-check"}), 1, {models.none});
}

TEST_CASE("gpt2: a path cannot put a second line on stderr") {
    check_fails(gpt2({"inspect", "-m", "no\nsuch\x1b[31m\nfile"}), 1, {"no?such?[31m?file: "});
}

TEST_CASE("gpt2: an id outside the vocabulary is refused by name, padding too") {
    SmallModels models;
    for (const char* id : {"28", "31", "-1", "4294967296", "99999999999999999999"}) {
        for (const char* command : {"generate", "logits", "score"}) {
            std::string ids = std::string("1,") + id;
            check_fails(gpt2({command, "-m", models.none, "--ids", ids}), 1,
                        {"--ids: number 2 is id ", "0 to 27"});
        }
    }
    check_fails(gpt2({"detokenize", "-m", models.letters, "--ids", "28"}), 1, {"id 28"});
    // A number past 64 bits is not told as another one.
    for (const char* id : {"9223372036854775808", "99999999999999999999"})
        check_fails(gpt2({"logits", "-m", models.letters, "--ids", id}), 1, {"2^63 - 1 or more"});
    check_fails(gpt2({"logits", "-m", models.letters, "--ids", "-9223372036854775809"}), 1,
                {"-2^63 or less"});
}

TEST_CASE("gpt2: a model without a vocabulary refuses text and takes ids") {
    SmallModels models;
    for (const char* command : {"generate", "tokenize", "logits", "score"}) {
        check_fails(gpt2({command, "-m", models.none, "-p", "abc"}), 1,
                    {models.none, "no vocabulary", "--ids", "--print-ids", "convert --vocab"});
    }
    check_fails(gpt2({"detokenize", "-m", models.none, "--ids", "1"}), 1, {"no vocabulary"});
    check_fails(gpt2({"-m", models.none, "--ids", "1"}), 1, {"no vocabulary", "--print-ids"});
    check_fails(gpt2({"-m", models.none, "--ids", "1", "--print-ids", "--stop", "x"}), 1,
                {"no vocabulary", "--stop"});
    CHECK(gpt2({"-m", models.none, "--ids", "1", "--print-ids"}).exit_status == 0);
    CHECK(gpt2({"-m", models.none, "--ids", "1", "--json"}).exit_status == 0);
    CHECK(gpt2({"score", "-m", models.none, "--ids", "1 2"}).exit_status == 0);
}

TEST_CASE("gpt2: a prompt over n_ctx is refused with both numbers, one of n_ctx is not") {
    SmallModels models;
    for (const std::string& model : {models.bytes, models.letters, models.none}) {
        for (const char* command : {"generate", "logits"}) {
            Ran ran = gpt2({command, "-m", model, "--ids", ones(kContext + 1)});
            check_fails(ran, 1, {"--ids: found 17 tokens, expected at most 16"});
        }
        CHECK(gpt2({"logits", "-m", model, "--ids", ones(kContext)}).exit_status == 0);
    }
}

TEST_CASE("gpt2: characters that a vocabulary lacks are refused, with the source's name") {
    SmallModels models;
    check_fails(gpt2({"tokenize", "-m", models.letters, "-p", "abC"}), 1, {"-p: "});
    check_fails(gpt2({"tokenize", "-m", models.letters}, "a\xff"), 1, {"standard input: "});
}

TEST_CASE("gpt2: an empty prompt without <|endoftext|> is refused") {
    SmallModels models;
    for (const char* command : {"generate", "logits"}) {
        check_fails(gpt2({command, "-m", models.letters, "-p", ""}), 1, {"-p: ", "empty"});
        check_fails(gpt2({command, "-m", models.none, "--ids", ""}), 1, {"--ids: ", "empty"});
        check_fails(gpt2({command, "-m", models.letters}), 1, {"standard input: ", "empty"});
        CHECK(gpt2({command, "-m", models.bytes, "-p", ""}).exit_status == 0);
    }
}

TEST_CASE("gpt2: a text with nothing to predict is refused by score") {
    SmallModels models;
    check_fails(gpt2({"score", "-m", models.bytes, "-p", ""}), 1, {"-p: found 0 tokens"});
    check_fails(gpt2({"score", "-m", models.bytes, "-p", "x"}), 1, {"-p: found 1 token,"});
    check_fails(gpt2({"score", "-m", models.bytes, "-p", "", "--bos"}), 1, {"found 1 token,"});
    check_fails(gpt2({"score", "-m", models.letters, "-p", "ab", "--bos"}), 1, {"<|endoftext|>"});
    check_fails(gpt2({"score", "-m", models.letters, "-p", "ab", "--stride", "17"}), 2,
                {"--stride: found 17", "16"});
}

TEST_CASE("gpt2: a prompt file that cannot be read is refused with its path") {
    SmallModels models;
    std::string missing = models.folder / "missing";
    check_fails(gpt2({"-m", models.bytes, "-f", missing}), 1, {missing + ": No such file"});
    check_fails(gpt2({"-m", models.bytes, "-f", models.folder.path()}), 1,
                {models.folder.path() + ": Is a directory"});
}

TEST_CASE("gpt2: a wrong command line is status 2 with one line") {
    check_fails(gpt2({"--nonsense"}), 2, {"--nonsense"});
    check_fails(gpt2({"nonsense"}), 2, {"nonsense"});
    check_fails(gpt2({"-n", "5x"}), 2, {"-n: found 5x"});
    check_fails(gpt2({"-n"}), 2, {"-n: "});
    check_fails(gpt2({"logits", "--ids", "1,x"}), 2, {"--ids: ", "\"x\""});
    check_fails(gpt2({"-p", "a", "-f", "b"}), 2, {"-p, -f, --ids"});
    SmallModels models;
    check_fails(gpt2({"-m", models.bytes, "-p", "a", "--isa", "sse9"}), 2,
                {"--isa sse9: unknown; this build has ", "scalar"});
    check_fails(gpt2({"-m", models.bytes, "-p", "a", "--kv", "q4"}), 2, {"--kv", "q4"});
}

TEST_CASE("gpt2: ids on standard input that are none are refused by detokenize") {
    SmallModels models;
    check_fails(gpt2({"detokenize", "-m", models.letters}, "1 b"), 1, {"standard input: ", "b"});
}

TEST_CASE("gpt2: a full disk is an error of every subcommand") {
    if (access("/dev/full", W_OK) != 0) {
        MESSAGE("skipped: no /dev/full");
        return;
    }
    SmallModels models;
    for (const auto& args : kEverySubcommand) {
        CAPTURE(args[0]);
        Ran ran = gpt2(with_model(args, models.letters), "", "/dev/full");
        check_fails(ran, 1, {"standard output: No space left on device"});
    }
    check_fails(gpt2({"--help"}, "", "/dev/full"), 1, {"standard output: "});
}

TEST_CASE("gpt2: --help and --version are status 0") {
    for (const auto& args : kEverySubcommand) {
        Ran ran = gpt2({args[0], "--help"});
        CHECK(ran.exit_status == 0);
        CHECK(ran.err == "");
        CHECK(ran.out.find("usage: gpt2 " + args[0]) == 0);
    }
    CHECK(gpt2({"--help"}).out.find("usage: gpt2 [SUBCOMMAND]") == 0);
    Ran version = gpt2({"--version"});
    CHECK(version.exit_status == 0);
    CHECK(version.out.find("scalar") != std::string::npos);
}

TEST_CASE(
    "gpt2: logits that are not finite are refused with their position, and nothing is printed") {
    Config config;
    config.n_vocab = config.n_rows = 28;
    config.n_ctx = config.n_embd = config.n_ff = 16;
    config.n_head = config.n_layer = 1;
    Arrays arrays = random_arrays(config, 3);
    for (float& x : arrays.at("wpe.weight"))
        x = 3e38f;
    Image image = make_image(config, arrays);
    TempFolder folder;
    std::string path = folder / "overflows.mgpt";
    write_file(path, std::string(reinterpret_cast<char*>(image.data()), image.size()));
    const std::vector<std::vector<std::string>> commands = {
        {"generate", "-m", path, "--print-ids", "--temp", "0"},
        {"generate", "-m", path, "--print-ids", "-s", "1", "--top-k", "5"},
        {"logits", "-m", path},
        {"logits", "-m", path, "--all"},
        {"score", "-m", path},
        {"score", "-m", path, "--stride", "8"},
        {"compare", path, path}};
    for (std::vector<std::string> args : commands) {
        bool first = args[0] == "score" || args[0] == "compare" || args.back() == "--all";
        args.insert(args.end(), {"--ids", "1,2,3"});
        check_fails(gpt2(args), 1,
                    {"overflows.mgpt: logits at position " + std::string(first ? "0" : "2"),
                     "28 of 28 are not finite"});
    }
}

TEST_CASE("gpt2 score: a text of one token names --bos, where there is something to put in front") {
    SmallModels models;
    check_fails(gpt2({"score", "-m", models.bytes, "-p", "a"}), 1,
                {"found 1 token, expected at least 2", "--bos puts <|endoftext|> in front"});
    Ran ran = gpt2({"score", "-m", models.letters, "-p", "a"});
    check_fails(ran, 1, {"found 1 token, expected at least 2"});
    CHECK(ran.err.find("--bos") == std::string::npos);
}
