// Which zip directories are believed.
#include "convert/codecs/zip.h"

#include <doctest/doctest.h>

#include <cstring>

#include "convert/codecs/crc.h"
#include "tests/tools/convert/formats/torch_maker.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

Status read(const std::string& bytes, std::vector<convert::ZipEntry>* entries = nullptr) {
    TempFolder folder;
    write_file(folder / "x.zip", bytes);
    convert::File file;
    REQUIRE(file.open(folder / "x.zip").ok());
    std::vector<convert::ZipEntry> unused;
    return convert::read_zip_directory(file, entries != nullptr ? entries : &unused);
}

void check_bad(const std::string& bytes, const std::string& word) {
    Status status = read(bytes);
    std::string message = status.message();
    CAPTURE(message);
    CHECK(!status.ok());
    CHECK(message.find(word) != std::string::npos);
}

template <typename T>
std::string with(std::string bytes, size_t at, T value) {
    memcpy(&bytes[at], &value, sizeof value);
    return bytes;
}

const std::vector<ZipMember> kTwo = {{"a", "first"}, {"folder/", ""}, {"folder/b", "second!"}};

}  // namespace

TEST_CASE("convert zip: entries of every kind of header, and a comment") {
    CHECK(convert::crc32_of("123456789", 9) == 0xcbf43926);
    CHECK(convert::crc32_of("6789", 4, convert::crc32_of("12345", 5)) == 0xcbf43926);
    for (bool zip64 : {false, true}) {
        for (bool descriptor : {false, true}) {
            for (const char* comment : {"", "PK\5\6 in a comment"}) {
                std::vector<ZipMember> members = kTwo;
                for (ZipMember& m : members) {
                    m.zip64 = zip64;
                    m.descriptor = descriptor;
                }
                members[2].method = 8;
                std::string bytes = zip_archive(members) + comment;
                bytes = with(bytes, bytes.size() - strlen(comment) - 2,
                             static_cast<uint16_t>(strlen(comment)));
                std::vector<convert::ZipEntry> found;
                REQUIRE(read(bytes, &found).ok());
                REQUIRE(found.size() == 2);
                CHECK(found[0].name == "a");
                CHECK(bytes.substr(found[0].offset, found[0].n_bytes) == "first");
                CHECK(found[0].method == 0);
                CHECK(found[1].name == "folder/b");
                CHECK(found[1].method == 8);
                CHECK(bytes.substr(found[1].offset, found[1].packed_bytes) == "second!");
                CHECK(found[1].crc32 == convert::crc32_of("second!", 7));
            }
        }
    }
}

