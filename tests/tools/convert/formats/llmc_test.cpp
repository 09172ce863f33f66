// llm.c's models give the bits of the model that they were made from, its vocabularies their
// merges; or one line.
#include "convert/formats/readers.h"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "tests/json.h"
#include "tests/tools/convert/formats/torch_maker.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

namespace fs = std::filesystem;

std::string ints(const std::vector<int64_t>& values) {
    std::string bytes;
    for (int64_t value : values) {
        int32_t v = static_cast<int32_t>(value);
        bytes.append(reinterpret_cast<const char*>(&v), 4);
    }
    bytes.resize(1024);
    return bytes;
}

// As train_gpt2.py writes it: every kind of a layer's tensors for all layers together.
std::string llmc(const HfModel& model, int version, uint32_t n_vocab) {
    const Config& c = model.config;
    HfModel from = model;
    std::string out = ints({20240326, version, c.n_ctx, version == 1 ? c.n_rows : n_vocab,
                            c.n_layer, c.n_head, c.n_embd, version == 1 ? 0 : c.n_rows});
    out += from.tensor("wte.weight").data + from.tensor("wpe.weight").data;
    for (const char* kind :
         {"ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"}) {
        for (const char* part : {".weight", ".bias"}) {
            for (uint32_t i = 0; i < c.n_layer; i++) {
                SavedTensor& t = from.tensor("h." + std::to_string(i) + "." + kind + part);
                out += t.shape.size() == 2 ? transposed(t).data : t.data;
            }
        }
    }
    return out + from.tensor("ln_f.weight").data + from.tensor("ln_f.bias").data;
}

std::string llmc_vocabulary(const std::vector<std::string>& tokens, int64_t eot, int version = 2) {
    std::string out = ints({20240328, version, static_cast<int64_t>(tokens.size()), eot});
    for (const std::string& token : tokens)
        out += static_cast<char>(token.size()) + token;
    return out;
}

// 256 bytes from high to low, merges, the end of text.
std::vector<std::string> small_vocabulary() {
    std::vector<std::string> tokens;
    for (int b = 255; b >= 0; b--)
        tokens.emplace_back(1, static_cast<char>(b));
    for (const char* merged : {"he", " t", " the", "ll", "llo", "hello", "aa", "aaaa", "lll"})
        tokens.push_back(merged);
    tokens.push_back("<|endoftext|>");
    return tokens;
}

Status load(const std::vector<std::string>& tokens, int64_t eot, convert::Vocabulary* vocabulary) {
    return convert::load_llmc_tokenizer("t.bin", llmc_vocabulary(tokens, eot), vocabulary);
}

void check_bad_vocabulary(const std::string& bytes, const std::string& word) {
    convert::Vocabulary vocabulary;
    std::string message = convert::load_llmc_tokenizer("t.bin", bytes, &vocabulary).message();
    CAPTURE(message);
    CAPTURE(word);
    CHECK(message.rfind("t.bin: ", 0) == 0);
    CHECK(message.find(word) != std::string::npos);
}

// The bytes and the merges of two vocabularies are the same.
void check_same(const convert::Vocabulary& a, const convert::Vocabulary& b) {
    CHECK(a.kind == b.kind);
    CHECK(a.bytes == b.bytes);
    CHECK(a.offsets == b.offsets);
    CHECK(a.specials == b.specials);
    CHECK(a.end_of_text == b.end_of_text);
    REQUIRE(a.merges.size() == b.merges.size());
    size_t n_different = 0;
    for (size_t i = 0; i < a.merges.size(); i++) {
        n_different += a.merges[i].left != b.merges[i].left ||
                       a.merges[i].right != b.merges[i].right ||
                       a.merges[i].merged != b.merges[i].merged;
    }
    CHECK(n_different == 0);
}

std::vector<std::string> tokens_of(const convert::Vocabulary& vocabulary) {
    std::vector<std::string> tokens;
    for (size_t i = 0; i < vocabulary.n_tokens(); i++) {
        uint64_t begin = vocabulary.offsets[i];
        tokens.push_back(vocabulary.bytes.substr(begin, vocabulary.offsets[i + 1] - begin));
    }
    return tokens;
}

