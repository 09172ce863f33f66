#include "common/output.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>

#include "common/error.h"
#include "tests/json.h"

using namespace minigpt::cli;
using minigpt::test::Json;

TEST_CASE("output: a JSON string gives valid UTF-8 back as it was") {
    std::string all_ascii;
    for (int c = 0; c < 128; c++)
        all_ascii += static_cast<char>(c);
    for (const std::string& text :
         {std::string(), all_ascii, std::string("\"\\/\b\f\n\r\t"), std::string("a\0b", 3),
          std::string("\u00e9 \u4e2d \U0001f600 \ud7ff \ue000 \U0010ffff")}) {
        CHECK(Json::parse(json_string(text)).text == text);
    }
}

TEST_CASE("output: each byte of a JSON string that is not UTF-8 becomes U+FFFD") {
    const std::string kMark = "\ufffd";
    const std::pair<const char*, const char*> kCases[] = {
        {"\x80", "?"},
        {"a\xffz", "a?z"},
        {"\xc3", "?"},
        {"\xc3(", "?("},
        {"\xc0\xaf", "??"},
        {"\xe2\x82", "??"},
        {"\xe2\x82x", "??x"},
        {"\xe0\x9f\xbf", "???"},
        {"\xed\xa0\x80", "???"},
        {"\xf0\x9f\x98", "???"},
        {"\xf0\x8f\xbf\xbf", "????"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xf5\x80\x80\x80", "????"},
        {"\xe4\xb8\xad\xe4", "\u4e2d?"},
    };
    for (const auto& c : kCases) {
        std::string expected;
        for (const char* p = c.second; *p != '\0'; p++)
            expected += *p == '?' ? kMark : std::string(1, *p);
        CHECK(Json::parse(json_string(c.first)).text == expected);
    }
}

TEST_CASE("output: a float comes back from JSON exactly; NaN and infinity are null") {
    for (float x : {0.1f, -0.0f, 1e-45f, 3.4028235e38f, 1.0f / 3, 16777217.0f, 1000.00006f}) {
        CHECK(strtof(json_number(x).c_str(), nullptr) == x);
    }
    CHECK(json_number(1000.00006f) == "1000.00006");
    CHECK(json_string("a\x7f\x01") == "\"a\\u007f\\u0001\"");
    CHECK(json_number(std::numeric_limits<float>::quiet_NaN()) == "null");
    CHECK(json_number(-std::numeric_limits<float>::infinity()) == "null");
    CHECK(json_number(std::numeric_limits<double>::infinity()) == "null");
    CHECK(json_number(0.5) == "0.5");
    CHECK(shortest(1e-5f) == "1e-05");
    CHECK(shortest(0.1f) == "0.1");
    CHECK(shortest(1.0f / 3) == "0.33333334");
}

TEST_CASE("output: one is singular, none and more are plural") {
    CHECK(std::string(plural(1)) == "");
    for (uint64_t n : {uint64_t{0}, uint64_t{2}, UINT64_MAX})
        CHECK(std::string(plural(n)) == "s");
}

TEST_CASE("output: numbers in groups of three") {
    CHECK(grouped(0) == "0");
    CHECK(grouped(999) == "999");
    CHECK(grouped(1000) == "1,000");
    CHECK(grouped(124439808) == "124,439,808");
    CHECK(json_ids({}) == "[]");
    CHECK(json_ids({1, -2, 50256}) == "[1,-2,50256]");
}
