#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/text/gpt2_vocabulary.h"
#include "text/tables.h"

using namespace minigpt;

namespace {

Vocabulary small() {
    Vocabulary v;
    v.add_bytes();
    v.merge("a", "b");
    v.merge("ab", "c");
    v.merge("c", "ab");
    v.merge(" ", "ab");
    v.eos = v.add_special("<end>");
    v.add_special("<|x|>");
    return v;
}

Status build(Vocabulary& v) {
    Tokenizer t;
    return v.build(&t);
}

void check_refused(Vocabulary& v, const std::string& message) {
    Status status = build(v);
    CHECK(status.code() == Code::bad_argument);
    CHECK(status.message() == message);
}

// Everything a reader can be asked, on tables that may be anything.
void use(const Tokenizer& t) {
    std::string text = "abcab ab <end> c'll \xf0\x9f\x98\x80 abcabc<|x|>";
    text += std::string(300, 'a') + std::string(300, 'b');
    std::vector<int32_t> ids(text.size());
    for (SpecialTokens special : {SpecialTokens::as_text, SpecialTokens::parse}) {
        size_t n = 0;
        Status status = t.encode(text, ids.data(), ids.size(), &n, special);
        REQUIRE(n <= text.size());
        for (size_t i = 0; status.ok() && i < n; i++) {
            REQUIRE(ids[i] >= 0);
            REQUIRE(static_cast<size_t>(ids[i]) < t.n_tokens());
        }
    }
    size_t total = 0;
    for (int32_t id = -1; id < 300; id++) {
        for (char byte : t.token(id))
            total += static_cast<unsigned char>(byte);
        total += t.is_special(id);
    }
    total += static_cast<size_t>(t.find("abc") + t.find("<end>"));
    CHECK(total != 1);
}

}  // namespace

TEST_CASE("build: what cannot be a vocabulary is refused with the token") {
    Vocabulary v = small();
    v.add("");
    check_refused(v, "token 262: is empty");
    v = small();
    v.add("ab");
    check_refused(v, "token 262: spelled as token 256");
    v = small();
    v.merges[1].merged = 258;
    check_refused(v, "merge 1: tokens 256 and 66 do not spell token 258");
    v = small();
    v.merges[2].right = 262;
    check_refused(v, "merge 2: token 262 of 262");
    v = small();
    v.merges[2].left = -1;
    check_refused(v, "merge 2: token -1 of 262");
    v = small();
    v.merges.push_back(v.merges[1]);
    check_refused(v, "merge 4: the same pair as merge 1");
    v = small();
    v.eos = 262;
    check_refused(v, "eos: 262; n_tokens is 262");
    v = small();
    v.specials.push_back(262);
    check_refused(v, "special token 262: n_tokens is 262");
    v = small();
    v.specials.push_back(v.specials[0]);
    check_refused(v, "token 260: listed twice among the special tokens");
    v = small();
    std::swap(v.offsets[3], v.offsets[4]);
    check_refused(v, "token 3: ends before it begins");
    v = small();
    v.add_special(std::string(1025, 'x'));
    check_refused(v, "token 262: a special token of over 1024 bytes");
    v = Vocabulary();
    v.add("a");
    check_refused(v, "tokens: none for byte 0x00");
    v = Vocabulary();
    check_refused(v, "n_tokens: 0, expected 1 to 2^28");
}

TEST_CASE("build: a character vocabulary has characters, and no merges") {
    Vocabulary v;
    v.kind = TokenizerKind::chars;
    v.add("ab");
    check_refused(v, "token 0: is not one UTF-8 character, as a character vocabulary needs it");
    v = Vocabulary();
    v.kind = TokenizerKind::chars;
    v.add("\xff");
    check_refused(v, "token 0: is not one UTF-8 character, as a character vocabulary needs it");
    v = Vocabulary();
    v.kind = TokenizerKind::chars;
    v.add("a");
    v.merges.push_back({0, 0, 0});
    check_refused(v, "n_merges: 1, expected at most 0");
}