void check_file_refused(const std::string& bytes, const std::vector<std::string>& words) {
    TempFolder folder;
    write_file(folder / "model.bin", bytes);
    check_refused_folder(folder / "model.bin", words);
}

}  // namespace

TEST_CASE("convert llm.c: versions 1, 3 and 5 arrive to the bit") {
    const std::pair<int, const char*> versions[] = {{1, "F32"}, {3, "F32"}, {5, "BF16"}};
    for (const auto& [version, dtype] : versions) {
        for (uint32_t n_vocab : {20u, 17u}) {
            HfModel model = small_model(dtype);
            TempFolder folder, out;
            write_file(folder / "gpt2_124M.bin", llmc(model, version, n_vocab));
            Converted done = convert_to(folder.path(), out / "m.mgpt");
            CAPTURE(std::string(done.status.message()));
            REQUIRE(done.status.ok());
            Model opened;
            REQUIRE(opened.open((out / "m.mgpt").c_str()).ok());
            check_same_bits(opened, model.tensors);
            const Config& c = done.report.plan.config;
            CHECK(c.n_rows == 20);
            CHECK(c.n_vocab == (version == 1 ? 20 : n_vocab));
            CHECK(c.activation == Activation::gelu_tanh);
            CHECK(c.tied);
            CHECK(c.biases == kBiasAll);
            CHECK(done.report.source_format == "llm.c");
            CHECK(done.report.type == (version == 5 ? ElementType::bf16 : ElementType::f32));
        }
    }
}

TEST_CASE("convert llm.c: a file that is cut, or longer by one byte, is refused") {
    std::string bytes = llmc(small_model(), 3, 20);
    check_file_refused(bytes + "x", {"model.bin: ", std::to_string(bytes.size() + 1) + " bytes"});
    for (size_t n = 1; n < bytes.size(); n += n < 1040 ? 1 : 61)
        check_file_refused(bytes.substr(0, n), {"model.bin"});
    check_file_refused(bytes.substr(0, bytes.size() - 1), {"its header gives"});
    check_file_refused(llmc(small_model("BF16"), 3, 20), {"its header gives"});
    check_file_refused(llmc(small_model("F32"), 5, 20), {"its header gives"});
}

TEST_CASE("convert llm.c: a header that lies is refused, whatever it claims") {
    std::string sound = llmc(small_model(), 3, 20);
    auto with = [&](size_t field, int64_t value) {
        std::string bytes = sound;
        int32_t v = static_cast<int32_t>(value);
        memcpy(&bytes[4 * field], &v, 4);
        return bytes;
    };
    for (int64_t version : {0, 2, 4, 6, -1, INT32_MIN})
        check_file_refused(with(1, version), {"version is " + std::to_string(version)});
    for (size_t field = 2; field < 8; field++) {
        CAPTURE(field);
        for (int64_t value : {int64_t{0}, int64_t{-1}, int64_t{INT32_MIN}})
            check_file_refused(with(field, value), {"is " + std::to_string(value), "at least 1"});
        for (int64_t value : {INT32_MAX, 1 << 30, 1 << 20, 1 << 12, 65536})
            check_file_refused(with(field, value), {"model.bin: "});
    }
    check_file_refused(with(3, 21), {"padded n_vocab is 20; n_vocab is 21"});
    check_file_refused(with(5, 3), {"n_head"});
    std::string all = sound;
    for (size_t field = 2; field < 8; field++) {
        int32_t v = INT32_MAX;
        memcpy(&all[4 * field], &v, 4);
    }
    check_file_refused(all, {"model.bin: "});
    CHECK(with(2, 6) == sound);
}

TEST_CASE("convert llm.c: a weight that is not finite is refused by its name and place") {
    HfModel model = small_model();
    SavedTensor& t = model.tensor("h.1.attn.c_proj.weight");
    t.data.replace(4 * (2 * 8 + 5), 4, "\x00\x00\xc0\x7f", 4);
    check_file_refused(llmc(model, 3, 20), {"h.1.attn.c_proj.weight", "[2, 5]"});
}

