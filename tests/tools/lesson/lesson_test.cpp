// build/lesson: what it says holds on every table of kernels and for any number of threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "lesson/lesson.h"
#include "tests/quick.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

struct ShortLesson {
    const char* name;
    void (*teach)(lesson::Page& page);
    int n_claims;
};

// The lessons as a user runs them, the cache's but shorter.
const ShortLesson kShort[] = {
    {"no-weights", lesson::no_weights, 6},
    {"qkv", lesson::query_key_value, 10},
    {"mask", lesson::mask, 10},
    {"heads", lesson::heads, 11},
    {"count", lesson::count, 9},
    {"cache", [](lesson::Page& page) { lesson::cache_up_to(page, 64); }, 3},
    {"temperature", lesson::temperature, 7},
};

std::string text_of(const ShortLesson& each, const Compute& compute) {
    std::string text;
    lesson::Page page(
        compute, [&](const std::string& part) { text += part; }, "");
    each.teach(page);
    return text;
}

// A clock's lines have this unit; all others are the same everywhere.
std::string without_times(const std::string& text) {
    std::istringstream lines(text);
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
        if (line.find(" ms") == std::string::npos)
            kept += line + '\n';
    }
    return kept;
}

int count_of(const std::string& text, const std::string& part) {
    int n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        n++;
    return n;
}

}  // namespace

TEST_CASE("lesson: every claim holds, and the text is the same, for any table and threads") {
    for (const ShortLesson& each : kShort) {
        CAPTURE(std::string(each.name));
        std::string first;
        bool present = false;
        for (size_t i = 0; const char* isa = isa_name(i, &present); i++) {
            for (size_t n_threads : {1, 3}) {
                if (!present)
                    continue;
                Compute compute;
                REQUIRE(compute.create(n_threads, isa).ok());
                CAPTURE(std::string(isa));
                CAPTURE(n_threads);
                std::string text = without_times(text_of(each, compute));
                CHECK(count_of(text, "\n  ok: ") == each.n_claims);
                if (first.empty() && compute.exact())
                    first = text;
                if (compute.exact())
                    CHECK(text == first);
            }
        }
        std::transform(first.begin(), first.end(), first.begin(), [](char c) {
            return static_cast<char>(tolower(static_cast<unsigned char>(c)));
        });
        CHECK(count_of(first, "nan") == 0);
    }
}

TEST_CASE("lesson: what is not on a line of the clock has no line of more than 100 letters") {
    for (const ShortLesson& each : kShort) {
        std::istringstream lines(text_of(each, Compute()));
        for (std::string line; std::getline(lines, line);) {
            CAPTURE(line);
            CHECK(line.size() <= 100);
            CHECK((line.empty() || line.back() != ' '));
        }
    }
}

TEST_CASE("lesson: without a name it runs every lesson but the returns desk") {
    std::string why = too_slow();
    if (!why.empty()) {
        MESSAGE("skipped: the cache's lesson takes a minute " << why);
        return;
    }
    Ran ran = run_program("lesson", {});
    CHECK(ran.exit_status == 0);
    CHECK(ran.err == "");
    for (const char* title : {"1  No weights", "2  Query", "3  The mask", "4  Heads",
                              "5  The count", "6  The cache", "7  Temperature"}) {
        CAPTURE(std::string(title));
        CHECK(count_of(ran.out, title) == 1);
    }
    CHECK(count_of(ran.out, "8  The returns desk") == 0);
    CHECK(count_of(ran.out, "1,024      1,024       524,800") == 1);
}
