#include "common/json.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>

#include "common/text.h"
#include "tests/json.h"

using namespace minigpt::tools;
using minigpt::test::Json;

TEST_CASE("json: a JSON string gives valid UTF-8 back as it was") {
    std::string all_ascii;
    for (int c = 0; c < 128; c++)
        all_ascii += static_cast<char>(c);
    for (const std::string& text :
         {std::string(), all_ascii, std::string("\"\\/\b\f\n\r\t"), std::string("a\0b", 3),
          std::string("\u00e9 \u4e2d \U0001f600 \ud7ff \ue000 \U0010ffff")}) {
        CHECK(Json::parse(json_string(text)).text == text);
    }
}

// Unicode 15, section 3.9: tables 3-8 to 3-11, and what is cut at the end.
TEST_CASE("json: each maximal subpart that is not UTF-8 becomes one U+FFFD") {
    const std::string kMark = "\ufffd";
    const std::pair<const char*, const char*> kCases[] = {
        {"\x80", "?"},
        {"a\xffz", "a?z"},
        {"\xc3", "?"},
        {"\xc3(", "?("},
        {"\xc0\xaf", "??"},
        {"\xe2\x82", "?"},
        {"\xe2\x82x", "?x"},
        {"\xe2(", "?("},
        {"\xe0\x9f\xbf", "???"},
        {"\xed\xa0\x80", "???"},
        {"\xed\xbf\xbf\xed\xaf", "?????"},
        {"\xf0\x9f", "?"},
        {"\xf0\x9f\x98", "?"},
        {"\xf0\x9f\x98z", "?z"},
        {"\xf0\x8f\xbf\xbf", "????"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xf4\x91\x92\x93\xff"
         "A\x80\xbf"
         "B",
         "?????A??B"},
        {"\xf5\x80\x80\x80", "????"},
        {"\xe4\xb8\xad\xe4", "\u4e2d?"},
        {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82"
         "A",
         "????????A"},
        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf"
         "A",
         "????A"},
        {"a\xf1\x80\x80\xe1\x80\xc2"
         "b\x80"
         "c\x80\xbf"
         "d",
         "a???b?c??d"},
    };
    for (const auto& c : kCases) {
        std::string expected;
        for (const char* p = c.second; *p != '\0'; p++)
            expected += *p == '?' ? kMark : std::string(1, *p);
        CHECK(Json::parse(json_string(c.first)).text == expected);
    }
}

TEST_CASE("json: what must be escaped is, and DEL") {
    CHECK(json_string("a\x7f") == "\"a\\u007f\"");
    CHECK(json_string("\"\\\n\x1f") == "\"\\\"\\\\\\n\\u001f\"");
    CHECK(json_string("\xf0\x9f\x98") == "\"\\ufffd\"");
}

TEST_CASE("json: a float comes back from JSON exactly; NaN and infinity are null") {
    for (float x :
         {0.1f, -0.0f, 1e-45f, 3.4028235e38f, 1.0f / 3, 16777217.0f, 1000.00006f, 16777215.0f}) {
        CHECK(strtof(json_number(x).c_str(), nullptr) == x);
    }
    CHECK(json_number(std::numeric_limits<float>::quiet_NaN()) == "null");
    CHECK(json_number(-std::numeric_limits<float>::infinity()) == "null");
    CHECK(json_number(std::numeric_limits<double>::infinity()) == "null");
    CHECK(json_number(1000.00006f) == "1000.00006");
    CHECK(json_number(0.5) == "0.5");
    CHECK(shortest(1e-5f) == "1e-05");
    CHECK(shortest(0.1f) == "0.1");
    CHECK(shortest(1.0f / 3) == "0.33333334");
}

TEST_CASE("text: one is singular, none and more are plural") {
    CHECK(std::string(plural(1)) == "");
    for (uint64_t n : {uint64_t{0}, uint64_t{2}, UINT64_MAX})
        CHECK(std::string(plural(n)) == "s");
}

TEST_CASE("text: numbers in groups of three") {
    CHECK(grouped(0) == "0");
    CHECK(grouped(999) == "999");
    CHECK(grouped(1000) == "1,000");
    CHECK(grouped(124439808) == "124,439,808");
    CHECK(json_ids({}) == "[]");
    CHECK(json_ids({1, -2, 50256}) == "[1,-2,50256]");
}

TEST_CASE("text: what a file or a user gave stays on its line, without a terminal's escapes") {
    CHECK(printable("a\x1b[31mb\r\nc\x7f") == "a?[31mb??c?");
    CHECK(printable("\u00e9 \u4e2d \U0001f600") == "\u00e9 \u4e2d \U0001f600");
    CHECK(printable("\u009b"
                    "31m") == "?31m");
    CHECK(printable("\x9b"
                    "31m\xff") == "?31m?");
    CHECK(printable(std::string("a\0b", 3)) == "a?b");
    CHECK(shown(std::string(80, 'x')) == std::string(80, 'x'));
    CHECK(shown(std::string(81, 'x')) == std::string(80, 'x') + "...");
    // No part of a character.
    CHECK(shown(std::string(77, 'x') + "\U0001f600zz") == std::string(77, 'x') + "...");
    CHECK(shown(std::string(79, 'x') + "\u00e9y") == std::string(79, 'x') + "...");
}
