// A vocabulary that lost a part, or is another than it seems, is refused: it would give other ids.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/tools/convert/text_model.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

namespace fs = std::filesystem;

HfModel with(const std::string& name, const std::string& bytes) {
    HfModel model = text_model();
    model.files[name] = bytes;
    return model;
}

void check_converts(const HfModel& model, TokenizerKind kind) {
    TempFolder folder, out;
    model.write(folder.path());
    Converted done = convert_to(folder.path(), out / "m.mgpt");
    CAPTURE(std::string(done.status.message()));
    REQUIRE(done.status.ok());
    CHECK(done.report.vocabulary_kind == kind);
}

// A tokenizer.json of the text model's vocabulary. `merges` and `settings` are JSON.
std::string tokenizer_json(const std::string& merges, const std::string& model_settings,
                           const std::string& settings) {
    return "{\"model\":{\"type\":\"BPE\"," + model_settings +
           "\"vocab\":" + text_model().files["vocab.json"] + ",\"merges\":" + merges + "}," +
           settings + "\"added_tokens\":[{\"id\":260,\"content\":\"<|endoftext|>\"}]}";
}

const char kMerges[] = "[\"h e\",\"l l\",\"he ll\",\"hell o\"]";
const char kSplit[] = "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},";

HfModel with_tokenizer(const std::string& text) {
    HfModel model = text_model();
    model.files = {{"tokenizer.json", text}};
    return model;
}

}  // namespace

TEST_CASE("convert vocabulary: merges that are cut anywhere are refused") {
    std::string merges = text_model().files["merges.txt"];
    check_converts(text_model(), TokenizerKind::bpe);
    // The last line's end alone may be missing.
    for (size_t n = 0; n + 1 < merges.size(); n++)
        check_refused(with("merges.txt", merges.substr(0, n)), {"merges.txt"});
    check_refused(with("merges.txt", "\n\n\n"),
                  {"merges.txt", "no merge of its 0 makes", "\"he\""});
    check_refused(with("merges.txt", "#version: 0.2\nl l\nhe ll\nhell o\n"), {"makes token 256"});
}

TEST_CASE("convert vocabulary: a tokenizer.json without its merges is refused") {
    check_converts(with_tokenizer(tokenizer_json(kMerges, "", kSplit)), TokenizerKind::bpe);
    for (const char* merges : {"[]", "[\"h e\"]", "[\"h e\",\"l l\",\"he ll\"]"}) {
        check_refused(with_tokenizer(tokenizer_json(merges, "", kSplit)),
                      {"tokenizer.json", "makes token"});
    }
}

TEST_CASE("convert vocabulary: special tokens need no merge") {
    HfModel model = text_model();
    std::string& vocab = model.files["vocab.json"];
    vocab.back() = ',';
    vocab += "\"[PAD]\":261,\"__sep__\":262}";
    check_refused(model, {"merges.txt", "token 262", "__sep__", "added_tokens.json"});
    model.files["added_tokens.json"] = "{\"__sep__\":262}";
    check_converts(model, TokenizerKind::bpe);
}

TEST_CASE("convert vocabulary: bytes and characters need no merges, listed or not") {
    HfModel bytes = text_model(), characters = text_model();
    std::string& vocab = bytes.files["vocab.json"];
    vocab = vocab.substr(0, vocab.find(",\"he\"")) + ",\"<|endoftext|>\":256}";
    for (const char* merges : {"#version: 0.2\n", ""}) {
        bytes.files["merges.txt"] = merges;
        check_converts(bytes, TokenizerKind::bpe);
        characters.files = {{"vocab.json", "{\"a\":0,\"b\":1,\"<unk>\":2}"},
                            {"merges.txt", merges}};
        check_converts(characters, TokenizerKind::chars);
    }
    characters.files.erase("merges.txt");
    check_converts(characters, TokenizerKind::chars);
}

TEST_CASE("convert vocabulary: a file that is there and cannot be read is not passed over") {
    for (const char* name : {"vocab.json", "encoder.json", "merges.txt", "added_tokens.json",
                             "tokenizer.json", "meta.pkl"}) {
        for (const char* kind : {"link", "fifo", "folder"}) {
            CAPTURE(std::string(name));
            CAPTURE(std::string(kind));
            TempFolder folder;
            text_model().write(folder.path());
            fs::remove(folder / name);
            if (kind[0] == 'l')
                fs::create_symlink("nowhere", folder / name);
            else if (kind[1] == 'i')
                REQUIRE(mkfifo((folder / name).c_str(), 0600) == 0);
            else
                fs::create_directory(folder / name);
            check_refused_folder(
                folder.path(), {name, kind[0] == 'l' ? "a link to nothing" : "not a regular file"});
        }
    }
}

