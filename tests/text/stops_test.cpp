#include "text/stops.h"

#include <doctest/doctest.h>
#include <algorithm>

#include <string>
#include <vector>

#include "tests/text/gpt2_vocabulary.h"

using namespace minigpt;

namespace {

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Feeds pieces and checks after each what the definition says has to be out.
void check_stream(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
    std::vector<std::string_view> views(stops.begin(), stops.end());
    size_t longest = 0;
    for (const std::string& s : pieces)
        longest = std::max(longest, s.size());
    StopMatcher matcher;
    REQUIRE(matcher.plan(views.data(), views.size(), longest).ok());
    Layouter counted(nullptr);
    matcher.place(&counted);
    Buffer<char> memory;
    REQUIRE(memory.allocate(static_cast<size_t>(counted.used())));
    Layouter layouter(memory.data());
    matcher.place(&layouter);
    matcher.start();
    std::string in, out;
    std::string_view text;
    for (const std::string& piece : pieces) {
        bool stopped = matcher.push(piece, &text);
        out += text;
        for (char c : piece) {
            in += c;
            size_t cut = 0;
            for (const std::string& s : stops) {
                if (ends_with(in, s))
                    cut = std::max(cut, s.size());
            }
            if (cut == 0)
                continue;
            REQUIRE(stopped);
            REQUIRE(out == in.substr(0, in.size() - cut));
            return;
        }
        REQUIRE_FALSE(stopped);
        size_t held = 0;
        for (const std::string& s : stops) {
            for (size_t k = 1; k < s.size(); k++) {
                if (ends_with(in, s.substr(0, k)))
                    held = std::max(held, k);
            }
        }
        REQUIRE(out == in.substr(0, in.size() - held));
    }
    out += matcher.flush();
    REQUIRE(out == in);
}

}  // namespace

TEST_CASE("stops: found over pieces, held back no longer than they may come") {
    check_stream({"stop"}, {"a st", "op b"});
    check_stream({"stop"}, {"a st", "ay sto", "ne s", "top"});
    check_stream({"aab"}, {"aa", "aa", "ab"});
    check_stream({"abcd", "bc"}, {"abce", "d"});
    check_stream({"\n\n", "User:"}, {"Us", "er", "\n", "User", ":"});
    check_stream({}, {"anything", "", "at all"});
    check_stream({"x"}, {"", "", "x"});
    check_stream({"ab"}, {"a", "", "b"});
}

TEST_CASE("stops: agree with the definition on random streams") {
    TestRandom random;
    auto word = [&](uint32_t longest) {
        std::string s;
        for (uint32_t n = 1 + random.below(longest); n > 0; n--) {
            s += static_cast<char>('a' + random.below(2));
        }
        return s;
    };
    for (int trial = 0; trial < 3000; trial++) {
        std::vector<std::string> stops, pieces;
        for (uint32_t n = random.below(4); n > 0; n--)
            stops.push_back(word(9));
        for (int i = 0; i < 12; i++)
            pieces.push_back(word(4));
        check_stream(stops, pieces);
    }
}

TEST_CASE("stops: an empty text and missing ones are refused") {
    std::string_view stops[] = {"a", ""};
    StopMatcher matcher;
    Status status = matcher.plan(stops, 2, 8);
    CHECK(status.code() == Code::bad_argument);
    CHECK(std::string(status.message()) == "stop text 1 is empty");
    CHECK(matcher.plan(nullptr, 1, 8).code() == Code::bad_argument);
    CHECK(matcher.plan(nullptr, 0, 8).ok());
}
