// The pictures of build/lesson.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "lesson/lesson.h"
#include "lesson/svg.h"
#include "tests/temp_folder.h"
#include "tests/tools/lesson/xml.h"

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
}

}  // namespace

TEST_CASE("lesson xml: the checker finds what is not well-formed") {
    CHECK(xml_fault("<a><b c=\"d\"/>x &lt; y<e>z</e></a>\n") == "");
    for (const char* text :
         {"", "x", "<a>", "<a></b>", "<a/><b/>", "<a b=c/>", "<a b=\"1\" b=\"2\"/>", "<a>&</a>",
          "<a>&nbsp;</a>", "<a b=\"<\"/>", "<a><b></a></b>", "<a>\x01</a>", "</a>", "<a", "<>"}) {
        CAPTURE(std::string(text));
        CHECK(xml_fault(text) != "");
    }
}

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
}

TEST_CASE("lesson svg: names of any letters, and one number alone") {
    const std::string odd = "<&>\"'\n";
    lesson::Matrix one(1, 1, {1});
    check_picture(lesson::heat_maps(odd, {{odd, one, {odd}, {odd}, true}}, 3, 40));
    check_picture(lesson::bars(odd, odd, odd, {odd}, {{odd, {0.5}}}));
    check_picture(lesson::log_plot(odd, odd, odd, {1, 2}, {{odd, {1, 1}}, {odd, {2, 3}}}));
}
