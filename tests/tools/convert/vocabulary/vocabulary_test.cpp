// From vocabulary files to tokens.
#include "convert/vocabulary/vocabulary.h"

#include <doctest/doctest.h>

#include "tests/tools/convert/maker.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += c;
    }
    return out + "\"";
}

// 256 bytes as ids 0 ... 255, in the order of the bytes, then these tokens.
std::string vocab_json(const std::vector<std::string>& more, size_t first_id = 256) {
    std::string text = "{";
    for (int b = 0; b < 256; b++) {
        text += quoted(convert::encode_byte(static_cast<unsigned char>(b))) + ":" +
                std::to_string(b) + ",";
    }
    for (const std::string& token : more) {
        text += quoted(token) + ":" + std::to_string(first_id++) + ",";
    }
    text.back() = '}';
    return text;
}

// A model with a table of so many rows and these files beside it.
HfModel with_files(uint64_t n_rows, std::map<std::string, std::string> files) {
    HfModel model = small_model();
    model.set("vocab_size", std::to_string(n_rows));
    model.tensor("wte.weight").shape[0] = n_rows;
    model.tensor("wte.weight").data = random_numbers("F32", n_rows * 8, 5);
    model.files = std::move(files);
    return model;
}

// The converted model's tokenizer, and what keeps it alive.
struct Opened {
    TempFolder folder, out;
    Model model;
    Tokenizer tokenizer;

    explicit Opened(const HfModel& source) {
        source.write(folder.path());
        Converted done = convert_to(folder.path(), out / "m.mgpt");
        CAPTURE(std::string(done.status.message()));
        REQUIRE(done.status.ok());
        REQUIRE(model.open((out / "m.mgpt").c_str()).ok());
        REQUIRE(tokenizer.open(model).ok());
    }
    std::string token(int32_t id) const { return std::string(tokenizer.token(id)); }
    std::vector<int32_t> encode(const std::string& text,
                                SpecialTokens special = SpecialTokens::as_text) const {
        std::vector<int32_t> ids(text.size());
        size_t n = 0;
        REQUIRE(tokenizer.encode(text, ids.data(), ids.size(), &n, special).ok());
        ids.resize(n);
        return ids;
    }
};

const std::vector<std::string> kMore = {"ab", "\u0120c", "abc", "##", "<|endoftext|>"};
const std::string kMerges = "#version: 0.2\na b\n\u0120 c\nab c\n# #\n";
using Ids = std::vector<int32_t>;

void check_small_bpe(const Opened& opened) {
    CHECK(opened.tokenizer.kind() == TokenizerKind::bpe);
    CHECK(opened.model.config().n_vocab == 261);
    CHECK(opened.tokenizer.eos() == 260);
    CHECK(opened.token(257) == " c");
    CHECK(opened.token(0) == std::string(1, '\0'));
    CHECK(opened.token(0xff) == "\xff");
    CHECK(opened.encode("abc c##") == Ids{258, 257, 259});
    CHECK(opened.encode("<|endoftext|>").size() == 13);
    CHECK(opened.encode("a<|endoftext|>", SpecialTokens::parse) == Ids{'a', 260});
}

}  // namespace

TEST_CASE("convert vocabulary: the byte-encoder is one to one and prints") {
    for (int b = 0; b < 256; b++) {
        std::string bytes;
        REQUIRE(convert::decode_bytes(convert::encode_byte(static_cast<unsigned char>(b)), &bytes));
        CHECK(bytes == std::string(1, static_cast<char>(b)));
    }
    CHECK(convert::encode_byte(' ') == "\u0120");
    CHECK(convert::encode_byte('\n') == "\u010a");
    CHECK(convert::encode_byte(0xad) == "\u0143");
    std::string bytes;
    for (const char* text : {" ", "\u0144", "\u20ac", "a\u0200", "\x7f"}) {
        CHECK(!convert::decode_bytes(text, &bytes));
    }
}

TEST_CASE("convert vocabulary: vocab.json and merges.txt, however lines end") {
    std::string crlf, open = kMerges.substr(0, kMerges.size() - 1);
    for (char c : kMerges)
        crlf += c == '\n' ? "\r\n" : std::string(1, c);
    std::string bare = kMerges.substr(kMerges.find('\n') + 1);
    for (const std::string& merges : {kMerges, crlf, open, bare, kMerges + "\n\n"}) {
        check_small_bpe(
            Opened(with_files(261, {{"vocab.json", vocab_json(kMore)}, {"merges.txt", merges}})));
    }
    check_small_bpe(
        Opened(with_files(261, {{"encoder.json", vocab_json(kMore)}, {"vocab.bpe", kMerges}})));
}

