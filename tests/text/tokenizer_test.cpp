#include "minigpt/tokenizer.h"

#include <doctest/doctest.h>

#include <sstream>

#include "tests/json.h"
#include "tests/text/gpt2_vocabulary.h"

using namespace minigpt;
using Ids = std::vector<int32_t>;

namespace {

Ids gpt2(const std::string& text, SpecialTokens special = SpecialTokens::as_text) {
    return encode(gpt2_tokenizer(), text, special);
}

// Checks every row {text, ids} of a file of lines, and that the ids spell the text.
size_t check_rows(const std::string& lines) {
    size_t n = 0;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
        test::Json row = test::Json::parse(line);
        if (row.has("agrees_with_plain_bpe") && !row["agrees_with_plain_bpe"].boolean())
            continue;
        SpecialTokens special =
            row.has("special_tokens_parsed") && row["special_tokens_parsed"].boolean()
                ? SpecialTokens::parse
                : SpecialTokens::as_text;
        const std::string& text = row["text"].text;
        CAPTURE(text);
        Ids ids = gpt2(text, special);
        CHECK(ids == row["ids"].numbers<int32_t>());
        CHECK(decode(gpt2_tokenizer(), ids) == text);
        n++;
    }
    return n;
}

std::string random_bytes(TestRandom* random, size_t n) {
    std::string s;
    for (size_t i = 0; i < n; i++)
        s += static_cast<char>(random->below(256));
    return s;
}

}  // namespace

TEST_CASE("tokenizer: 200 texts in many scripts give tiktoken's ids") {
    CHECK(check_rows(read_file("tests/data/tokenizer/own.jsonl")) == 200);
}

TEST_CASE("tokenizer: other projects' cases, naughty strings and the UTF-8 demo give their ids") {
    std::string lines;
    if (!read_outside("tokenizer/vectors.jsonl", &lines))
        return;
    CHECK(check_rows(lines) > 90);
    for (const char* name : {"tokenizer/blns.jsonl", "tokenizer/utf8_demo.jsonl"}) {
        REQUIRE(read_outside(name, &lines));
        CHECK(check_rows(lines) > 100);
    }
}

TEST_CASE("tokenizer: tinyshakespeare gives tiktoken's count, first and last ids") {
    std::string text, truth;
    if (!read_outside("text/tinyshakespeare.txt", &text))
        return;
    REQUIRE(read_outside("tokenizer/tinyshakespeare.json", &truth));
    test::Json expected = test::Json::parse(truth);
    Ids ids = gpt2(text);
    CHECK(ids.size() == static_cast<size_t>(expected["n_ids"].integer()));
    REQUIRE(ids.size() > 100);
    CHECK(Ids(ids.begin(), ids.begin() + 50) == expected["first"].numbers<int32_t>());
    CHECK(Ids(ids.end() - 50, ids.end()) == expected["last"].numbers<int32_t>());
    CHECK(decode(gpt2_tokenizer(), ids) == text);
}

TEST_CASE("tokenizer: white space leaves its last character to the next word") {
    CHECK(gpt2("Hello  world") == Ids{15496, 220, 995});
    CHECK(gpt2("a\n\nb") == Ids{64, 198, 198, 65});
    CHECK(gpt2("a\n\n") == Ids{64, 628});
    CHECK(gpt2("\n\n") == Ids{628});
}

TEST_CASE("tokenizer: letters, numbers and white space are Unicode's, contractions ASCII") {
    CHECK(gpt2(" \xc2\x85x") == Ids{220, 126, 227, 87});
    CHECK(gpt2(" \xe2\x80\x8bx") == Ids{20126, 87});
    CHECK(gpt2("4 \xc2\xbd months") == Ids{19, 25208, 1933});
    CHECK(gpt2("IT'S") == Ids{2043, 6, 50});
}

TEST_CASE("tokenizer: merges go by rank, and a merge may begin with #") {
    CHECK(gpt2("brutalist") == Ids{1671, 315, 49845});
    CHECK(gpt2(" gracefully") == Ids{11542, 2759});
    CHECK(gpt2("##") == Ids{2235});
}

