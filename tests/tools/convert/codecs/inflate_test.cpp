// RFC 1951: what is deflated comes back, what is not is refused.
#include "convert/codecs/inflate.h"

#include <doctest/doctest.h>

#include <random>

#include "convert/codecs/crc.h"
#include "tests/tools/convert/formats/npz_maker.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

Status inflate_all(const std::string& packed, std::string* out, bool first = false) {
    static const TempFolder folder;
    write_file(folder / "x", "junk" + packed);
    convert::File file;
    REQUIRE(file.open(folder / "x").ok());
    auto function = first ? convert::inflate_first : convert::inflate;
    std::vector<unsigned char> memory(out->size() + 16, 0xa5);
    Status status = function({&file, 4, packed.size()}, memory.data(), out->size());
    for (size_t i = out->size(); i < memory.size(); i++)
        REQUIRE(memory[i] == 0xa5);
    out->assign(memory.begin(), memory.end() - 16);
    return status;
}

void check_bad(const std::string& packed, size_t n_out, const std::string& words) {
    std::string out(n_out, '\0'), message = inflate_all(packed, &out).message();
    CAPTURE(message);
    CHECK(!message.empty());
    CHECK(message.find(words) != std::string::npos);
}

std::string bits(const std::string& text) {
    std::string out;
    size_t n = 0;
    for (char c : text) {
        if (c == ' ')
            continue;
        if (n++ % 8 == 0)
            out += '\0';
        out.back() = static_cast<char>(out.back() | (c - '0') << (n - 1) % 8);
    }
    return out;
}

}  // namespace

TEST_CASE("convert inflate: texts, zeros and noise come back, whole and in part") {
    std::mt19937 random(1);
    std::string noise, text, steps;
    for (int i = 0; i < 200000; i++) {
        noise += static_cast<char>(random());
        text += "the dog and the cat "[random() % 7 + (i % 13)];
        steps += static_cast<char>(random() % (1 + i % 256));
    }
    for (const std::string& bytes : {std::string(), std::string("a"), std::string(300000, '\0'),
                                     text, noise, steps, text + noise.substr(0, 40000) + text}) {
        for (int kind : {0, 1, 2, 3}) {
            std::string packed = deflate(bytes, kind), out(bytes.size(), '\0');
            CAPTURE(bytes.size());
            CAPTURE(kind);
            CHECK(inflate_all(packed, &out).ok());
            CHECK(out == bytes);
            for (size_t n : {size_t{0}, size_t{1}, bytes.size() / 3, bytes.size()}) {
                if (n > bytes.size())
                    continue;
                std::string part(n, '\0');
                CHECK(inflate_all(packed, &part, true).ok());
                CHECK(part == bytes.substr(0, n));
            }
            if (bytes.empty())
                continue;
            std::string shorter(bytes.size() - 1, '\0'), longer(bytes.size() + 1, '\0');
            CHECK(!inflate_all(packed, &shorter).ok());
            CHECK(!inflate_all(packed, &longer).ok());
        }
    }
    // What zlib makes of 1,000 zeros, and of a text.
    std::string out(1000, 'x');
    CHECK(inflate_all(std::string("\x63\x60\x18\x05\xa3\x60\x14\x0c\x77\x00\x00", 11), &out).ok());
    CHECK(out == std::string(1000, '\0'));
}

TEST_CASE("convert inflate: what RFC 1951 does not have is refused") {
    check_bad("", 1, "ends early");
    check_bad(bits("1 11"), 1, "unknown kind");
    check_bad(bits("1 00 00000") + le16(5) + le16(5), 5, "two lengths");
    check_bad(bits("1 00 00000") + le16(5) + le16(0xfffa) + "abcd", 5, "ends early");
    check_bad(bits("1 10 0000000"), 1, "shorter than it says");
    check_bad(bits("1 10 0000001 00000 0000000"), 3, "before its start");
    // A literal, then distance symbol 30; length symbol 286.
    check_bad(bits("1 10 00110000 0000001 11110 0000000"), 4, "distance that there is none of");
    check_bad(bits("1 10 11000110 0000000"), 4, "length that there is none of");
    check_bad(bits("1 10 00110000 0000000") + "x", 1, "after its end");
    check_bad(bits("1 01 11111 00000 0000"), 1, "too many symbols");
    check_bad(bits("1 01 00000 11111 0000"), 1, "too many symbols");
    // The code of lengths: four lengths of 1; none; 16 comes first.
    check_bad(bits("1 01 00000 00000 0000 100 100 100 100"), 1, "bad Huffman tree");
    check_bad(bits("1 01 00000 00000 0000 010 010 010 000"), 1, "bad Huffman tree");
    check_bad(bits("1 01 00000 00000 0000 100 000 000 100 1 00"), 1, "before the first");
    // 18 twice: 138 + 138 zeros are more than 258 symbols.
    check_bad(bits("1 01 00000 00000 0000 000 000 100 100 1 1111111 1 1111111"), 1,
              "more code lengths than symbols");
    // 138 + 121 are one more than 257 and 1.
    check_bad(bits("1 01 00000 00000 0000 000 000 100 100 1 1111111 1 0111011"), 1,
              "more code lengths than symbols");
    // Zeros only: no end of block.
    check_bad(bits("1 01 00000 00000 0000 000 000 100 100 1 1111111 1 1011011"), 1,
              "block without an end");
    // Every truncation.
    std::string bytes(5000, 'a');
    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] = static_cast<char>('a' + i * i % 23);
    for (int kind : {0, 1, 2, 3}) {
        std::string packed = deflate(bytes, kind);
        for (size_t n = 0; n < packed.size(); n++)
            check_bad(packed.substr(0, n), bytes.size(), "");
    }
}

TEST_CASE("convert inflate: random bytes give what zlib makes of them, or an error") {
    std::mt19937 random(2);
    std::string base = deflate(std::string(3000, 'q') + "and some text, and some text", 2);
    size_t n_taken = 0;
    uint32_t crc = 0;
    for (int i = 0; i < 3000; i++) {
        std::string bad = base;
        for (int k = 0; k < 1 + i % 4; k++)
            bad[random() % bad.size()] = static_cast<char>(random());
        std::string out(3028, '\0');
        if (!inflate_all(bad, &out).ok())
            continue;
        n_taken++;
        crc = convert::crc32_of(out.data(), out.size(), crc);
        std::string part(1000, '\0'), shorter(3027, '\0'), longer(3029, '\0');
        CHECK(inflate_all(bad, &part, true).ok());
        CHECK(part == out.substr(0, 1000));
        CHECK(!inflate_all(bad, &shorter).ok());
        CHECK(!inflate_all(bad, &longer).ok());
    }
    // zlib 1.2.13's inflate, raw, over the same 3,000.
    CHECK(n_taken == 59);
    CHECK(crc == 0x7b37ca07);
}

TEST_CASE("convert inflate: blocks that give nothing are counted") {
    std::string empty = bits("0 00 00000") + le16(0) + le16(0xffff), many;
    std::string last = bits("1 00 00000") + le16(100) + le16(0xffff - 100) + std::string(100, 'x');
    const int most = 1000 + 100 / 32;  // blocks for 100 bytes
    for (int i = 0; i < most - 1; i++)
        many += empty;
    std::string out(100, '\0');
    CHECK(inflate_all(many + last, &out).ok());
    CHECK(out == std::string(100, 'x'));
    check_bad(many + empty + last, 100, "far more blocks");
    check_bad(many + empty, 100, "far more blocks");  // nothing more is read
}
