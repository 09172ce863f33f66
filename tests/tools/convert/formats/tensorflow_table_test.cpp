// What a table, and a snappy block in it, may claim.
#include "convert/formats/tensorflow.h"

#include <doctest/doctest.h>

#include "convert/codecs/crc.h"
#include "convert/codecs/snappy.h"
#include "tests/tools/convert/formats/tensorflow_maker.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

Status read(const std::string& bytes, Entries* found = nullptr) {
    return convert::read_table(bytes, [&](const std::string& key, const std::string& value) {
        if (found != nullptr)
            found->emplace_back(key, value);
        return Status();
    });
}

void check_bad(const std::string& bytes, const std::string& word) {
    std::string message = read(bytes).message();
    CAPTURE(message);
    CAPTURE(word);
    CHECK(!message.empty());
    CHECK(message.find(word) != std::string::npos);
}

// A table of one data block with these bytes.
std::string one_block(const std::string& block, const std::string& key = "~") {
    return table_of({{key, sealed(block)}});
}

Entries many_entries(size_t n) {
    Entries entries;
    for (size_t i = 0; i < n; i++) {
        std::string number = std::to_string(1000 + i);
        entries.emplace_back("model/h" + number + "/w",
                             "value " + number + std::string(i % 90, 'v'));
    }
    return entries;
}

std::string unpacked(const std::string& bytes, size_t max_bytes = 1 << 20) {
    std::string out;
    auto data = reinterpret_cast<const unsigned char*>(bytes.data());
    Status status = convert::unpack_snappy(data, bytes.size(), max_bytes, &out);
    return status.ok() ? out : std::string("error: ") + status.message();
}

const std::string kZero(1, '\0');

}  // namespace

TEST_CASE("convert tensorflow: CRC-32C has the values of RFC 3720, at any length and in parts") {
    auto crc = [](const std::string& s) { return convert::crc32c(s.data(), s.size()); };
    CHECK(crc("") == 0);
    CHECK(crc("123456789") == 0xe3069283);
    CHECK(crc(std::string(32, '\0')) == 0x8a9136aa);
    CHECK(crc(std::string(32, '\xff')) == 0x62a8ab43);
    std::string text = random_numbers("F32", 40, 1);
    for (size_t n = 0; n < text.size(); n++) {
        std::string part = text.substr(n % 9, n);
        CHECK(crc(part) == plain_crc32c(part));
        size_t half = part.size() / 3;
        uint32_t begun = convert::crc32c(part.data(), half);
        CHECK(convert::crc32c(part.data() + half, part.size() - half, begun) == crc(part));
        CHECK(convert::mask_crc32c(crc(part)) == masked_crc32c(part));
    }
}

TEST_CASE("convert tensorflow: snappy unpacks literals and copies of every form") {
    CHECK(unpacked(kZero) == "");
    CHECK(unpacked("\x05\x10hello") == "hello");
    CHECK(unpacked(std::string("\x08\x08xyz\x05\x03", 7)) == "xyzxyzxy");
    CHECK(unpacked(std::string("\x09\x08xyz\x09\x03", 7)) == "xyzxyzxyz");  // 1-byte offset
    CHECK(unpacked(std::string("\x07\x00x\x16\x01\x00", 6)) == "xxxxxxx");  // 2-byte, overlapping
    CHECK(unpacked(std::string("\x04\x04xy\x07\x02\x00\x00\x00", 9)) == "xyxy");  // 4-byte
    std::string hundred(100, 'q'), long_text = random_numbers("F32", 20000, 3);
    CHECK(unpacked("\x64\xf0\x63" + hundred) == hundred);
    CHECK(unpacked(std::string("\x64\xf4\x63\x00", 4) + hundred) == hundred);
    CHECK(unpacked(std::string("\x64\xf8\x63\x00\x00", 5) + hundred) == hundred);
    CHECK(unpacked(std::string("\x64\xfc\x63\x00\x00\x00", 6) + hundred) == hundred);
    for (const std::string& text : {std::string(), std::string("a"), hundred, long_text,
                                    long_text + long_text.substr(0, 999) + hundred + "ab"})
        CHECK(unpacked(snappy(text)) == text);
}