TEST_CASE("convert vocabulary: tokenizer.json, merges as texts or as pairs") {
    std::string model =
        "{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
        "\"continuing_subword_prefix\":\"\",\"fuse_unk\":false,\"vocab\":" +
        vocab_json(kMore) + ",\"merges\":";
    std::string rest =
        "},\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\","
        "\"add_prefix_space\":false},\"added_tokens\":[{\"id\":260,\"content\":"
        "\"<|endoftext|>\",\"special\":true}]}";
    std::string head = "{\"version\":\"1.0\",\"model\":";
    std::string texts = head + model + "[\"a b\",\"\u0120 c\",\"ab c\",\"# #\"]" + rest;
    std::string pairs =
        head + model + "[[\"a\",\"b\"],[\"\u0120\",\"c\"],[\"ab\",\"c\"],[\"#\",\"#\"]]" + rest;
    for (const std::string& text : {texts, pairs}) {
        check_small_bpe(Opened(with_files(261, {{"tokenizer.json", text}})));
        // Where merges.txt is lost, the whole tokenizer is still in tokenizer.json.
        check_small_bpe(
            Opened(with_files(261, {{"tokenizer.json", text}, {"vocab.json", vocab_json(kMore)}})));
    }
    auto check_changed = [&](const char* from, const std::string& to, const char* word) {
        std::string text = texts;
        size_t at = text.find(from);
        REQUIRE(at != std::string::npos);
        text.replace(at, std::string(from).size(), to);
        check_refused(with_files(261, {{"tokenizer.json", text}}), {"tokenizer.json", word});
    };
    check_changed("\"ByteLevel\"", "\"Metaspace\"", "Metaspace");
    check_changed("\"normalizer\":null", "\"normalizer\":{\"type\":\"Lowercase\"}", "Lowercase");
    check_changed("\"type\":\"BPE\"", "\"type\":\"Unigram\"", "Unigram");
    check_changed("prefix\":\"\"", "prefix\":\"##\"", "continuing_subword_prefix");
    check_changed("\"a b\"", "\"a  b\"", "line 1");
    check_changed("\"a b\"", "[\"a\"]", "merge 1");
    check_changed("\"id\":260", "\"id\":262", "261");
}

TEST_CASE("convert vocabulary: merges alone have GPT-2's own ids") {
    Opened opened(with_files(260, {{"merges.txt", "#version: 0.2\na b\n\u0120 c\nab c\n"}}));
    CHECK(opened.model.config().n_vocab == 260);
    CHECK(opened.token(0) == "!");
    CHECK(opened.token(188) == std::string(1, '\0'));
    CHECK(opened.token(220) == " ");
    CHECK(opened.token(258) == "abc");
    CHECK(opened.tokenizer.eos() == 259);
}

TEST_CASE("convert vocabulary: added tokens are their own bytes, and special") {
    std::map<std::string, std::string> files = {
        {"vocab.json", vocab_json(kMore)},
        {"merges.txt", kMerges},
        {"added_tokens.json", "{\"<|im end|>\":261,\"\u0120x\":262}"}};
    HfModel model = with_files(264, files);
    model.set("eos_token_id", "261");
    Opened opened(model);
    CHECK(opened.model.config().n_vocab == 263);
    CHECK(opened.model.config().n_rows == 264);
    CHECK(opened.token(261) == "<|im end|>");
    CHECK(opened.token(262) == "\u0120x");
    CHECK(opened.tokenizer.is_special(261));
    CHECK(opened.tokenizer.is_special(260));
    CHECK(!opened.tokenizer.is_special(258));
    CHECK(opened.tokenizer.eos() == 261);
    CHECK(opened.encode("<|im end|>").size() > 1);
    CHECK(opened.encode("<|im end|>", SpecialTokens::parse) == Ids{261});
    // An ordinary token, or none at all, ends nothing.
    for (const char* eos : {"97", "50256", "[261, 260]"}) {
        model.set("eos_token_id", eos);
        CHECK(Opened(model).tokenizer.eos() == (eos[0] == '[' ? 261 : 260));
    }
}