TEST_CASE("convert llm.c: merges are recovered from a vocabulary's tokens") {
    convert::Vocabulary vocabulary;
    std::vector<std::string> tokens = small_vocabulary();
    REQUIRE(load(tokens, 265, &vocabulary).ok());
    CHECK(vocabulary.kind == TokenizerKind::bpe);
    CHECK(tokens_of(vocabulary) == tokens);
    CHECK(vocabulary.specials == std::vector<int32_t>{265});
    CHECK(vocabulary.end_of_text == 265);
    auto byte = [](char c) { return 255 - static_cast<unsigned char>(c); };
    const std::vector<std::array<int32_t, 3>> expected = {{byte('h'), byte('e'), 256},
                                                          {byte(' '), byte('t'), 257},
                                                          {257, 256, 258},
                                                          {byte('l'), byte('l'), 259},
                                                          {259, byte('o'), 260},
                                                          {256, 260, 261},
                                                          {byte('a'), byte('a'), 262},
                                                          {262, 262, 263},
                                                          {259, byte('l'), 264}};
    REQUIRE(vocabulary.merges.size() == expected.size());
    for (size_t i = 0; i < expected.size(); i++) {
        CHECK(vocabulary.merges[i].left == expected[i][0]);
        CHECK(vocabulary.merges[i].right == expected[i][1]);
        CHECK(vocabulary.merges[i].merged == expected[i][2]);
    }

    // The end of text in the middle, and bytes that come after merges of others.
    std::vector<std::string> mixed = {"The End", "a", "b", "ab"};
    for (int b = 0; b < 256; b++) {
        if (b != 'a' && b != 'b')
            mixed.emplace_back(1, static_cast<char>(b));
    }
    mixed.push_back("abc");
    REQUIRE(load(mixed, 0, &vocabulary).ok());
    CHECK(vocabulary.specials == std::vector<int32_t>{0});
    CHECK(vocabulary.end_of_text == 0);
    REQUIRE(vocabulary.merges.size() == 2);
    CHECK(vocabulary.merges[1].left == 3);
    CHECK(vocabulary.merges[1].right == 4 + 'c' - 2);
}

TEST_CASE("convert llm.c: a vocabulary that no merges give is refused by the token's id") {
    std::vector<std::string> sound = small_vocabulary();
    sound.pop_back();
    auto with = [&](const std::string& token) {
        std::vector<std::string> tokens = sound;
        tokens.push_back(token);
        tokens.push_back("<|endoftext|>");
        return llmc_vocabulary(tokens, 266);
    };
    convert::Vocabulary vocabulary;
    CHECK(convert::load_llmc_tokenizer("t", with("hehe"), &vocabulary).ok());
    check_bad_vocabulary(with("xyz"), "token 265");   // three pieces
    check_bad_vocabulary(with("the "), "token 265");  // t, he, space
    check_bad_vocabulary(with("hello"), "token 26");  // there already
    check_bad_vocabulary(with("q"), "token 265");     // a byte twice
    check_bad_vocabulary(with(""), "token 265");      // no bytes
    check_bad_vocabulary(with(std::string(255, 'a')), "token 265");
    std::vector<std::string> tokens = small_vocabulary();
    std::swap(tokens[257], tokens[258]);  // " the" before " t": its parts are not there yet
    check_bad_vocabulary(llmc_vocabulary(tokens, 265), "token 257");
    tokens = small_vocabulary();
    tokens.erase(tokens.begin() + 5);  // a byte without a token
    check_bad_vocabulary(llmc_vocabulary(tokens, 264), "token 0");
}

TEST_CASE("convert llm.c: a vocabulary file that is cut or lies is refused") {
    std::string sound = llmc_vocabulary(small_vocabulary(), 265);
    for (size_t n = 0; n < sound.size(); n += n < 1024 ? 31 : 1)
        check_bad_vocabulary(sound.substr(0, n), n < 1024 ? "the header" : "is cut off");
    check_bad_vocabulary(sound + "x", "1 byte after the last token");
    auto with = [&](size_t field, int64_t value) {
        std::string bytes = sound;
        int32_t v = static_cast<int32_t>(value);
        memcpy(&bytes[4 * field], &v, 4);
        return bytes;
    };
    for (int64_t version : {0, 3, -1})
        check_bad_vocabulary(with(1, version), "version is");
    check_bad_vocabulary(with(1, 1), "end-of-text id is 50256");
    for (int64_t count : {0, -1, INT32_MAX, 1 << 30, (1 << 20) + 1})
        check_bad_vocabulary(with(2, count), "tokens");
    check_bad_vocabulary(with(2, 1 << 20), "is cut off");
    check_bad_vocabulary(with(2, 265), "end-of-text id is 265");
    for (int64_t eot : {266, -1, INT32_MAX})
        check_bad_vocabulary(with(3, eot), "end-of-text id is");
}

