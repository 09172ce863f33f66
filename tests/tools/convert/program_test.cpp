// The built program, as a user runs it; and the checkpoints that others made.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tests/json.h"
#include "tests/tools/convert/maker.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// Converts a folder by the program, in its own type, and compares all bits with its safetensors.
void check_folder(const std::string& folder, const std::string& parameters) {
    CAPTURE(folder);
    TempFolder out;
    Ran ran = run_program("convert", {folder, "-o", out / "m.mgpt"});
    CAPTURE(ran.err);
    REQUIRE(ran.exit_status == 0);
    CHECK(ran.err.empty());
    CAPTURE(ran.out);
    CHECK(has(ran.out, "left over: 0"));
    CHECK(has(ran.out, parameters));
    std::vector<SavedTensor> saved;
    for (auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() != ".safetensors")
            continue;
        std::vector<SavedTensor> more = load_safetensors(entry.path());
        saved.insert(saved.end(), more.begin(), more.end());
    }
    Model model;
    REQUIRE(model.open((out / "m.mgpt").c_str()).ok());
    check_same_bits(model, saved, "transformer.");

    Json truth =
        Json::read(folder.find("slm4096") == std::string::npos ? folder + "/expected.json"
                                                               : folder + "/../expected.json");
    if (!truth.has("text") || truth["text"].is_null() || !truth.has("prompt_ids"))
        return;
    Tokenizer tokenizer;
    REQUIRE(tokenizer.open(model).ok());
    std::string text = truth["text"].text;
    std::vector<int32_t> ids(text.size());
    size_t n = 0;
    REQUIRE(tokenizer.encode(text, ids.data(), ids.size(), &n).ok());
    ids.resize(n);
    CHECK(ids == truth["prompt_ids"].numbers<int32_t>());
}

}  // namespace

TEST_CASE("convert program: help is 0, a wrong command line is 2 with the usage") {
    Ran help = run_program("convert", {"--help"});
    CHECK(help.exit_status == 0);
    CHECK(has(help.out, "usage: convert SRC -o OUT.mgpt"));
    CHECK(help.err.empty());
    const std::vector<std::vector<std::string>> wrong = {{},
                                                         {"a"},
                                                         {"-o", "b"},
                                                         {"a", "-o"},
                                                         {"a", "-o", ""},
                                                         {"a", "b", "-o", "c"},
                                                         {"a", "-o", "b", "--type"},
                                                         {"a", "-o", "b", "--type", "f64"},
                                                         {"a", "-o", "b", "--nonsense"},
                                                         {"a", "-o", "b", "-x"}};
    CHECK(has(run_program("convert", {"a", "b.mgpt"}).err, "(OUT follows -o): b.mgpt\n"));
    for (const auto& args : wrong) {
        Ran ran = run_program("convert", args);
        CHECK(ran.exit_status == 2);
        CHECK(has(ran.err, "usage: convert"));
        CHECK(ran.out.empty());
    }
}

TEST_CASE("convert program: an OUT that names no file, or another format's, is refused") {
    TempFolder folder;
    small_model().write(folder.path());
    std::vector<std::pair<std::string, std::string>> all = {{"", "-o: its value is empty"},
                                                            {"-", "-o - is not standard output"}};
    for (const char* ending : {"gguf", "bin", "pt", "npz", "h5", "json"})
        all.push_back({folder / ("m." + std::string(ending)),
                       std::string(".") + ending + " is another format's ending"});
    for (const auto& [output, words] : all) {
        Ran ran = run_program("convert", {folder.path(), "-o", output});
        CAPTURE(ran.err);
        CHECK(ran.exit_status == 2);
        CHECK(has(ran.err, words));
    }
    CHECK(fs::exists("-") == false);
    size_t n_files = 0;
    for (auto& entry : fs::directory_iterator(folder.path()))
        n_files += entry.exists();
    CHECK(n_files == 2);
}

TEST_CASE("convert program: a name with escapes does not reach the terminal") {
    TempFolder folder, out;
    std::string evil = folder / "e\033[2Jvil";
    fs::create_directory(evil);
    small_model().write(evil);
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {evil, "-o", out / "\033[31m.mgpt"}, {"--list", evil}, {evil + "/no", "-o", "x"}}) {
        Ran ran = run_program("convert", args);
        CAPTURE(ran.out);
        CHECK((ran.out + ran.err).find('\033') == std::string::npos);
    }
    Ran ran = run_program("convert", {evil, "-o", out / "m.mgpt"});
    CHECK(has(ran.out, "source:      safetensors, e?[2Jvil\n"));
}

TEST_CASE("convert program: a refused source is one line, exit 1, and no file") {
    TempFolder folder, out;
    HfModel model = small_model();
    model.set("activation_function", "\"relu\"");
    model.write(folder.path());
    std::vector<std::vector<std::string>> all = {
        {folder.path(), "-o", out / "m.mgpt"},
        {folder / "nothing", "-o", out / "m.mgpt"},
        {folder.path(), "-o", out / "m.mgpt", "--vocab", folder / "none"},
    };
    for (const auto& args : all) {
        Ran ran = run_program("convert", args);
        CHECK(ran.exit_status == 1);
        CHECK(ran.out.empty());
        CHECK(ran.err.rfind("convert: " + args[0] + ": ", 0) == 0);
        CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
        CHECK(fs::is_empty(out.path()));
    }
}

TEST_CASE("convert program: the report says what was found") {
    TempFolder folder, out;
    HfModel model = small_model();
    model.write(folder.path());
    Ran ran = run_program("convert", {"--type", "bf16", "-o", out / "m.mgpt", folder.path()});
    REQUIRE(ran.exit_status == 0);
    CAPTURE(ran.out);
    CHECK(has(ran.out, "tensors:     28 taken, left over: 0\n"));
    CHECK(has(ran.out, "parameters:  1,968, with the tied head counted twice 2,128\n"));
    CHECK(has(ran.out, "vocabulary:  none: token ids only, no text\n"));
    CHECK(has(ran.out, "type:        bf16 from f32\n"));
    CHECK(has(ran.out, std::to_string(fs::file_size(out / "m.mgpt") / 1000) + ","));
}

TEST_CASE("convert program: the repo's checkpoints arrive bit for bit") {
    check_folder("tests/data/checkpoints/hf-safetensors-f32", "43,392");
    check_folder("tests/data/checkpoints/hf-safetensors-bf16", "43,392");
    check_folder("tests/data/checkpoints/hf-safetensors-sharded", "56,096");
    check_folder("tests/data/checkpoints/hf-safetensors-untied", "59,776");
}

TEST_CASE("convert program: outside checkpoints arrive bit for bit") {
    for (const auto& [name, parameters] : std::map<std::string, std::string>{
             {"trained/slm4096/hf", "211,712, with the tied head counted twice 215,168"},
             {"trained/shakespeare-char", "818,048"},
             {"trained/sort", "85,728"},
             {"trained/tiny-random-gpt2", "111,968"}}) {
        std::string folder = outside_data(name);
        if (folder.empty())
            continue;
        check_folder(folder, parameters);
    }
}
