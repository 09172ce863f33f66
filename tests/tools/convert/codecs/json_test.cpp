#include "convert/codecs/json.h"

#include <doctest/doctest.h>

using namespace minigpt;
using convert::Json;

namespace {

Status skip_all(const std::string& text) {
    Json json(text.data(), text.size());
    MINIGPT_TRY(json.skip());
    return json.end();
}

bool is_json(const std::string& text) {
    return skip_all(text).ok();
}

std::string string_of(const std::string& text) {
    Json json(text.data(), text.size());
    std::string value;
    Status status = json.string(&value);
    return status.ok() ? value : "error";
}

bool whole(const std::string& text, uint64_t expected) {
    Json json(text.data(), text.size());
    uint64_t value;
    return json.u64(&value).ok() && value == expected;
}

}  // namespace

TEST_CASE("convert json: takes what RFC 8259 has") {
    for (const char* text :
         {"{}", " [ ] ", "{\"a\":{\"a\":[1,-0,0.5,1e9,1E-2,12.50e+3]},\"b\":null}", "true", "\"\"",
          "[true,false,null]", "\t\r\n0\n", "\"\\u0000\\/\"", "\"\xf0\x9f\x98\x80\""}) {
        CAPTURE(text);
        CHECK(is_json(text));
    }
}

TEST_CASE("convert json: refuses what it has not") {
    for (const char* text : {"",         " ",          "{",           "[",
                             "[1,]",     "{\"a\":1,}", "{a:1}",       "{\"a\" 1}",
                             "{\"a\":}", "[1 2]",      "[1]]",        "{} {}",
                             "01",       "-",          "1.",          ".5",
                             "1e",       "+1",         "0x1",         "NaN",
                             "Infinity", "-Infinity",  "nul",         "tru",
                             "'a'",      "\"",         "\"a",         "\"\\",
                             "\"\\x\"",  "\"\\u12\"",  "\"\\u12g4\"", "\"\n\"",
                             "[1,,2]",   "{,}",        "[,1]",        "{\"a\":1 \"b\":2}",
                             "/**/1",    "{\"a\":1}//"}) {
        CAPTURE(text);
        CHECK(!is_json(text));
    }
}

TEST_CASE("convert json: UTF-8 is valid or refused") {
    for (const char* text : {"\"\x80\"", "\"\xc0\xaf\"", "\"\xe0\x80\x80\"", "\"\xed\xa0\x80\"",
                             "\"\xf4\x90\x80\x80\"", "\"\xf8\x88\x80\x80\x80\"", "\"\xe2\x82\"",
                             "\"\xff\"", "\"\xc3"}) {
        CAPTURE(text);
        CHECK(!is_json(text));
    }
    for (const char* text : {"\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800x\"",
                             "\"\\ud83d\\ud83d\""}) {
        CAPTURE(text);
        CHECK(!is_json(text));
    }
    CHECK(string_of("\"\\ud83d\\ude00\"") == "\xf0\x9f\x98\x80");
    CHECK(string_of("\"\\u0120\\u00e9\\u20ac\"") == "\xc4\xa0\xc3\xa9\xe2\x82\xac");
    CHECK(string_of("\"\\n\\t\\\"\\\\\\/\\b\\f\\r\"") == "\n\t\"\\/\b\f\r");
    CHECK(string_of("\"\\u0000\"") == std::string(1, '\0'));
}

TEST_CASE("convert json: whole numbers are exact or refused") {
    CHECK(whole("0", 0));
    CHECK(whole("18446744073709551615", UINT64_MAX));
    for (const char* text :
         {"18446744073709551616", "99999999999999999999999", "-1", "1.0", "1e3", "\"1\"", "true"}) {
        CAPTURE(text);
        CHECK(!whole(text, 1));
    }
}

TEST_CASE("convert json: a name twice in one object is refused, at any depth") {
    CHECK(!is_json("{\"a\":1,\"b\":2,\"a\":3}"));
    CHECK(!is_json("{\"a\":1,\"\\u0061\":3}"));
    CHECK(!is_json("{\"x\":[{\"a\":1,\"a\":1}]}"));
    CHECK(is_json("{\"a\":{\"a\":1},\"b\":{\"a\":1}}"));
}

TEST_CASE("convert json: deep nesting ends in an error, not in the stack") {
    for (const char* open : {"[", "{\"a\":"}) {
        std::string text;
        for (int i = 0; i < 100000; i++)
            text += open;
        std::string message = skip_all(text).message();
        CHECK(message.find("nested deeper than 64") != std::string::npos);
    }
    CHECK(is_json(std::string(64, '[') + std::string(64, ']')));
    CHECK(!is_json(std::string(65, '[') + std::string(65, ']')));
}

TEST_CASE("convert json: every truncation of a text is refused") {
    std::string text = "{\"a\":[1.5e3,{\"b\":\"\\u00e9\xc3\xa9\"},null,true,false],\"c\":-2}";
    REQUIRE(is_json(text));
    for (size_t n = 0; n < text.size(); n++) {
        CAPTURE(n);
        CHECK(!is_json(text.substr(0, n)));
    }
}