TEST_CASE("tokenizer: a very long word takes no recursion and no quadratic time") {
    Ids ids = gpt2(std::string(1000000, 'a'));
    CHECK(ids == Ids(250000, 24794));
    CHECK(decode(gpt2_tokenizer(), gpt2(std::string(300000, ' '))) == std::string(300000, ' '));
}

TEST_CASE("tokenizer: a special token in text is plain text unless asked for") {
    CHECK(gpt2("Hi<|endoftext|>") == Ids{17250, 27, 91, 437, 1659, 5239, 91, 29});
    CHECK(gpt2("Hi<|endoftext|>", SpecialTokens::parse) == Ids{17250, 50256});
    CHECK(gpt2("<|endoftext|><|endoftext|>x", SpecialTokens::parse) == Ids{50256, 50256, 87});
    CHECK(gpt2("<|endoftext|", SpecialTokens::parse) == gpt2("<|endoftext|"));
    // The word before it ends there: its white space has nothing to leave a character to.
    CHECK(gpt2("a\n\n<|endoftext|>", SpecialTokens::parse) == Ids{64, 628, 50256});
}

TEST_CASE("tokenizer: of special tokens that begin alike the longest is taken") {
    Vocabulary v;
    v.add_bytes();
    int32_t a = v.add_special("<a"), abc = v.add_special("<abc"), b = v.add_special("<b>");
    Tokenizer t;
    Status status = v.build(&t);
    REQUIRE_MESSAGE(status.ok(), status.message());
    CHECK(encode(t, "<abc", SpecialTokens::parse) == Ids{abc});
    CHECK(encode(t, "<ab", SpecialTokens::parse) == Ids{a, v.ids.at("b")});
    CHECK(encode(t, "<<b><a", SpecialTokens::parse) == Ids{v.ids.at("<"), b, a});
    CHECK(t.is_special(a));
    CHECK(t.is_special(b));
    CHECK_FALSE(t.is_special(a - 1));
    CHECK_FALSE(t.is_special(-1));
    CHECK_FALSE(t.is_special(1000));
}

TEST_CASE("tokenizer: any bytes come back") {
    TestRandom random;
    for (size_t n : {1, 2, 3, 7, 8, 9, 100, 255, 256, 257, 5000}) {
        std::string s = random_bytes(&random, n);
        CHECK(decode(gpt2_tokenizer(), gpt2(s)) == s);
        CHECK(decode(gpt2_tokenizer(), gpt2(s, SpecialTokens::parse)) == s);
    }
    std::string nul("a\0b\0\0", 5);
    CHECK(gpt2(nul) == Ids{64, 188, 65, 188, 188});
    std::string text;
    if (read_outside("text/UTF-8-test_kuhn.txt", &text)) {
        CHECK(decode(gpt2_tokenizer(), gpt2(text)) == text);
    }
}

TEST_CASE("tokenizer: texts cut or starting anywhere are never read past their end") {
    std::string text = "It's 4 \xc2\xbd o'clock \xf0\x9f\x98\x80!  \xe2\x80\x83\n\n'll x";
    for (size_t begin = 0; begin <= text.size(); begin++) {
        for (size_t end = begin; end <= text.size(); end++) {
            std::vector<char> exact(text.begin() + static_cast<long>(begin),
                                    text.begin() + static_cast<long>(end));
            Ids ids(exact.size() + 1);
            size_t n = 0;
            REQUIRE(gpt2_tokenizer()
                        .encode({exact.data(), exact.size()}, ids.data(), exact.size(), &n,
                                SpecialTokens::parse)
                        .ok());
            ids.resize(n);
            REQUIRE(decode(gpt2_tokenizer(), ids) == text.substr(begin, end - begin));
        }
    }
}