TEST_CASE("build: the place given must have the size and alignment asked for") {
    Vocabulary v = small();
    size_t n = 0;
    REQUIRE(tokenizer_bytes(v.spec(), &n).ok());
    std::vector<uint64_t> place(n / 8 + 2);
    CHECK(build_tokenizer(v.spec(), place.data(), n).ok());
    CHECK(build_tokenizer(v.spec(), place.data(), n - 8).code() == Code::bad_argument);
    char* odd = reinterpret_cast<char*>(place.data()) + 4;
    CHECK(build_tokenizer(v.spec(), odd, n).code() == Code::bad_argument);
    Tokenizer t;
    CHECK(t.open(odd, n).code() == Code::bad_argument);
    CHECK(tokenizer_bytes(TokenizerSpec(), &n).ok());
    CHECK(n == 0);
}

TEST_CASE("build: GPT-2's tables keep look-ups short") {
    gpt2_tokenizer();
    const auto* header = reinterpret_cast<const TokenizerHeader*>(gpt2_vocabulary().tables.data());
    CHECK(header->index_probes <= kMaxProbes);
    CHECK(header->merge_probes <= kMaxProbes);
    CHECK(header->bytes < 4000000);
}

TEST_CASE("build: tokens that merging does not give are not taken whole") {
    // "cab" is a token, but its first merge is ab: c ab, which is a pair; "bab" is none.
    Vocabulary v = small();
    int32_t bab = v.add("bab");
    Tokenizer t;
    REQUIRE(v.build(&t).ok());
    CHECK(t.find("bab") == bab);
    CHECK(encode(t, "bab") == std::vector<int32_t>{v.ids.at("b"), v.ids.at("ab")});
    CHECK(encode(t, "cab") == std::vector<int32_t>{v.ids.at("cab")});
}

TEST_CASE("tables: cut or grown anywhere they are refused") {
    Vocabulary v = small();
    Tokenizer t;
    REQUIRE(v.build(&t).ok());
    size_t n = v.tables.size() * 8;
    v.tables.push_back(0);
    for (size_t bytes = 1; bytes <= n + 8; bytes++) {
        Tokenizer cut;
        CHECK(cut.open(v.tables.data(), bytes).ok() == (bytes == n));
    }
}

TEST_CASE("tables: each reserved word of the header is zero") {
    Vocabulary v = small();
    Tokenizer t;
    REQUIRE(v.build(&t).ok());
    for (size_t at = 76; at < 96; at += 4) {
        for (uint32_t value : {1u, 0x80000000u}) {
            std::vector<uint64_t> tables = v.tables;
            memcpy(reinterpret_cast<char*>(tables.data()) + at, &value, sizeof value);
            Tokenizer changed;
            Status status = changed.open(tables.data(), tables.size() * 8);
            CHECK(status.code() == Code::bad_file);
            CHECK(strstr(status.message(), "a reserved field") != nullptr);
        }
    }
}

TEST_CASE("tables: any bytes give a result or an error") {
    Vocabulary v = small();
    Tokenizer t;
    REQUIRE(v.build(&t).ok());
    const std::vector<uint64_t> sound = v.tables;
    use(t);
    TestRandom random;
    size_t n_opened = 0;
    for (int trial = 0; trial < 4000; trial++) {
        std::vector<uint64_t> tables = sound;  // a new place, so that its end is guarded
        unsigned char* p = reinterpret_cast<unsigned char*>(tables.data());
        uint32_t n_bytes = static_cast<uint32_t>(tables.size() * 8);
        // Many small changes past the header, or a few anywhere.
        uint32_t n_changes = trial % 2 ? 1 + random.below(200) : 1 + random.below(3);
        for (uint32_t i = 0; i < n_changes; i++) {
            uint32_t at = trial % 2 ? 96 + random.below(n_bytes - 96) : random.below(n_bytes);
            p[at] = trial % 3 ? static_cast<unsigned char>(random.below(256)) : 0xff;
        }
        Tokenizer hostile;
        if (!hostile.open(tables.data(), n_bytes).ok())
            continue;
        n_opened++;
        use(hostile);
    }
    CHECK(n_opened > 1000);
}

