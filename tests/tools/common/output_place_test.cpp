// Where a file can be put: any name a file can have, with or without /proc.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "common/output_file.h"
#include "tests/temp_folder.h"
#include "tests/tools/convert/maker.h"

#if defined(__linux__)
#include <sched.h>
#endif

using namespace minigpt;
using minigpt::test::read_file;
using minigpt::test::write_file;

namespace {

namespace fs = std::filesystem;

// The library's way to write a file, and the converter's.
Status write_by_library(const std::string& path, const std::string& text) {
    OutputFile file;
    MINIGPT_TRY(file.create(path.c_str(), text.size()));
    MINIGPT_TRY(file.write(0, text.data(), text.size()));
    return file.commit();
}

Status write_by_convert(const std::string& path, const std::string& text) {
    tools::OutputFile file;
    MINIGPT_TRY(file.create(path));
    MINIGPT_TRY(file.write(text.data(), text.size()));
    return file.commit();
}

constexpr decltype(&write_by_library) kWays[] = {write_by_library, write_by_convert};

size_t n_files(const std::string& folder) {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("file: a target's name may be as long as names can be") {
    for (auto write : kWays) {
        TempFolder folder;
        std::string longest(255, 'n');
        for (const char* text : {"first", "second"}) {
            REQUIRE(write(folder / longest, text).ok());
            CHECK(read_file(folder / longest) == text);
        }
        CHECK(write(folder / (longest + "n"), "x").code() == Code::io);
        CHECK(n_files(folder.path()) == 1);
    }
}

TEST_CASE("file: what a killed program left under the next name is passed over, and stays") {
    for (auto write : kWays) {
        TempFolder folder;
        std::string left = folder / ("." + std::to_string(getpid()) + "-0.part");
        write_file(left, "left");
        REQUIRE(write(folder / "out", "new").ok());
        CHECK(read_file(folder / "out") == "new");
        CHECK(read_file(left) == "left");
        CHECK(n_files(folder.path()) == 2);
    }
}

TEST_CASE("file: a link to nothing, and links in a circle, are refused and stay") {
    for (auto write : kWays) {
        TempFolder folder;
        fs::create_symlink("nowhere", folder / "link");
        fs::create_symlink("circle", folder / "circle");
        Status status = write(folder / "link", "x");
        CHECK(status.code() == Code::io);
        CHECK(strstr(status.message(), "a link to nothing") != nullptr);
        CHECK(write(folder / "circle", "x").code() == Code::io);
        CHECK(fs::is_symlink(folder / "link"));
        CHECK(n_files(folder.path()) == 2);
    }
}

TEST_CASE("file: an empty path and a folder's name are refused before anything is written") {
    TempFolder folder;
    OutputFile empty, none, slash;
    CHECK(empty.create("", 1).code() == Code::bad_argument);
    CHECK(none.create(nullptr, 1).code() == Code::bad_argument);
    CHECK(slash.create((folder / "new/").c_str(), 1).code() == Code::io);
    CHECK(n_files(folder.path()) == 0);
}

TEST_CASE("file: a FIFO is refused at once, mapped or read") {
    TempFolder folder;
    std::string path = folder / "fifo";
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    const unsigned char* data;
    size_t bytes;
    CHECK(map_file(path.c_str(), &data, &bytes).code() == Code::io);
    CHECK(read_file(path.c_str(), &data, &bytes).code() == Code::io);
}

#if defined(__linux__)
// In a child that may mount: /proc is covered by an empty folder. 77: it may not.
TEST_CASE("file: without /proc a file is written all the same") {
    for (auto write : kWays) {
        TempFolder folder, empty;
        std::string path = folder / "out";
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) ||
                mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                mount(empty.path().c_str(), "/proc", nullptr, MS_BIND, nullptr) != 0)
                _exit(77);
            bool written = write(path, "first").ok() && write(path, "second").ok();
            _exit(written && access("/proc/self", F_OK) != 0 ? 0 : 1);
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77) {
            MESSAGE("skipped: this user may not mount");
            return;
        }
        CHECK(WEXITSTATUS(status) == 0);
        CHECK(read_file(path) == "second");
        CHECK(n_files(folder.path()) == 1);
    }
}
#endif

TEST_CASE("file: more bytes than addresses are written, and not mapped") {
    if (sizeof(size_t) > 4) {
        MESSAGE("skipped: this machine can map any file");
        return;
    }
    TempFolder folder;
    uint64_t size = uint64_t{5} << 30;
    OutputFile file;
    REQUIRE(file.create((folder / "out").c_str(), size).ok());
    REQUIRE(file.write(size - 4, "last", 4).ok());
    const unsigned char* data;
    size_t bytes;
    CHECK(file.map(&data, &bytes).code() == Code::not_supported);
    REQUIRE(file.commit().ok());
    CHECK(fs::file_size(folder / "out") == size);
}