TEST_CASE("convert vocabulary: single characters and no merges are a character vocabulary") {
    Opened opened(with_files(6, {{"vocab.json",
                                  "{\"a\":0,\"\u00e9\":1,\"\\ud83d\\ude00\":2,"
                                  "\"\\n\":3,\"<unk>\":4}"}}));
    CHECK(opened.tokenizer.kind() == TokenizerKind::chars);
    CHECK(opened.model.config().n_vocab == 5);
    CHECK(opened.encode("\u00e9\na\U0001f600") == Ids{1, 3, 0, 2});
    CHECK(opened.tokenizer.is_special(4));
    CHECK(opened.tokenizer.eos() == -1);
    check_refused(with_files(6, {{"vocab.json", "{\"a\":0,\"bc\":1}"}}),
                  {"vocab.json", "\"bc\"", "merges.txt"});
    check_refused(with_files(6, {{"vocab.json", "{\"a\":0,\"\":1}"}}), {"vocab.json", "\"\""});
}

TEST_CASE("convert vocabulary: holes, doubles and excess are refused") {
    auto check_bad = [](uint64_t n_rows, const std::string& vocab, const std::string& merges,
                        const std::vector<std::string>& words) {
        CAPTURE(words[0]);
        check_refused(with_files(n_rows, {{"vocab.json", vocab}, {"merges.txt", merges}}), words);
    };
    check_bad(300, vocab_json(kMore, 257), kMerges, {"vocab.json", "no token has id 256"});
    check_bad(300, vocab_json(kMore, 255), kMerges, {"id 255 is both"});
    check_bad(260, vocab_json(kMore), kMerges, {"261 tokens", "260 rows"});
    check_bad(300, vocab_json({"x\u0120", "x\u0120"}), kMerges, {"vocab.json", "twice"});
    check_bad(300, "{\"a\":0,\"b\":18446744073709551615}", "", {"no token has id 1"});
    check_bad(300, "{\"a\":0,\"b\":-1}", "", {"vocab.json", "b", "-1"});
    check_bad(300, "{\"a\":0,\"b\":\"1\"}", "", {"vocab.json"});
    check_bad(300, "{}", kMerges, {"vocab.json", "0 tokens"});
    check_bad(300, "", kMerges, {"vocab.json"});
    check_bad(300, "{\"a\":0,\"b\":1,\"ab\":2}", "a b\n", {"none for byte 0x00"});
    check_refused(with_files(300, {{"vocab.json", vocab_json(kMore)},
                                   {"merges.txt", kMerges},
                                   {"added_tokens.json", "{\"new\":260}"}}),
                  {"id 260 is both"});
    check_refused(with_files(300, {{"vocab.json", vocab_json(kMore)},
                                   {"merges.txt", kMerges},
                                   {"added_tokens.json", "{\"abc\":261}"}}),
                  {"token 261"});
}

TEST_CASE("convert vocabulary: merges that do not fit are refused with their line") {
    auto check_merges = [](const std::string& merges, const std::vector<std::string>& words) {
        CAPTURE(merges);
        check_refused(with_files(300, {{"vocab.json", vocab_json(kMore)}, {"merges.txt", merges}}),
                      words);
    };
    check_merges(kMerges + "x y\n", {"merges.txt", "line 6", "\"xy\"", "vocab.json"});
    check_merges(kMerges + "xx a\n", {"line 6", "\"xx\""});
    check_merges(kMerges + "a\n", {"line 6", "two tokens"});
    check_merges(kMerges + "a b c\n", {"line 6", "two tokens"});
    check_merges("a b\n\n# #\n", {"line 2", "two tokens"});
    check_merges("a b\n#version\n", {"line 2", "#version"});
    check_merges(kMerges + "a b\n", {"merge 4"});
    check_merges(std::string("a \0b\n", 5), {"line 1"});
}

TEST_CASE("convert vocabulary: --vocab names a folder or a file") {
    TempFolder vocab, folder, out;
    write_file(vocab / "encoder.json", vocab_json(kMore));
    write_file(vocab / "vocab.bpe", kMerges);
    HfModel model = with_files(300, {{"vocab.json", "{\"a\":0}"}});
    model.write(folder.path());
    convert::Options options;
    options.source = folder.path();
    options.output = out / "m.mgpt";
    auto convert_with = [&](const std::string& path) {
        convert::Report report;
        options.vocab = path;
        return convert::convert(
                   options, [](uint64_t, uint64_t) {}, &report)
            .status;
    };
    for (const std::string& path : {vocab.path(), vocab / "encoder.json"}) {
        REQUIRE(convert_with(path).ok());
        Model opened;
        REQUIRE(opened.open(options.output.c_str()).ok());
        CHECK(opened.config().n_vocab == 261);
    }
    REQUIRE(convert_with(vocab / "vocab.bpe").ok());
    CHECK(convert_with(vocab / "nothing").code() == Code::io);
    CHECK(convert_with(out.path()).code() == Code::bad_file);
}