TEST_CASE("tables: each count in the header is checked") {
    Vocabulary v = small();
    Tokenizer t;
    REQUIRE(v.build(&t).ok());
    for (size_t at = 0; at < 76; at += 4) {
        for (uint32_t value : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
            std::vector<uint64_t> tables = v.tables;
            memcpy(reinterpret_cast<char*>(tables.data()) + at, &value, sizeof value);
            Tokenizer hostile;
            if (hostile.open(tables.data(), tables.size() * 8).ok())
                use(hostile);
        }
    }
}

TEST_CASE("build: null pointers and sizes that cannot be are refused by name") {
    Vocabulary v = small();
    size_t bytes = 0;
    struct {
        std::string message;
        TokenizerSpec spec;
    } cases[] = {{"offsets: a null pointer", v.spec()},
                 {"bytes: a null pointer", v.spec()},
                 {"merges: a null pointer", v.spec()},
                 {"specials: a null pointer", v.spec()},
                 {"n_specials: 263, expected at most 262, n_tokens", v.spec()},
                 {"kind: 3, expected bpe or chars", v.spec()}};
    cases[0].spec.offsets = nullptr;
    cases[1].spec.bytes = nullptr;
    cases[2].spec.merges = nullptr;
    cases[3].spec.specials = nullptr;
    cases[4].spec.n_specials = 263;
    cases[5].spec.kind = static_cast<TokenizerKind>(3);
    for (const auto& c : cases) {
        CHECK(std::string(tokenizer_bytes(c.spec, &bytes).message()) == c.message);
        CHECK(std::string(build_tokenizer(c.spec, nullptr, 0).message()) == c.message);
    }
    REQUIRE(tokenizer_bytes(v.spec(), &bytes).ok());
    CHECK(tokenizer_bytes(v.spec(), nullptr).code() == Code::bad_argument);
    CHECK(build_tokenizer(v.spec(), nullptr, bytes).code() == Code::bad_argument);
}

TEST_CASE("build: a special token of 1024 bytes is taken, and found in a text") {
    Vocabulary v = small();
    int32_t id = v.add_special(std::string(1024, 'x'));
    Tokenizer t;
    REQUIRE(v.build(&t).ok());
    CHECK(encode(t, "a" + std::string(1024, 'x') + "xx", SpecialTokens::parse).at(1) == id);
    CHECK(encode(t, std::string(1023, 'x'), SpecialTokens::parse) ==
          encode(t, std::string(1023, 'x')));
}

TEST_CASE("build: each field of the header is taken up to its bound, and refused by name past it") {
    Vocabulary v = small();
    Tokenizer t;
    REQUIRE(v.build(&t).ok());
    uint32_t n_tokens = static_cast<uint32_t>(t.n_tokens());
    struct {
        size_t word;
        uint32_t most;
        const char* name;
    } fields[] = {{8, n_tokens - 1, "eos is"},
                  {10, 1024, "longest_special is"},
                  {11, 1u << 30, "n_merges is"},
                  {15, 16, "index_probes is"},
                  {18, 16, "merge_probes is"}};
    uint32_t* header = reinterpret_cast<uint32_t*>(v.tables.data());
    fields[2].most = 1u << header[16];
    for (const auto& f : fields) {
        CAPTURE(f.name);
        uint32_t good = header[f.word];
        header[f.word] = f.most;
        CHECK(t.open(v.tables.data(), v.tables.size() * 8).ok());
        header[f.word] = f.most + 1;
        Status status = t.open(v.tables.data(), v.tables.size() * 8);
        CHECK(status.code() == Code::bad_file);
        CHECK(std::string(status.message()).find(f.name) != std::string::npos);
        header[f.word] = good;
    }
}