TEST_CASE("convert llm.c: the vocabulary lies beside the model, or is named") {
    HfModel model = small_model();
    model.config.n_rows = 272;
    SavedTensor& wte = model.tensor("wte.weight");
    wte.shape[0] = 272;
    wte.data = random_numbers("F32", 272 * 8, 1);
    TempFolder folder, other, out;
    write_file(folder / "model.bin", llmc(model, 3, 266));
    std::string vocabulary = llmc_vocabulary(small_vocabulary(), 265);
    write_file(folder / "gpt2_tokenizer.bin", vocabulary);
    Converted done = convert_to(folder.path(), out / "m.mgpt");
    CAPTURE(std::string(done.status.message()));
    REQUIRE(done.status.ok());
    CHECK(done.report.vocabulary_source == "gpt2_tokenizer.bin");
    CHECK(done.report.n_tokens == 266);
    CHECK(done.report.n_merges == 9);
    Ran ran = run_program("gpt2", {"tokenize", "-m", out / "m.mgpt", "-p", "hello the llll"});
    CAPTURE(ran.err);
    int space = 255 - ' ';
    CHECK(ids_of(ran.out) == std::vector<int>{261, 258, space, 259, 259});

    fs::rename(folder / "gpt2_tokenizer.bin", other / "any.name");
    convert::Options options;
    options.source = folder.path();
    options.output = out / "n.mgpt";
    options.vocab = other / "any.name";
    Converted named = convert_with(options);
    REQUIRE(named.status.ok());
    CHECK(named.report.n_merges == 9);
    // More tokens than the model says it has, though its table has rows for them.
    write_file(folder / "model.bin", llmc(model, 3, 265));
    Converted more = convert_with(options);
    CHECK(std::string(more.status.message()).find("266 tokens, but the checkpoint has 265") !=
          std::string::npos);
}

TEST_CASE("convert llm.c: a file as others made it, and its vocabulary in llm.c's own form") {
    std::string folder = "tests/data/checkpoints/llmc-v3-f32";
    TempFolder out, own;
    Converted done = convert_to(folder, out / "a.mgpt");
    REQUIRE(done.status.ok());
    CHECK(done.report.plan.config.n_vocab == 500);
    CHECK(done.report.plan.config.n_rows == 512);
    convert::Vocabulary made, recovered;
    REQUIRE(convert::find_vocabulary(folder, &made).ok());
    REQUIRE(load(tokens_of(made), 499, &recovered).ok());
    check_same(made, recovered);
    fs::copy_file(folder + "/model.bin", own / "model.bin");
    write_file(own / "gpt2_tokenizer.bin", llmc_vocabulary(tokens_of(made), 499));
    REQUIRE(convert_to(own.path(), out / "b.mgpt").status.ok());
    Json truth = Json::read(folder + "/expected.json");
    Ran ran = gpt2({"tokenize", "-m", out / "b.mgpt", "-p", truth["text"].text});
    CHECK(ids_of(ran.out) == truth["prompt_ids"].numbers<int>());
}

TEST_CASE("convert llm.c: GPT-2's own merges are recovered, each as OpenAI listed it") {
    std::string folder = outside_data("vocab");
    if (folder.empty())
        return;
    convert::Vocabulary listed, recovered;
    REQUIRE(convert::find_vocabulary(folder, &listed).ok());
    REQUIRE(listed.n_tokens() == 50257);
    REQUIRE(load(tokens_of(listed), 50256, &recovered).ok());
    check_same(listed, recovered);
    std::string version1 = llmc_vocabulary(tokens_of(listed), 7, 1);
    REQUIRE(convert::load_llmc_tokenizer("t.bin", version1, &recovered).ok());
    check_same(listed, recovered);
}