TEST_CASE("convert tensorflow: a snappy stream that lies is refused") {
    const std::pair<std::string, const char*> cases[] = {
        {"", "unpacked length"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "unpacked length"},  // over 64 bits
        {"\x05", "less data"},
        {"\x05\x10hell", "literal is cut off"},
        {"\x05\xf0", "element is cut off"},
        {std::string("\x05\xfc\x00\x00\x00", 5), "element is cut off"},
        {"\x08\x08xyz\x05", "element is cut off"},
        {std::string("\x0a\x08xyz\x1a\x03", 7), "element is cut off"},
        {std::string("\x09\x08xyz\x09\x04", 7), "before the start"},
        {std::string("\x09\x08xyz\x09\x00", 7), "before the start"},  // offset 0
        {std::string("\x07\x0d\x01", 3), "before the start"},         // a copy first
        {std::string("\x05\x00x\x0f\xff\xff\xff\xff", 8), "before the start"},
        {"\x04\x10hello", "more data"},
        {std::string("\xff\xff\x03\x00x", 5), "5 bytes claim to unpack to 65535"},
        {std::string("\xff\xff\xff\xff\x0f\x00x", 7), "claim to unpack to"},  // 4 GB
        {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00x", 12), "claim to unpack to"},
    };
    for (const auto& lie : cases) {
        std::string message = unpacked(lie.first), word = lie.second;
        CAPTURE(message);
        CAPTURE(word);
        CHECK(message.rfind("error: snappy: ", 0) == 0);
        CHECK(message.find(word) != std::string::npos);
    }
    std::string text = random_numbers("F32", 30, 5), packed = snappy(text + text);
    for (size_t n = 0; n < packed.size(); n++)
        CHECK(unpacked(packed.substr(0, n)).rfind("error", 0) == 0);
    CHECK(unpacked(snappy(std::string(2000, 'x')), 1999).rfind("error", 0) == 0);
}

TEST_CASE("convert tensorflow: tables of one and of many blocks, packed or not, are read whole") {
    for (size_t n : {1, 2, 16, 17, 200}) {
        for (size_t per_block : {1, 3, 1000}) {
            for (size_t interval : {1, 2, 16}) {
                for (unsigned char compression : {0, 1}) {
                    Entries entries = many_entries(n), found;
                    std::string bytes = table(entries, {per_block, interval, compression});
                    CHECK(read(bytes, &found).ok());
                    CHECK(found == entries);
                }
            }
        }
    }
    Entries found;
    CHECK(read(table({}), &found).ok());
    CHECK(found.empty());
}

TEST_CASE("convert tensorflow: a table that is cut or changed anywhere is refused") {
    for (unsigned char compression : {0, 1}) {
        Entries entries = many_entries(9);
        std::string bytes = table(entries, {4, 2, compression});
        for (size_t n = 0; n < bytes.size(); n++) {
            CAPTURE(n);
            CHECK(!read(bytes.substr(0, n)).ok());
            CHECK(!read(bytes.substr(n + 1)).ok());
            std::string changed = bytes;
            changed[n] = static_cast<char>(changed[n] ^ 0x10);
            // The zeros between the footer's handles and its magic number are nobody's.
            bool is_padding = n >= bytes.size() - 42 && n < bytes.size() - 8;
            Entries found;
            bool ok = read(changed, &found).ok();
            CHECK((!ok || (is_padding && found == entries)));
        }
    }
}

TEST_CASE("convert tensorflow: keys ascend, within blocks and over them") {
    auto sealed_of = [](const Entries& entries) { return sealed(table_block(entries)); };
    check_bad(table_of({{"c", sealed_of({{"b", ""}, {"a", ""}})}}), "a is out of order");
    check_bad(table({{"a", ""}, {"a", ""}}), "a is there twice");
    check_bad(table_of({{"b", sealed_of({{"b", ""}})}, {"c", sealed_of({{"b", ""}})}}),
              "b is there twice");
    check_bad(table_of({{"b", sealed_of({{"b", ""}})}, {"c", sealed_of({{"a", ""}})}}),
              "a is out of order");
    check_bad(table_of({{"a", sealed_of({{"b", ""}})}}), "b is after a");
    // One block under two keys.
    std::string block = sealed_of({{"a", ""}});
    std::string place = varint(0) + varint(block.size() - 5);
    check_bad(table_of(block, {{"a", place}, {"b", place}}), "a is there twice");
}

TEST_CASE(
    "convert tensorflow: blocks end inside the file, restarts and prefixes inside the block") {
    std::string block = sealed(table_block({{"a", "1"}}));
    for (uint64_t offset : {uint64_t{1} << 20, uint64_t{1} << 32, UINT64_MAX, UINT64_MAX - 4}) {
        check_bad(table_of(block, {{"a", varint(offset) + varint(1)}}), "blocks end at");
        check_bad(table_of(block, {{"a", varint(0) + varint(offset)}}), "blocks end at");
        check_bad(table_of(block, {{"a", varint(offset) + varint(0 - offset)}}), "blocks end at");
    }
    check_bad(table_of(block, {{"a", varint(0)}}), "no handle");
    check_bad(table_of(block, {{"a", varint(0) + varint(block.size() - 5) + "x"}}), "no handle");
    check_bad(table_of(block, {{"a", std::string(11, '\xff') + "\x01"}}), "no handle");
    check_bad(table_of(block, {{"a", std::string(9, '\xff') + "\x02" + "\x01"}}), "no handle");

    std::string entry = kZero + "\x01\x01" + "a1", u32 = std::string(4, '\0');
    auto restarts = [](const std::string& list) { return list; };
    CHECK(read(one_block(entry + u32 + "\x01" + std::string(3, '\0'))).ok());
    check_bad(one_block(""), "0 restarts");
    check_bad(one_block("abc"), "0 restarts");
    check_bad(one_block(entry + u32 + u32), "0 restarts");
    check_bad(one_block(entry + u32 + "\x03" + std::string(3, '\0')), "3 restarts");
    check_bad(one_block(entry + u32 + "\xff\xff\xff\xff"), "4294967295 restarts");
    check_bad(one_block(entry + u32 + "\x01\x00\x00\x40"), "restarts in a block");
    check_bad(
        one_block(entry + restarts("\x01" + std::string(3, '\0')) + "\x01" + std::string(3, '\0')),
        "restart 0 is byte 1");
    check_bad(one_block(entry + u32 + u32 + "\x02" + std::string(3, '\0')), "restart 1 is byte 0");
    check_bad(one_block(entry + u32 + "\xff\xff\xff\xff" + "\x02" + std::string(3, '\0')),
              "restart 1 is byte 4294967295");

    std::string tail = u32 + "\x01" + std::string(3, '\0');
    check_bad(one_block("\x01\x01\x01"
                        "a1" +
                        tail),
              "shares 1 byte of a key that has 0");
    check_bad(one_block(entry +
                        "\x02\x01\x01"
                        "b1" +
                        tail),
              "shares 2 bytes of a key that has 1");
    check_bad(one_block(entry + std::string(9, '\xff') +
                        "\x01\x01\x01"
                        "b1" +
                        tail),
              "shares 18446744073709551615");
    check_bad(one_block(kZero +
                        "\x7f\x01"
                        "a1" +
                        tail),
              "cut off");
    check_bad(one_block(kZero + std::string(9, '\xff') +
                        "\x01\x01"
                        "a1" +
                        tail),
              "cut off");
    check_bad(one_block(kZero + std::string(10, '\xff') +
                        "\x01"
                        "a1" +
                        tail),
              "cut off");
    check_bad(one_block(kZero + "\x01" + std::string(9, '\xff') +
                        "\x01"
                        "a1" +
                        tail),
              "cut off");
    // A restart at an entry that is not whole.
    std::string two = entry +
                      "\x01\x01\x01"
                      "b1",
                second = "\x05" + std::string(3, '\0');
    check_bad(one_block(two + u32 + second + "\x02" + std::string(3, '\0')), "is not whole");
}

TEST_CASE("convert tensorflow: checksums, compressions and sizes") {
    std::string block = table_block({{"a", "1"}});
    std::string bad = sealed(block);
    bad[bad.size() - 1] = static_cast<char>(bad[bad.size() - 1] + 1);
    check_bad(table_of({{"a", bad}}), "checksum is");
    check_bad(table_of({{"a", sealed(block, 2)}}), "compression is 2");
    // What little bytes claim to be, or would become.
    std::string bomb = varint(uint64_t{1} << 40) + std::string(1000, '\xfe') + "\x01";
    std::string trailer = bomb;
    uint32_t crc = masked_crc32c(bomb);
    trailer.append(reinterpret_cast<const char*>(&crc), 4);
    check_bad(table_of({{"a", trailer}}), "claim to unpack to 1099511627776");
    check_bad(std::string((16 << 20) + 1, '\0'), "expected at most");
    std::string large(5 << 20, 'x');
    Entries blocks;
    for (char c : std::string("abcdefghijklmnop"))
        blocks.emplace_back(std::string(1, c),
                            sealed(table_block({{std::string(1, c), large}}), 1));
    check_bad(table_of(blocks), "unpack to over 64 MB");
    // Keys of little bytes.
    std::string keys = varint(0) + varint(1 << 20) + varint(0) + std::string(1 << 20, 'a');
    for (int i = 0; i < 200; i++)
        keys += varint((1 << 20) + static_cast<uint64_t>(i)) + varint(1) + varint(0) + "a";
    check_bad(one_block(keys + std::string(4, '\0') + "\x01" + std::string(3, '\0')),
              "unpack to over 64 MB");
}

TEST_CASE("convert tensorflow: the indexes that TensorFlow wrote") {
    std::string folder = outside_data("tf-index");
    if (folder.empty())
        return;
    for (const std::string& name : {std::string("plain"), std::string("snappy")}) {
        CAPTURE(name);
        std::string bytes = read_file(folder + "/" + name + ".index");
        Entries found;
        CHECK(read(bytes, &found).ok());
        REQUIRE(!found.empty());
        uint64_t n_shards = 0;
        CHECK(found[0].first.empty());
        CHECK(convert::parse_bundle_header(found[0].second, &n_shards).ok());
        CHECK(n_shards == 1);
        for (size_t i = 1; i < found.size(); i++) {
            convert::BundleEntry entry;
            CHECK(convert::parse_bundle_entry(found[i].second, &entry).ok());
            CHECK(entry.size == 4);
            CHECK(entry.offset == 4 * (i - 1));
        }
        CHECK(found[1].first == "a");
        CHECK(found.size() == (name == "plain" ? 10 : 6));
        for (size_t n = 0; n < bytes.size(); n++)
            CHECK(!read(bytes.substr(0, n)).ok());
    }
}