TEST_CASE("tokenizer: capacity is kept, and exactly enough is enough") {
    std::string text = "Hello  world";
    int32_t ids[4] = {-7, -7, -7, -7};
    size_t n = 0;
    CHECK(gpt2_tokenizer().encode(text, ids, 3, &n).ok());
    CHECK(n == 3);
    ids[2] = -7;
    Status status = gpt2_tokenizer().encode(text, ids, 2, &n);
    CHECK(status.code() == Code::bad_argument);
    CHECK(ids[2] == -7);
    CHECK(gpt2_tokenizer().encode("", nullptr, 0, &n).ok());
    CHECK(n == 0);
}

TEST_CASE("tokenizer: every token is found by its bytes") {
    const Tokenizer& t = gpt2_tokenizer();
    CHECK(t.n_tokens() == 50257);
    CHECK(t.eos() == 50256);
    for (int32_t id = 0; id < 50257; id++)
        REQUIRE(t.find(t.token(id)) == id);
    CHECK(t.find("") == -1);
    CHECK(t.find("qqqqqqq") == -1);
    CHECK(t.token(50257).empty());
    CHECK(t.token(-1).empty());
}

TEST_CASE("tokenizer: merges come back by rank, and damaged tables are refused") {
    Vocabulary& v = gpt2_vocabulary();
    std::vector<Merge> merges(gpt2_tokenizer().n_merges());
    REQUIRE(merges.size() == v.merges.size());
    REQUIRE(gpt2_tokenizer().merges(merges.data()).ok());
    size_t n_different = 0;
    for (size_t i = 0; i < merges.size(); i++) {
        const Merge &a = merges[i], &b = v.merges[i];
        n_different += a.left != b.left || a.right != b.right || a.merged != b.merged;
    }
    CHECK(n_different == 0);

    Vocabulary small;
    small.add_bytes();
    for (const char* left : {"a", "b", "c"})
        small.merge(left, "z");
    Tokenizer t;
    REQUIRE(small.build(&t).ok());
    CHECK(t.n_merges() == 3);
    REQUIRE(t.merges(merges.data()).ok());
    size_t merge_bits = reinterpret_cast<uint32_t*>(small.tables.data())[16];
    size_t index_bits = reinterpret_cast<uint32_t*>(small.tables.data())[13];
    uint32_t* slots = reinterpret_cast<uint32_t*>(small.tables.data()) + 24 + (2u << index_bits);
    for (size_t i = 0; i < size_t{4} << merge_bits; i++) {
        bool is_empty = slots[i / 4 * 4] == 0xffffffff;
        if (is_empty && i % 4 > 0)
            continue;
        uint32_t good = slots[i];
        for (uint32_t bad : {uint32_t{0xffffffff}, uint32_t{260}, good ^ 1}) {
            if (i % 4 != 2 && bad == (good ^ 1))
                continue;  // another token: not seen here
            if (is_empty && bad == 0xffffffff)
                continue;
            slots[i] = bad;
            CHECK(t.merges(merges.data()).code() == Code::bad_file);
        }
        slots[i] = good;
    }
    reinterpret_cast<uint32_t*>(small.tables.data())[11] = (1u << merge_bits) + 1;
    CHECK(t.open(small.tables.data(), small.tables.size() * 8).code() == Code::bad_file);
}

TEST_CASE("tokenizer: none says so") {
    Tokenizer t;
    size_t n;
    CHECK(t.encode("a", nullptr, 0, &n).code() == Code::not_supported);
    CHECK(t.open(nullptr, 0).ok());
    CHECK(t.kind() == TokenizerKind::none);
    CHECK(t.eos() == -1);
    CHECK(t.find("a") == -1);
}

