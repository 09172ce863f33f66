#include "text/split.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "text/utf8.h"

using namespace minigpt;
using Words = std::vector<std::string>;

namespace {

Words split(const std::string& text) {
    Words words;
    const char* end = text.data() + text.size();
    for (const char* p = text.data(); p < end;) {
        size_t n = word_length(p, end);
        REQUIRE(n > 0);
        REQUIRE(n <= static_cast<size_t>(end - p));
        words.emplace_back(p, n);
        p += n;
    }
    return words;
}

}  // namespace

TEST_CASE("split: a space belongs to the word after it") {
    CHECK(split("one two 3 four!") == Words{"one", " two", " 3", " four", "!"});
    CHECK(split(" a") == Words{" a"});
    CHECK(split("a1b") == Words{"a", "1", "b"});
    CHECK(split(" ?!\xe2\x82\xac x") == Words{" ?!\xe2\x82\xac", " x"});
}

TEST_CASE("split: a run of white space keeps all but its last character, at the end all") {
    CHECK(split("a   b") == Words{"a", "  ", " b"});
    CHECK(split("a \n b") == Words{"a", " \n", " b"});
    CHECK(split("a\n\nb") == Words{"a", "\n", "\n", "b"});
    CHECK(split("a\tb") == Words{"a", "\t", "b"});
    CHECK(split("a  ") == Words{"a", "  "});
    CHECK(split(" ") == Words{" "});
    CHECK(split("\xe2\x80\x83\xe2\x80\x83x") == Words{"\xe2\x80\x83", "\xe2\x80\x83", "x"});
    CHECK(split(" \xe2\x80\x83") == Words{" \xe2\x80\x83"});
    CHECK(split("\xe2\x80\x83 x") == Words{"\xe2\x80\x83", " x"});
}

TEST_CASE("split: contractions are lower case, straight, and at the start of a word") {
    CHECK(split("I'm he's we'll you've I'd they're don't") ==
          Words{"I", "'m", " he", "'s", " we", "'ll", " you", "'ve", " I", "'d", " they", "'re",
                " don", "'t"});
    CHECK(split("'single") == Words{"'s", "ingle"});
    CHECK(split("'lx") == Words{"'", "lx"});
    CHECK(split("'l") == Words{"'", "l"});
    CHECK(split("'r") == Words{"'", "r"});
    CHECK(split("'") == Words{"'"});
    CHECK(split("IT'S") == Words{"IT", "'", "S"});
    CHECK(split(" 's") == Words{" '", "s"});
    CHECK(split("!'s") == Words{"!'", "s"});
    CHECK(split("''s") == Words{"''", "s"});
    CHECK(split("it\xe2\x80\x99s") == Words{"it", "\xe2\x80\x99", "s"});
}

TEST_CASE("split: a byte outside UTF-8 is neither letter, number nor white space") {
    CHECK(split("a\xff\xfe!b") == Words{"a", "\xff\xfe!", "b"});
    CHECK(split("a\xc3") == Words{"a", "\xc3"});
    CHECK(split("\xe2\x82x") == Words{"\xe2\x82", "x"});
    CHECK(split(" \x80") == Words{" \x80"});
    CHECK(split(std::string("a\0b", 3)) == Words{"a", std::string(1, '\0'), "b"});
    CHECK(split("\xed\xa0\x80z") == Words{"\xed\xa0\x80", "z"});          // a surrogate
    CHECK(split("\xc1\xa1z") == Words{"\xc1\xa1", "z"});                  // an overlong 'a'
    CHECK(split("\xf4\x90\x80\x80z") == Words{"\xf4\x90\x80\x80", "z"});  // past U+10FFFF
}

TEST_CASE("split: combining marks are no letters, other digits are numbers") {
    CHECK(split("e\xcc\x81") == Words{"e", "\xcc\x81"});
    CHECK(split("x\xd9\xa3") == Words{"x", "\xd9\xa3"});                // Arabic 3
    CHECK(split("x\xe2\x85\xa7y") == Words{"x", "\xe2\x85\xa7", "y"});  // Roman VIII
    CHECK(split("\xe4\xb8\xad\xe6\x96\x87 a") == Words{"\xe4\xb8\xad\xe6\x96\x87", " a"});
}