TEST_CASE("convert vocabulary: merges alone are refused where they are not all") {
    HfModel model = text_model();
    model.files.erase("vocab.json");
    check_converts(model, TokenizerKind::bpe);
    model.set("eos_token_id", "260");
    check_converts(model, TokenizerKind::bpe);
    for (const char* merges : {"", "\n", "#version: 0.2\n"}) {
        model.files["merges.txt"] = merges;
        check_refused(model, {"merges.txt", "there is no merge in it"});
    }
    model.files["merges.txt"] = "h e\nl l\nhe ll\n";
    check_refused(model, {"merges.txt", "260 tokens", "eos_token_id 260"});
    model.set("eos_token_id", "");
    check_converts(model, TokenizerKind::bpe);  // 4 rows of padding: nothing tells
    model.set("vocab_size", "400");
    SavedTensor& table = model.tensor("wte.weight");
    table.shape[0] = 400;
    table.data = random_numbers("F32", 400 * 32, 1);
    check_refused(model, {"merges.txt", "260 tokens", "400 rows"});
    // 127 rows more may be padding to a multiple of 128, and 128 are not.
    for (uint64_t more : {127, 128}) {
        model.set("vocab_size", std::to_string(260 + more));
        table.shape[0] = 260 + more;
        table.data = random_numbers("F32", (260 + more) * 32, 1);
        if (more < 128)
            check_converts(model, TokenizerKind::bpe);
        else
            check_refused(model, {"merges.txt", "260 tokens", "388 rows"});
    }
    std::string own = read_file("models/gpt2-merges.txt");
    model.files["merges.txt"] = own.substr(0, own.find('\n', 500) + 1);
    check_refused(model, {"merges.txt", "GPT-2's merges"});
}

TEST_CASE(
    "convert vocabulary: settings of tokenizer.json that give other ids are refused by name") {
    const std::string byte_level = "\"pre_tokenizer\":{\"type\":\"ByteLevel\"";
    const std::vector<std::vector<std::string>> all = {
        {"", byte_level + ",\"add_prefix_space\":true},", "pre_tokenizer", "add_prefix_space"},
        {"", byte_level + ",\"use_regex\":false},", "pre_tokenizer", "use_regex"},
        {"", "\"pre_tokenizer\":null,", "pre_tokenizer", "found null"},
        {"", "", "pre_tokenizer", "found null"},
        {"", "\"pre_tokenizer\":{},", "pre_tokenizer", "without a type"},
        {"", "\"pre_tokenizer\":{\"type\":\"Split\"},", "pre_tokenizer", "Split"},
        {"\"dropout\":0.1,", kSplit, "dropout", "is set"},
        {"\"dropout\":1,", kSplit, "dropout", "is set"},
        {"\"ignore_merges\":true,", kSplit, "ignore_merges", "is set"},
        {"", std::string(kSplit) + "\"normalizer\":{},", "normalizer", "without a type"},
        {"", std::string(kSplit) + "\"normalizer\":{\"a\":1},", "normalizer", "expected null"},
        {"", std::string(kSplit) + "\"normalizer\":{\"type\":\"NFC\"},", "normalizer", "NFC"},
    };
    for (const std::vector<std::string>& one : all) {
        std::string text = tokenizer_json(kMerges, one[0], one[1]);
        CAPTURE(text.substr(text.find("\"merges\"")));
        check_refused(with_tokenizer(text), {"tokenizer.json", one[2], one[3]});
        // Beside vocab.json and merges.txt it says how they are used.
        check_refused(with("tokenizer.json", text), {"tokenizer.json", one[2], one[3]});
    }
    const char* off =
        "\"dropout\":null,\"ignore_merges\":false,\"continuing_subword_prefix\":\"\",";
    for (const char* dropout : {"", "\"unk_token\":null,"}) {
        std::string text = tokenizer_json(
            kMerges, std::string(off) + dropout,
            byte_level +
                ",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true},"
                "\"normalizer\":null,\"post_processor\":{\"type\":\"ByteLevel\"},");
        check_converts(with_tokenizer(text), TokenizerKind::bpe);
        check_converts(with("tokenizer.json", text), TokenizerKind::bpe);
    }
}
