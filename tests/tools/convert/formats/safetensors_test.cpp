// What a safetensors file may claim.
#include "convert/formats/safetensors.h"

#include <doctest/doctest.h>

#include "tests/tools/convert/maker.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

Status read_header(const std::string& bytes, convert::SafetensorsFile* out = nullptr) {
    TempFolder folder;
    write_file(folder / "x.safetensors", bytes);
    convert::File file;
    REQUIRE(file.open(folder / "x.safetensors").ok());
    convert::SafetensorsFile unused;
    return convert::read_safetensors_header(file, out != nullptr ? out : &unused);
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
}

void check_bad(const std::string& bytes, const std::string& word) {
    Status status = read_header(bytes);
    std::string message = status.message();
    CAPTURE(message);
    CHECK(!status.ok());
    CHECK(message.find(word) != std::string::npos);
}

std::string with_length(uint64_t n, const std::string& rest) {
    return std::string(reinterpret_cast<const char*>(&n), 8) + rest;
}

}  // namespace

TEST_CASE("convert safetensors: a sound header is read, aligned or not") {
    std::string data(20, 'x');
    for (const char* pad : {"", " ", "   \n"}) {
        std::string header =
            "{" + entry("b", "F32", "[2,2]", "[4,20]") + "," + entry("a", "BF16", "[2]", "[0,4]") +
            "," + entry("none", "F32", "[0,18446744073709551615]", "[20,20]") + "}" + pad;
        convert::SafetensorsFile file;
        REQUIRE(read_header(safetensors(header, data), &file).ok());
        REQUIRE(file.tensors.size() == 3);
        CHECK(file.tensors[0].name == "b");
        CHECK(file.offsets[0] == 8 + header.size() + 4);
        CHECK(file.tensors[1].type == ElementType::bf16);
        CHECK(file.tensors[0].shape == std::vector<uint64_t>{2, 2});
    }
}

TEST_CASE("convert safetensors: the header's length is not believed") {
    for (uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{3}, uint64_t{1} << 31, uint64_t{1} << 32,
                       uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 8}) {
        CAPTURE(n);
        check_bad(with_length(n, "{}"), "header's length");
    }
    for (size_t n = 0; n < 8; n++)
        check_bad(std::string(n, '\0'), "no safetensors file");
    check_bad(std::string(4096, '\0'), "header's length is 0");
    check_bad(with_length(2, "[]"), "does not begin with {");
    check_bad(with_length(17 << 20, "{" + std::string(17 << 20, ' ')), "header's length");
}

TEST_CASE("convert safetensors: offsets that lie are refused") {
    auto file = [](const std::string& header) { return safetensors(header, std::string(16, 'x')); };
    auto one = [&](const char* shape, const char* offsets) {
        return file("{" + entry("a", "F32", shape, offsets) + "}");
    };
    check_bad(one("[4]", "[16,0]"), "data_offsets are [16, 0]");
    check_bad(one("[5]", "[0,20]"), "the file has 16 bytes of data");
    check_bad(one("[4]", "[18446744073709551600,18446744073709551615]"), "data_offsets");
    check_bad(one("[3]", "[0,16]"), "has 12");
    check_bad(one("[3]", "[0,12]"), "4 bytes of data beyond its tensors");
    check_bad(one("[3]", "[4,16]"), "leaving a hole after byte 0");
    check_bad(one("[4]", "[0]"), "data_offsets are missing");
    check_bad(one("[4]", "[0,16,32]"), "over two data_offsets");
    check_bad(one("[4]", "[0,-16]"), "found -16");
    check_bad(one("[4]", "[0.0,16]"), "found 0.0");
    check_bad(one("[4294967296,4294967296,4294967296]", "[0,16]"), "multiplies past 2^64");
    check_bad(one("[18446744073709551615,2]", "[0,16]"), "multiplies past 2^64");
    check_bad(one("[4611686018427387904]", "[0,16]"), "multiplies past 2^64");
    check_bad(one("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4]", "[0,16]"), "over 16 dimensions");
    check_bad(file("{" + entry("a", "F32", "[3]", "[0,12]") + "," +
                   entry("b", "F32", "[2]", "[8,16]") + "}"),
              "b: data begins at byte 8, overlapping");
    check_bad(file("{" + entry("a", "F32", "[1]", "[0,4]") + "," +
                   entry("b", "F32", "[2]", "[8,16]") + "}"),
              "b: data begins at byte 8, leaving a hole");
    check_bad(file("{" + entry("a", "F32", "[4]", "[0,16]") + "," +
                   entry("b", "F32", "[4]", "[0,16]") + "}"),
              "overlapping");
    check_bad(file("{}"), "16 bytes of data beyond its tensors");
}

TEST_CASE("convert safetensors: headers of another grammar are refused") {
    auto file = [](const std::string& header) { return safetensors(header, "xxxx"); };
    std::string good = entry("a", "F32", "[1]", "[0,4]");
    REQUIRE(read_header(file("{" + good + "}")).ok());
    check_bad(file("{" + good + "," + good + "}"), "stands twice");
    check_bad(file("{" + good + "}x"), "something follows");
    check_bad(file("{" + entry("a", "F33", "[1]", "[0,4]") + "}"), "unknown dtype \"F33\"");
    check_bad(file("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}"), "data_offsets are missing");
    check_bad(file("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}"), "shape is missing");
    check_bad(file("{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}"), "dtype is missing");
    check_bad(file("{\"a\":[]}"), "expected an object");
    check_bad(file("{\"a\":{\"dtype\":\"F32\",\"x\":1}}"), "unknown field \"x\"");
    check_bad(file("{\"a\":{\"dtype\":4}}"), "expected a string");
    std::string deep = "{\"__metadata__\":";
    for (int i = 0; i < 100000; i++)
        deep += "[";
    check_bad(file(deep), "nested deeper");
}

TEST_CASE("convert safetensors: a file cut at any byte is refused, one with more too") {
    std::string whole = safetensors(small_model().tensors);
    uint64_t header_end =
        8 + static_cast<unsigned char>(whole[0]) + 256 * static_cast<unsigned char>(whole[1]);
    REQUIRE(read_header(whole).ok());
    for (size_t n = 0; n < whole.size(); n += n < header_end + 40 ? 1 : 997) {
        CAPTURE(n);
        CHECK(!read_header(whole.substr(0, n)).ok());
    }
    CHECK(!read_header(whole.substr(0, whole.size() - 1)).ok());
    CHECK(!read_header(whole + "x").ok());
}

TEST_CASE("convert safetensors: a file cut while it is read is an error") {
    TempFolder folder;
    HfModel model = small_model();
    model.write(folder.path());
    std::unique_ptr<convert::Checkpoint> checkpoint;
    REQUIRE(convert::open_checkpoint(folder.path(), {}, &checkpoint).ok());
    write_file(folder / "model.safetensors", "");
    convert::Scratch scratch;
    ArrayView array;
    Status status = checkpoint->read(0, &scratch, &array);
    CHECK(status.code() == Code::bad_file);
    CHECK(std::string(status.message()).find("wte.weight") != std::string::npos);
}
