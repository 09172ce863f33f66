// What a checkpoint is read from is never written over.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/tools/convert/formats/tensorflow_maker.h"
#include "tests/tools/convert/text_model.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> contents_of(const std::string& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder))
        files[entry.path().filename()] = read_file(entry.path());
    return files;
}

void check_protected(const std::string& source, const std::string& vocab,
                     const std::string& output) {
    CAPTURE(source);
    CAPTURE(output);
    std::string bytes = read_file(output);
    convert::Options options;
    options.source = source;
    options.vocab = vocab;
    options.output = output;
    options.force = true;
    convert::Report report;
    convert::Failure failure = convert::convert(
        options, [](uint64_t, uint64_t) {}, &report);
    CHECK(failure.status.code() == Code::bad_argument);
    CAPTURE(std::string(failure.status.message()));
    CHECK(failure.path == output);
    CHECK(read_file(output) == bytes);
}

// Each file of the folder as the output, by its name and by a link.
void check_folder(const std::string& folder) {
    TempFolder links;
    std::map<std::string, std::string> before = contents_of(folder);
    for (const auto& [name, bytes] : before) {
        check_protected(folder, "", folder + "/" + name);
        fs::create_symlink(folder + "/" + name, links / name);
        check_protected(folder, "", links / name);
    }
    CHECK(contents_of(folder) == before);
}

}  // namespace

TEST_CASE("convert output: no file of a checkpoint is written over, whatever it is for") {
    HfModel model = text_model();
    TempFolder hf, tensorflow;
    model.files["added_tokens.json"] = "{\"new\":261}";
    model.files["tokenizer.json"] =
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"added_tokens\":[]}";
    model.write(hf.path());
    check_folder(hf.path());

    tf_model(small_model(), 2).write(tensorflow.path());
    write_file(tensorflow / "encoder.json", "{\"a\":0,\"b\":1}");
    write_file(tensorflow / "vocab.bpe", "#version: 0.2\n");
    write_file(tensorflow / "checkpoint", "model_checkpoint_path: \"model.ckpt\"\n");
    check_folder(tensorflow.path());
}

TEST_CASE("convert output: nor is a file of those that others made") {
    std::string all = outside_data("checkpoints");
    if (all.empty())
        return;
    for (const auto& entry : fs::directory_iterator(all)) {
        TempFolder folder;
        for (const auto& file : fs::directory_iterator(entry.path())) {
            if (file.path().filename() != "expected.json")
                fs::copy(file.path(), folder.path());
        }
        check_folder(folder.path());
    }
}

TEST_CASE("convert output: nor is the vocabulary that --vocab names, nor the one it stands for") {
    TempFolder source, vocab;
    HfModel model = text_model();
    model.write(source.path());
    for (const auto& [name, bytes] : model.files)
        write_file(vocab / name, bytes);
    for (const std::string& given : {vocab.path(), vocab / "vocab.json"}) {
        for (const char* name : {"vocab.json", "merges.txt"}) {
            check_protected(source.path(), given, vocab / name);
            check_protected(source.path(), given, source / name);
        }
    }
}

TEST_CASE("convert output: what is made of a weight file may lie beside it, and is replaced") {
    TempFolder folder;
    HfModel model = text_model();
    model.write(folder.path());
    std::string config = read_file(folder / "config.json");
    REQUIRE(convert_to(folder.path(), folder / "m.mgpt").status.ok());
    Converted back = convert_to(folder / "m.mgpt", folder / "back.safetensors", {}, true);
    CAPTURE(std::string(back.status.message()));
    CHECK(back.status.ok());
    CHECK(read_file(folder / "config.json") != config);
    CHECK(convert_to(folder / "model.safetensors", folder / "m.mgpt").status.ok());
}
