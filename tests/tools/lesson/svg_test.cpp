// The pictures of build/lesson.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "lesson/heat_map.h"
#include "lesson/lesson.h"
#include "tests/temp_folder.h"
#include "tests/tools/common/xml.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

void check_picture(const std::string& svg) {
    CHECK(xml_fault(svg) == "");
    for (const char* word : {"nan", "inf", "NaN"})
        CHECK(svg.find(word) == std::string::npos);
    CHECK(svg.compare(0, 5, "<svg ") == 0);
    // An axis upwards and one across, in colors for light and dark.
    CHECK(svg.find("rotate(-90)") != std::string::npos);
    CHECK(svg.find("@media (prefers-color-scheme: dark)") != std::string::npos);
}

size_t count_of(const std::string& text, const std::string& part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        n++;
    return n;
}

}  // namespace

TEST_CASE("lesson --svg: every picture is there, and well-formed") {
    TempFolder folder;
    Compute compute;
    lesson::Page page(
        compute, [](const std::string&) {}, folder.path());
    for (const lesson::Lesson& each : lesson::kLessons) {
        if (!each.only_by_name && each.teach != lesson::cache)
            each.teach(page);
    }
    lesson::cache_up_to(page, 32);
    std::set<std::string> found,
        expected = {"cache-time.svg", "cache-work.svg",   "count.svg", "heads.svg",      "mask.svg",
                    "no-weights.svg", "qkv-division.svg", "qkv.svg",   "temperature.svg"};
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        std::string name = entry.path().filename();
        CAPTURE(name);
        found.insert(name);
        check_picture(contents(entry.path()));
    }
    CHECK(found == expected);
    // Twelve heads are twelve pictures; a layer's MLP has two thirds of its numbers.
    std::string heads = contents(folder / "heads.svg"), count = contents(folder / "count.svg");
    std::set<std::string> maps;
    for (size_t h = 0, at; h < 12; h++) {
        at = heads.find(">head " + std::to_string(h) + "<");
        REQUIRE(at != std::string::npos);
        // Where its rows of cells lie differs from one row of maps to another; their strengths do
        // not.
        std::string strengths;
        size_t end = heads.find(">head " + std::to_string(h + 1) + "<", at);
        for (size_t s = heads.find("fill-opacity=", at); s < end;
             s = heads.find("fill-opacity=", s + 1))
            strengths += heads.substr(s, 20);
        maps.insert(strengths);
    }
    CHECK(maps.size() == 12);
    for (const char* number : {">38.6<", ">0.786<", ">28.3<", ">56.7<", ">0.0384<"})
        CHECK(count.find(number) != std::string::npos);
}

TEST_CASE("lesson heat map: names of any letters, and one number alone") {
    const std::string odd = "<&>\"'\n";
    lesson::Matrix one(1, 1, {1});
    check_picture(lesson::heat_maps(odd, {{odd, one, {odd}, {odd}, true, true}}, 3, 40));
    check_picture(lesson::heat_maps(odd, {{odd, one, {odd}, {odd}}}, 1, 9, {odd, odd}));
}

TEST_CASE("lesson heat map: what the mask hides is hatched and has no number") {
    const lesson::Names names = {"a", "b", "c"};
    lesson::Matrix shares(3, 3, {1, 0, 0, 0.5f, 0.5f, 0, 0.25f, 0, 0.75f});
    std::string masked = lesson::heat_maps("t", {{"", shares, names, names, true}}, 1, 40);
    CHECK(count_of(masked, "fill=\"url(#hatch)\"") == 3 + 1);  // and the one of the legend
    CHECK(count_of(masked, ">0.00<") == 1);                    // c looks at b: seen, and 0
    CHECK(count_of(masked, ">1.00<") + count_of(masked, ">0.50<") == 3);
    std::string whole = lesson::heat_maps("t", {{"", shares, names, names}}, 1, 40);
    CHECK(count_of(whole, "fill=\"url(#hatch)\"") == 0);
    CHECK(count_of(whole, ">0.00<") == 4);
    // Light numbers on dark cells only, and no numbers where there is no room.
    CHECK(count_of(whole, "class=\"on\"") == 1);
    CHECK(count_of(lesson::heat_maps("t", {{"", shares, names, names}}, 1, 9), ">0.50<") == 0);
}
