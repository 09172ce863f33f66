#include "text/utf8.h"

#include <doctest/doctest.h>
#include <cstdio>
#include <string>
#include <vector>

#include "minigpt/tokenizer.h"
#include "tests/text/gpt2_vocabulary.h"

using namespace minigpt;

namespace {

std::string push(Utf8Stream* stream, const std::string& bytes) {
    std::vector<char> out(bytes.size() + 3);
    size_t n = stream->push(bytes, out.data());
    REQUIRE(n <= out.size());
    return std::string(out.data(), n);
}

std::string flush(Utf8Stream* stream) {
    char out[3];
    return std::string(out, stream->flush(out));
}

// The bytes of a code point, surrogates and too large ones too.
std::string spell(uint32_t c) {
    auto tail = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
    if (c < 0x80)
        return {static_cast<char>(c)};
    if (c < 0x800)
        return {static_cast<char>(0xc0 | c >> 6), tail(0)};
    if (c < 0x10000)
        return {static_cast<char>(0xe0 | c >> 12), tail(6), tail(0)};
    return {static_cast<char>(0xf0 | c >> 18), tail(12), tail(6), tail(0)};
}

}  // namespace

TEST_CASE("utf8: every code point decodes, but no surrogate and nothing past U+10FFFF") {
    for (uint32_t c = 0; c < 0x140000; c++) {
        std::string s = spell(c);
        uint32_t found = 0;
        size_t n = decode_utf8(s.data(), s.data() + s.size(), &found);
        bool valid = c < 0x110000 && !(c >= 0xd800 && c < 0xe000);
        REQUIRE(n == (valid ? s.size() : 0));
        if (valid)
            REQUIRE(found == c);
        if (s.size() > 1)
            REQUIRE(decode_utf8(s.data(), s.data() + s.size() - 1, &found) == 0);
    }
}

TEST_CASE("utf8: overlong forms and stray bytes are no characters") {
    for (const char* s :
         {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\x80", "\xbf",
          "\xf5\x80\x80\x80", "\xff", "\xc3\x28", "\xe2\x28\xa1", "\xe2\x82\x28"}) {
        std::string text = s;
        uint32_t c;
        CHECK(decode_utf8(text.data(), text.data() + text.size(), &c) == 0);
    }
}

TEST_CASE("utf8: the classes of some characters") {
    CHECK(class_of('a') == kLetter);
    CHECK(class_of('7') == kNumber);
    CHECK(class_of('_') == kOther);
    for (uint32_t c :
         {0x09, 0x0d, 0x20, 0x85, 0xa0, 0x1680, 0x2000, 0x200a, 0x2028, 0x202f, 0x205f, 0x3000}) {
        CHECK(class_of(c) == kSpace);
    }
    for (uint32_t c : {0x1c, 0x1f, 0x180e, 0x200b, 0x2060, 0xfeff})
        CHECK(class_of(c) == kOther);
    for (uint32_t c :
         {0xaa, 0xb5, 0x2b0, 0x1c5, 0x4e00, 0x9fff, 0xac00, 0xd7a3, 0x20000, 0x2a6df}) {
        CHECK(class_of(c) == kLetter);
    }
    for (uint32_t c : {0xb2, 0xbd, 0x660, 0x2160, 0x3007, 0x1d7ce})
        CHECK(class_of(c) == kNumber);
    for (uint32_t c : {0x300u, 0xd800u, 0xe000u, 0x1f600u, 0xe0001u, 0x10ffffu, 0x110000u, ~0u}) {
        CHECK(class_of(c) == kOther);
    }
}

TEST_CASE("utf8: the tables are what their script makes of Unicode's data") {
    FILE* data = fopen("/usr/share/unicode/UnicodeData.txt", "r");
    if (data == nullptr) {
        MESSAGE("skipped: Unicode's data not found");
        return;
    }
    fclose(data);
    FILE* pipe = popen("sh src/text/unicode_tables.sh", "r");
    REQUIRE(pipe != nullptr);
    std::string made;
    for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe))
        made += static_cast<char>(c);
    CHECK(pclose(pipe) == 0);
    std::string kept = read_file("src/text/unicode_tables.inc");
    if (made.substr(0, made.find('\n')) != kept.substr(0, kept.find('\n'))) {
        MESSAGE("skipped: Unicode's data are of another version");
        return;
    }
    CHECK((made == kept));
}

TEST_CASE("stream: a character split over tokens comes out with its last byte") {
    Utf8Stream stream;
    CHECK(push(&stream, "\xf0\x9f\x98") == "");
    CHECK(push(&stream, "\x80") == "\xf0\x9f\x98\x80");
    CHECK(flush(&stream) == "");
    CHECK(push(&stream, "a\xe2") == "a");
    CHECK(push(&stream, "\x82") == "");
    CHECK(push(&stream, "\xac!\xc3") == "\xe2\x82\xac!");
    CHECK(flush(&stream) == "\xc3");
}

TEST_CASE("stream: the first and last character of each length wait for their last byte only") {
    for (const char* c : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                          "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
        Utf8Stream stream;
        std::string character = c;
        for (size_t i = 0; i + 1 < character.size(); i++)
            CHECK(push(&stream, character.substr(i, 1)) == "");
        CHECK(push(&stream, character.substr(character.size() - 1)) == character);
        CHECK(flush(&stream) == "");
    }
}

TEST_CASE("stream: GPT-2's tokens 47249 and 222 are one emoji") {
    Utf8Stream stream;
    CHECK(push(&stream, decode(gpt2_tokenizer(), {47249})) == "");
    CHECK(push(&stream, decode(gpt2_tokenizer(), {222})) == "\xf0\x9f\x98\x80");
    CHECK(push(&stream, decode(gpt2_tokenizer(), {47249})) == "");
    CHECK(flush(&stream) == "\xf0\x9f\x98");
}

TEST_CASE("stream: bytes that cannot go on come out as they are, at once") {
    for (const char* s : {"\xff", "\x80", "\xc0", "\xc1", "\xf5", "\xe0\x80", "\xed\xa0\x80",
                          "\xf0\x80\x80\x80", "\xf4\x90"}) {
        Utf8Stream stream;
        CHECK(push(&stream, s) == s);
        CHECK(flush(&stream) == "");
    }
    Utf8Stream stream;
    CHECK(push(&stream, "\xe2\x82") == "");
    CHECK(push(&stream, "x") == "\xe2\x82x");
    CHECK(push(&stream, "\xe2\x82\xf0\x9f") == "\xe2\x82");
    CHECK(push(&stream, "\xe2") == "\xf0\x9f");
    CHECK(flush(&stream) == "\xe2");
}

TEST_CASE("stream: loses and changes nothing, holds at most 3 bytes, however it is cut") {
    TestRandom random;
    const std::string bytes = "a\x80\xbf\xc3\xe0\xe2\xed\xf0\xf4\x9f\x90\xff";
    for (int trial = 0; trial < 3000; trial++) {
        Utf8Stream stream;
        std::string in, out;
        while (in.size() < 30) {
            std::string piece;
            for (uint32_t n = random.below(5); n > 0; n--) {
                piece += bytes[random.below(static_cast<uint32_t>(bytes.size()))];
            }
            in += piece;
            out += push(&stream, piece);
            REQUIRE(in.substr(0, out.size()) == out);
            REQUIRE(in.size() - out.size() <= 3);
        }
        REQUIRE(out + flush(&stream) == in);
    }
}