TEST_CASE("tokenizer: null pointers and unknown choices are refused by name") {
    const Tokenizer& t = gpt2_tokenizer();
    int32_t ids[4];
    size_t n = 7;
    CHECK(std::string(t.encode("a", ids, 4, nullptr).message()) == "n_ids: a null pointer");
    CHECK(std::string(t.encode("a", nullptr, 4, &n).message()) == "ids: a null pointer");
    std::string_view broken(nullptr, 3);
    CHECK(std::string(t.encode(broken, ids, 4, &n).message()) == "text: a null pointer");
    CHECK(t.encode("a", ids, 4, &n, static_cast<SpecialTokens>(2)).code() == Code::bad_argument);
    CHECK(t.encode({}, ids, 4, &n).ok());
    CHECK(n == 0);
    CHECK(t.find(broken) == -1);
    CHECK(t.merges(nullptr).code() == Code::bad_argument);
    Tokenizer opened;
    CHECK(opened.open(nullptr, 96).code() == Code::bad_argument);
    CHECK(opened.kind() == TokenizerKind::none);
}

TEST_CASE("tokenizer: a character vocabulary has one token a character, and names what it lacks") {
    Vocabulary v;
    v.kind = TokenizerKind::chars;
    for (const char* c : {"\n", "a", "b", "\xc3\xa9", "\xf0\x9f\x98\x80"})
        v.add(c);
    int32_t end = v.add_special("<end>");
    int32_t z = v.add_special("z");
    v.add_special("\xc3\xa8");
    Tokenizer t;
    Status status = v.build(&t);
    REQUIRE_MESSAGE(status.ok(), status.message());
    CHECK(encode(t, "ab\n\xc3\xa9\xf0\x9f\x98\x80") == Ids{1, 2, 0, 3, 4});
    CHECK(encode(t, "a<end>bz", SpecialTokens::parse) == Ids{1, end, 2, z});
    struct {
        std::string text, message;
    } cases[] = {
        {"abc", "text: 'c' (U+0063) at byte 2 is not in the model's vocabulary"},
        {"a\xc3\xa9\xe2\x82\xac",
         "text: '\xe2\x82\xac' (U+20AC) at byte 3 is not in the model's vocabulary"},
        {"\xd0\xb6", "text: '\xd0\xb6' (U+0436) at byte 0 is not in the model's vocabulary"},
        {"\xf0\x90\x8c\xb0",
         "text: '\xf0\x90\x8c\xb0' (U+10330) at byte 0 is not in the model's "
         "vocabulary"},
        // Whatever a terminal obeys, or nobody sees, is told by its number alone.
        {std::string("\0", 1), "text: U+0000 at byte 0 is not in the model's vocabulary"},
        {" ", "text: U+0020 at byte 0 is not in the model's vocabulary"},
        {"\t", "text: U+0009 at byte 0 is not in the model's vocabulary"},
        {"\x1b[31m", "text: U+001B at byte 0 is not in the model's vocabulary"},
        {"\x7f", "text: U+007F at byte 0 is not in the model's vocabulary"},
        {"\xc2\x9b", "text: U+009B at byte 0 is not in the model's vocabulary"},
        {"\xc2\xa0", "text: U+00A0 at byte 0 is not in the model's vocabulary"},
        {"\xe2\x80\xa8", "text: U+2028 at byte 0 is not in the model's vocabulary"},
        {"\xe2\x80\xae", "text: U+202E at byte 0 is not in the model's vocabulary"},
        {"\xef\xbb\xbf", "text: U+FEFF at byte 0 is not in the model's vocabulary"},
        {"a\xff", "text: byte 0xFF at byte 1 is not UTF-8"},
        {"a\xc3", "text: byte 0xC3 at byte 1 is not UTF-8"},
        {"a<end>", "text: '<' (U+003C) at byte 1 is not in the model's vocabulary"},
        {"az", "text: 'z' (U+007A) at byte 1 is not in the model's vocabulary"},
        {"\xc3\xa8", "text: '\xc3\xa8' (U+00E8) at byte 0 is not in the model's vocabulary"},
    };
    for (const auto& c : cases) {
        int32_t ids[16];
        size_t n;
        status = t.encode(c.text, ids, 16, &n);
        CHECK(status.code() == Code::bad_text);
        CHECK(status.message() == c.message);
    }
}
