// build/lesson when something is wrong: a claim, the command line, a folder, a disk.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "common/error.h"
#include "common/program.h"
#include "lesson/lesson.h"
#include "tests/temp_folder.h"
#include "tests/tools/common/terminal.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

void wrong(lesson::Page& page) {
    page.title("wrong", "A lesson that is wrong");
    page.claim_near("two and two", {4}, {4}, 0);
    page.claim_near("two and two", {2 + 2}, {5}, 0.5);
    page.say("This is never said.");
}

void right(lesson::Page& page) {
    page.title("right", "A lesson that is right");
    page.claim(true, "two and two is %d", 4);
}

// Runs lessons here as the program would, its standard error caught.
Ran run_here(const std::vector<std::string>& args) {
    Ran ran;
    ran.err = on_file([&] {
        tools::set_program_name("lesson");
        ran.exit_status = lesson::run(args, {{"right", "", right}, {"wrong", "", wrong, true}},
                                      [&](const std::string& text) { ran.out += text; });
    });
    return ran;
}

// The message of a claim that fails; "" where it holds.
template <class Claim>
std::string failure_of(Claim claim) {
    Compute compute;
    lesson::Page page(
        compute, [](const std::string&) {}, "");
    page.title("here", "Title");
    try {
        claim(page);
    } catch (const tools::Error& error) {
        CHECK(error.exit_status == 1);
        return error.message;
    }
    return "";
}

}  // namespace

TEST_CASE("lesson: a claim that does not hold is one line, exit status 1, and the end") {
    Ran ran = run_here({"wrong"});
    CHECK(ran.exit_status == 1);
    CHECK(ran.err ==
          "lesson: wrong: this does not hold: two and two: number 0: found 4, expected 5 within "
          "0.5\n");
    CHECK(ran.out.find("ok: two and two\n") != std::string::npos);
    CHECK(ran.out.find("never said") == std::string::npos);

    ran = run_here({"right"});
    CHECK(ran.exit_status == 0);
    CHECK(ran.err == "");
    CHECK(ran.out.find("  ok: two and two is 4\n") != std::string::npos);
}

TEST_CASE("lesson: all runs every lesson, no name those that are not only by name") {
    CHECK(run_here({}).exit_status == 0);
    CHECK(run_here({"all"}).exit_status == 1);
}

TEST_CASE("lesson: a claim fails on a bit, a size, a NaN") {
    using lesson::Matrix;
    using lesson::Page;
    const Matrix a(1, 2, {1, 2}), last_bit(1, 2, {1, std::nextafter(2.0f, 3.0f)});
    const Matrix nan(1, 2, {1, NAN}), tall(2, 1, {1, 2});
    CHECK(failure_of([&](Page& page) { page.claim_equal("same", a, a); }) == "");
    CHECK(failure_of([&](Page& page) { page.claim_equal("bit", a, last_bit); }) ==
          "here: this does not hold: bit: number 1: found 2, expected 2.00000024");
    CHECK(failure_of([&](Page& page) { page.claim_equal("size", a, tall); }) ==
          "here: this does not hold: size: found [1, 2], expected [2, 1]");
    CHECK(failure_of([&](Page& page) { page.claim_near("near", {1, 2}, {1, 2.5}, 0.5); }) == "");
    CHECK(failure_of([&](Page& page) { page.claim_near("far", {1, 2}, {1, 2.5}, 0.4); }) != "");
    CHECK(failure_of([&](Page& page) { page.claim_near("nan", {NAN}, {NAN}, 9); }) != "");
    CHECK(failure_of([&](Page& page) { page.claim_near("fewer", {1}, {1, 2}, 9); }) != "");
    CHECK(failure_of([&](Page& page) { page.claim(false, "%d", 7); }) ==
          "here: this does not hold: 7");
}

TEST_CASE("lesson: a wrong command line is exit status 2") {
    auto fails = [](const std::vector<std::string>& args, const std::string& word) {
        check_fails(run_program("lesson", args), 2, {word}, "lesson");
    };
    fails({"masks"}, "masks");
    fails({""}, "no such lesson");
    fails({"--verbose"}, "--verbose");
    fails({"mask", "heads"}, "heads");
    fails({"mask", "--svg"}, "--svg");
    fails({"mask", "--svg", ""}, "--svg");
    fails({"mask", "-t", "0"}, "-t");
    fails({"mask", "-t", "1x"}, "1x");
    fails({"mask", "-t", "99999999999999999999"}, "-t");
    fails({"mask", "--isa", "mmx"}, "mmx");
    Ran help = run_program("lesson", {"--help"});
    CHECK(help.exit_status == 0);
    for (const char* name : {"no-weights", "qkv", "mask", "heads", "count", "cache", "temperature"})
        CHECK(help.out.find(std::string("\n  ") + name + " ") != std::string::npos);
}

TEST_CASE("lesson: a folder for pictures is made, and each picture's path is told") {
    TempFolder folder;
    std::string pictures = folder / "pictures";
    for (int again = 0; again < 2; again++) {
        Ran ran = run_program("lesson", {"mask", "--svg", pictures});
        CHECK(ran.exit_status == 0);
        CHECK(ran.err == "");
        CHECK(ran.out.find("\n  picture: " + pictures + "/mask.svg\n") != std::string::npos);
        CHECK(std::filesystem::is_regular_file(pictures + "/mask.svg"));
    }
    // Not where the command line is wrong.
    CHECK(run_program("lesson", {"masks", "--svg", folder / "other"}).exit_status == 2);
    CHECK(!std::filesystem::exists(folder / "other"));
}

TEST_CASE("lesson: a folder that cannot be made or is none is said at once") {
    TempFolder folder;
    std::string file = folder / "file";
    std::ofstream(file) << "text";
    auto fails = [](const std::string& path, const std::string& word) {
        check_fails(run_program("lesson", {"mask", "--svg", path}), 1, {path + ": ", word},
                    "lesson");
    };
    fails(folder / "none/pictures", "No such file");
    fails(file, "found a file, expected a folder");
    fails(file + "/pictures", "Not a directory");
    if (std::filesystem::exists("/proc/self"))
        fails("/proc", "cannot be written");
}

TEST_CASE("lesson: a full disk is one line, and leaves no part of a picture") {
    if (access("/dev/full", W_OK) != 0) {
        MESSAGE("skipped: no /dev/full");
        return;
    }
    check_fails(run_program("lesson", {"mask"}, "", "/dev/full"), 1,
                {"standard output: No space left on device"}, "lesson");

    // A limit on the size of files stands for a disk of which the picture does not find enough.
    TempFolder folder;
    rlimit before, limit;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = 4096;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    Ran ran = run_program("lesson", {"mask", "--svg", folder.path()}, "", "/dev/null");
    setrlimit(RLIMIT_FSIZE, &before);
    check_fails(ran, 1, {folder / "mask.svg", "cannot be written: File too large"}, "lesson");
    CHECK(std::filesystem::is_empty(folder.path()));
}