TEST_CASE("convert zip: every cut and every lie about a size is an error") {
    for (bool zip64 : {false, true}) {
        std::vector<ZipMember> members = kTwo;
        for (ZipMember& m : members)
            m.zip64 = zip64;
        std::string bytes = zip_archive(members);
        for (size_t n = 0; n < bytes.size(); n++) {
            CAPTURE(n);
            CHECK(!read(bytes.substr(0, n)).ok());
        }
        // Any byte, set to anything: an error, or entries that lie in the file.
        for (size_t at = 0; at < bytes.size(); at++) {
            for (int value : {0, 1, 0x7f, 0x80, 0xff}) {
                std::vector<convert::ZipEntry> found;
                if (!read(with(bytes, at, static_cast<char>(value)), &found).ok())
                    continue;
                for (const convert::ZipEntry& entry : found) {
                    CHECK(entry.offset <= bytes.size());
                    CHECK(entry.packed_bytes <= bytes.size() - entry.offset);
                }
            }
        }
    }
    std::string bytes = zip_archive({{"a", "first"}, {"b", "second"}});
    size_t first = bytes.find("PK\1\2"), second = bytes.find("PK\1\2", first + 1);
    size_t end = bytes.find("PK\5\6");
    check_bad(with(bytes, first + 24, uint32_t{6}), "5 bytes are said to be 6");
    check_bad(with(bytes, first + 8, uint16_t{1}), "encrypted");
    check_bad(with(with(bytes, first + 20, uint32_t{60}), first + 24, uint32_t{60}), "a:");
    // All that is said of the size agrees, and is past the directory.
    std::string far = bytes;
    for (size_t at : {first + 20, first + 24, size_t{18}, size_t{22}})
        far = with(far, at, uint32_t{400});
    check_bad(far, "a: the zip archive is damaged: an entry lies outside");
    check_bad(with(bytes, second + 42, uint32_t{0}), "two headers differ");
    check_bad(with(bytes, first + 42, UINT32_MAX), "zip64 field");
    check_bad(with(bytes, first + 16, uint32_t{1}), "two headers differ");
    check_bad(with(with(bytes, end + 8, uint16_t{3}), end + 10, uint16_t{3}), "its end says 3");
    check_bad(with(bytes, end + 8, uint16_t{1}), "one part of several");
    check_bad(with(bytes, end + 12, UINT32_MAX - 1), "lies outside");
    check_bad(with(bytes, end + 16, uint32_t{1}), "directory");
    check_bad(with(bytes, end + 16, UINT32_MAX), "zip64 locator");
    check_bad(zip_archive({{"a", "first"}, {"a", "second"}}), "twice");
    // Two entries of the same bytes, as zip bombs have them.
    std::string twins = zip_archive({{"a", "first"}, {"a", "first"}});
    second = twins.find("PK\1\2", twins.find("PK\1\2") + 1);
    check_bad(with(twins, second + 42, uint32_t{0}), "overlap");
    // And by one byte only: the first takes the P of the second's header.
    std::string close = bytes;
    for (size_t at : {first + 20, first + 24, size_t{18}, size_t{22}})
        close = with(close, at, uint32_t{6});
    check_bad(close, "a and b overlap");
}

TEST_CASE("convert zip: a zip64 field holds all the numbers that stand in it") {
    std::vector<ZipMember> members = {{"a", "first"}, {"b", "second"}};
    for (ZipMember& m : members)
        m.zip64 = true;
    std::string bytes = zip_archive(members);
    size_t local = bytes.find(std::string("\1\0\x10\0", 4));
    size_t central = bytes.find(std::string("\1\0\x18\0", 4));
    REQUIRE(local < central);
    REQUIRE(read(bytes).ok());
    // Three numbers are wanted in the directory, and two before the data.
    for (int n : {0, 7, 8, 15, 16, 23})
        check_bad(with(bytes, central + 2, static_cast<uint16_t>(n)), "zip64 field is cut");
    for (int n : {0, 7, 8, 15})
        check_bad(with(bytes, local + 2, static_cast<uint16_t>(n)), "two headers differ");
    check_bad(with(bytes, central, uint16_t{2}), "zip64 field is cut");
}

TEST_CASE("convert zip: bytes after the end are counted, and no cut") {
    for (bool zip64 : {false, true}) {
        for (const char* comment : {"", "a comment"}) {
            std::vector<ZipMember> members = kTwo;
            for (ZipMember& m : members)
                m.zip64 = zip64;
            std::string bytes = zip_archive(members) + comment;
            bytes = with(bytes, bytes.size() - strlen(comment) - 2,
                         static_cast<uint16_t>(strlen(comment)));
            REQUIRE(read(bytes).ok());
            check_bad(bytes + "\n", "1 byte after the end");
            check_bad(bytes + "\r\n", "2 bytes after the end");
            check_bad(bytes + std::string(65000, 'x'), "65000 bytes after the end");
            check_bad(bytes.substr(0, bytes.size() - 1), "is cut");
        }
    }
    // An archive in an archive that is cut is not its end.
    std::string outer = zip_archive({{"folder/a", zip_archive(kTwo)}, {"b", "second"}});
    check_bad(outer.substr(0, outer.rfind("PK\5\6")), "is cut");
}
