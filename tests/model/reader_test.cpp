// Headers that are wrong by one field, with a right checksum.
#include <doctest/doctest.h>

#include "base/panel.h"
#include "tests/model/sealed.h"

using namespace minigpt;

namespace {

constexpr size_t kReserved = 84, kSections = 128, kSectionBytes = 32;

// Two sections: the provenance and a self-test.
Image two_sections(uint32_t n_ctx = 16) {
    Config config = odd_configs()[0].config;
    config.n_ctx = n_ctx;
    WriterOptions options;
    options.self_test = true;
    options.source_name = "s";
    return make_image(config, random_arrays(config, 5), options);
}

void refused(const void* image, size_t bytes, const char* words, Code code = Code::bad_file) {
    Model model;
    Status status = model.open(image, bytes);
    CAPTURE(std::string(status.message()));
    CAPTURE(std::string(words));
    CHECK(status.code() == code);
    CHECK(strstr(status.message(), words) != nullptr);
}

}  // namespace

TEST_CASE("reader: each reserved word of the header is zero") {
    const Image good = two_sections();
    for (size_t word = 0; word < 11; word++) {
        for (uint32_t value : {1u, 0x80000000u}) {
            Image image = good;
            put(image, kReserved + 4 * word, value);
            seal(image);
            refused(image.data(), image.size(), "a reserved field is");
        }
    }
}

TEST_CASE("reader: the reserved word of each section is zero") {
    const Image good = two_sections();
    for (size_t section : {0, 1}) {
        for (uint32_t value : {1u, 0x80000000u}) {
            Image image = good;
            put(image, kSections + kSectionBytes * section + 4, value);
            seal(image);
            refused(image.data(), image.size(), "reserved word");
        }
    }
}

TEST_CASE("reader: sections are ascending, each once") {
    const Image good = two_sections();
    for (uint32_t kind : {0u, 1u}) {
        Image image = good;
        put(image, kSections + kSectionBytes, kind);
        seal(image);
        refused(image.data(), image.size(), "expected ascending");
    }
    Image first = good, later = good;
    put(first, kSections, uint32_t{0});
    seal(first);
    refused(first.data(), first.size(), "section kind 0 after 0");
    put(later, kSections + kSectionBytes, uint32_t{4});
    seal(later);
    Model model;
    CHECK(model.open(later.data(), later.size()).ok());
    CHECK(model.n_self_tests() == 0);
}

TEST_CASE("reader: a section that begins past the end of the file is refused") {
    const Image good = two_sections();
    uint64_t offset = get<uint64_t>(good, kSections + 8),
             bytes = get<uint64_t>(good, kSections + 16);
    REQUIRE(bytes % 64 != 0);
    // The file ends with the provenance, in the midst of a line; the self-test begins with the
    // next.
    Image image = good;
    put(image, 16, offset + bytes);
    seal(image);
    REQUIRE(get<uint64_t>(image, kSections + kSectionBytes + 8) > offset + bytes);
    refused(image.data(), static_cast<size_t>(offset + bytes), "the self-test: ");
    refused(image.data(), static_cast<size_t>(offset + bytes), "; the file has ");
    // One that is longer than the file, by a byte.
    for (uint64_t more : {good.size() - offset, good.size() - offset + 1, ~uint64_t{0} - offset}) {
        Image longer = good;
        put(longer, kSections + 16, more);
        seal(longer);
        bool fits = more == good.size() - offset;
        refused(longer.data(), longer.size(), fits ? "the self-test: begins" : "; the file has ");
    }
}

TEST_CASE("reader: a tensor of no known type, and a version of no known format, are refused") {
    const Image good = two_sections();
    Image image = good, typed = good;
    for (uint32_t version : {0u, 2u, 0xffffffffu}) {
        put(image, 8, version);
        refused(image.data(), image.size(), "convert the checkpoint again", Code::not_supported);
    }
    size_t type = kSections + 2 * kSectionBytes + 48;
    for (uint32_t value : {5u, 0xffffffffu}) {
        put(typed, type, value);
        seal(typed);
        refused(typed.data(), typed.size(), "unknown element type");
    }
}

TEST_CASE("reader: a head of q4 is refused, though all else of it is right") {
    Config config = odd_configs()[0].config;
    config.tied = false;
    WriterOptions options;
    options.type = ElementType::q4;
    Image image = make_image(config, random_arrays(config, 5), options);
    // The head is the last tensor, so nothing behind it moves when it shrinks.
    const size_t n_sections = get<uint32_t>(image, 76), n_tensors = get<uint32_t>(image, 80);
    const size_t head = kSections + n_sections * kSectionBytes + (n_tensors - 1) * 96;
    REQUIRE(strcmp(reinterpret_cast<const char*>(image.data() + head), "lm_head.weight") == 0);
    REQUIRE(get<uint32_t>(image, head + 48) == static_cast<uint32_t>(ElementType::q8));
    const uint64_t offset = get<uint64_t>(image, head + 72),
                   bytes = get<uint64_t>(image, head + 80) / kQ8GroupBytes * kQ4GroupBytes;
    put(image, head + 48, static_cast<uint32_t>(ElementType::q4));
    put(image, head + 80, bytes);
    const uint64_t file_bytes = (offset + bytes + 63) / 64 * 64;
    put(image, 16, file_bytes);
    seal(image);
    refused(image.data(), static_cast<size_t>(file_bytes),
            "lm_head.weight: element type is q4; expected another");
}

TEST_CASE("reader: a provenance of two texts is refused, whatever follows it") {
    Image image = two_sections();
    // "", "s", "": two of them end with the third byte, and a zero follows.
    REQUIRE(get<uint64_t>(image, kSections + 16) == 4);
    put(image, kSections + 16, uint64_t{3});
    seal(image);
    refused(image.data(), image.size(), "provenance: 2 texts; expected 3");
}

TEST_CASE("reader: a transfer in text mode is seen from the magic") {
    const Image good = two_sections();
    struct {
        const char* what;
        std::string magic;
    } changed[] = {
        {"CR LF became LF", "\x89MGPT\n\x1a"},
        {"LF became CR LF", "\x89MGPT\r\r\n\x1a"},
        {"the top bit was dropped", "\tMGPT\r\n\x1a"},
        {"read as Latin-1, written as UTF-8", "\xc2\x89MGPT\r\n\x1a"},
        {"what is no UTF-8 was replaced", "\xef\xbf\xbdMGPT\r\n\x1a"},
        {"what is no ASCII was dropped", "MGPT\r\n\x1a"},
        {"cut at the end of a text", "\x89MGPT\r\n"},
    };
    for (const auto& change : changed) {
        CAPTURE(std::string(change.what));
        Image image = good;
        memcpy(image.data(), change.magic.data(), change.magic.size());
        memset(image.data() + change.magic.size(), 1, 1);
        refused(image.data(), image.size(), "a transfer in text mode: copy it again in binary");
    }
    Image image = good;
    memcpy(image.data(), "GGUFxxxx", 8);
    refused(image.data(), image.size(), "not a .mgpt file");
}
