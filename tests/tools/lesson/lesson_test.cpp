// build/lesson: what it says holds on every table of kernels and for any number of threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
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
                if (first.empty() && compute.bit_exact())
                    first = text;
                if (compute.bit_exact())
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

// Numbers that were recomputed by hand; the claims check the rest.
TEST_CASE("lesson: what is shown, line by line") {
    const struct {
        const char* name;
        std::vector<const char*> lines;
    } expected[] = {
        {"no-weights", {"    sat   0.025   0.187   0.507   0.069   0.025   0.187  |  1.000\n"}},
        {"mask",
         {"    the   0.075   0.000   0.000   0.000   0.000   0.000  |  0.075\n",
          "    on    0.040   0.040   0.040   0.164   0.000   0.000  |  0.284\n"}},
        {"qkv",
         {"    64            8.014          0.823  0.0039            |  1.002          0.104  "
          "0.0151\n",
          "    c_attn, in the checkpoint     (768, 2304)     (2304)\n"}},
        {"heads",
         {"    sat   0.084   0.171   0.703   0.042  |  1.000\n",
          "    sat   0.014   0.959   0.014   0.014  |  1.000\n",
          "    one of double width     1     8     4     0\n",
          "    one of double width   0.026   0.845   0.114   0.015  |  1.000\n"}},
        {"count",
         {"    as `convert` counts                         12 * 12 + 4       148\n",
          "    q, k, v apart, and a head                   12 * 16 + 5       197\n",
          "    the published file: with masks              12 * 13 + 4       160\n"}},
        {"cache",
         {"    A  in the layer's matrices  n_embd * (4 n_embd + 2 n_ff) = 16 * (4 * 16 + 2 * 64) = "
          "3,072\n",
          "    with the cache   3,072 * 16 + 32 * 136 + 1,024 * 16 = 49,152 + 4,352 + 16,384 = "
          "69,888\n",
          "    without          3,072 * 136 + 32 * 816 + 1,024 * 16 = 417,792 + 26,112 + 16,384 = "
          "460,288\n",
          "    16         16           136              69,888                460,288            "
          "6.6\n"}},
        {"temperature",
         {"    exp(logit)  76.609  72.689  51.329  35.767  35.065  28.780  28.637  20.560  68.025  "
          "| "
          "417.462\n",
          "    t = 2.0   0.106   0.103   0.086   0.072   0.071   0.065   0.065   0.055   0.377  |  "
          "1.000\n",
          "2.72 bits at t = 0.5, 3.54 at 1, 4.48"}},
    };
    for (const auto& each : expected) {
        for (const ShortLesson& lesson : kShort) {
            if (std::string(lesson.name) != each.name)
                continue;
            std::string text = text_of(lesson, Compute());
            CAPTURE(text);
            for (const char* line : each.lines) {
                CAPTURE(std::string(line));
                CHECK(count_of(text, line) == 1);
            }
        }
    }
}

TEST_CASE("lesson page: numbers, times, paragraphs and the sums of a matrix") {
    CHECK(lesson::number(-0.0004) == "0.000");
    CHECK(lesson::number(-0.0006) == "-0.001");
    CHECK(lesson::number(-2, 0) == "-2");
    CHECK(lesson::number(-INFINITY, 0) == "-inf");
    CHECK(lesson::time_text(0.00123456) == "1.23 ms");
    CHECK(lesson::time_text(0.99949) == "999 ms");
    CHECK(lesson::time_text(1.5) == "1500 ms");
    CHECK(lesson::time_text(9.9994) == "9999 ms");
    CHECK(lesson::time_text(10) == "10 s");
    CHECK(lesson::time_text(123.4) == "123 s");
    std::string text;
    Compute compute;
    lesson::Page page(
        compute, [&](const std::string& part) { text += part; }, "");
    page.matrix("a", "(n, n)", lesson::Matrix(2, 2, {1, 2, 0.5f, 3}), {"x", "y"}, {"p", "q"},
                lesson::Page::Sums::shown);
    CHECK(text ==
          "  a  (n, n) = (2, 2)\n"
          "            p       q  |    sum\n"
          "    x   1.000   2.000  |  3.000\n"
          "    y   0.500   3.000  |  3.500\n");
    text.clear();
    page.say("%s %s", std::string(40, 'a').c_str(), std::string(43, 'b').c_str());  // 84 letters
    page.say("%s %s", std::string(40, 'a').c_str(), std::string(44, 'b').c_str());  // and 85
    CHECK(text == "\n" + std::string(40, 'a') + " " + std::string(43, 'b') + "\n\n" +
                      std::string(40, 'a') + "\n" + std::string(44, 'b') + "\n");
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
