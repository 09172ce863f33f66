#include "base/file.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/thread_pool.h"
#include "tests/temp_folder.h"

using namespace minigpt;

namespace {

std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

size_t n_files(const std::string& folder) {
    size_t n = 0;
    for (auto& entry : std::filesystem::directory_iterator(folder))
        n += entry.exists();
    return n;
}

}  // namespace

TEST_CASE("file: an output appears only when it is committed, and replaces what was there") {
    TempFolder folder;
    std::string path = folder / "out";
    for (const char* text : {"first", "second"}) {
        std::string before = contents(path);
        {
            OutputFile file;
            REQUIRE(file.create(path.c_str(), strlen(text)).ok());
            REQUIRE(file.write(0, text, strlen(text)).ok());
            CHECK(contents(path) == before);
            REQUIRE(file.commit().ok());
        }
        CHECK(contents(path) == text);
        CHECK(n_files(folder.path()) == 1);
    }
    {
        OutputFile abandoned;
        REQUIRE(abandoned.create(path.c_str(), 100).ok());
    }
    CHECK(contents(path) == "second");
    CHECK(n_files(folder.path()) == 1);
}

TEST_CASE("file: a link is followed, a folder and a missing folder are refused") {
    TempFolder folder;
    std::string real = folder / "real", link = folder / "link";
    { std::ofstream(real) << "old"; }
    REQUIRE(symlink(real.c_str(), link.c_str()) == 0);
    OutputFile file;
    REQUIRE(file.create(link.c_str(), 3).ok());
    REQUIRE(file.write(0, "new", 3).ok());
    REQUIRE(file.commit().ok());
    CHECK(contents(real) == "new");
    CHECK(std::filesystem::is_symlink(link));

    OutputFile into_folder, into_nothing;
    CHECK(into_folder.create(folder.path().c_str(), 1).code() == Code::io);
    CHECK(into_nothing.create((folder / "none/out").c_str(), 1).code() == Code::io);
    CHECK(n_files(folder.path()) == 2);
}

TEST_CASE("file: a full disk is found before anything is lost") {
    TempFolder folder;
    std::string path = folder / "out";
    { std::ofstream(path) << "old"; }
    rlimit before, small;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = 4096;
    auto handler = signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    Status status;
    {
        OutputFile file;
        status = file.create(path.c_str(), 1 << 20);
        std::vector<char> data(1 << 20);
        if (status.ok())
            status = file.write(0, data.data(), data.size());
    }
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    CHECK(status.code() == Code::io);
    CHECK(contents(path) == "old");
    CHECK(n_files(folder.path()) == 1);
}

TEST_CASE("file: mapping and reading refuse what is missing, empty or no file") {
    TempFolder folder;
    const unsigned char* data;
    size_t bytes;
    { std::ofstream(folder / "empty"); }
    { std::ofstream(folder / "some") << "some"; }
    for (auto take : {map_file, read_file}) {
        CHECK(take((folder / "none").c_str(), &data, &bytes).code() == Code::io);
        CHECK(take(folder.path().c_str(), &data, &bytes).code() == Code::io);
        CHECK(take((folder / "empty").c_str(), &data, &bytes).code() == Code::bad_file);
        REQUIRE(take((folder / "some").c_str(), &data, &bytes).ok());
        CHECK(std::string(reinterpret_cast<const char*>(data), bytes) == "some");
        unmap_file(data, bytes);
    }
}

#if defined(MINIGPT_NO_mmap)
constexpr size_t kReadAlign = 64;
#else
constexpr size_t kReadAlign = size_t{2} << 20;
#endif

TEST_CASE("file: what was read begins where a huge page can, and outlives its file") {
    TempFolder folder;
    std::string path = folder / "some";
    for (size_t n : {size_t{1}, size_t{4096}, size_t{4097}, size_t{5} << 20}) {
        CAPTURE(n);
        std::string text(n, 'x');
        { std::ofstream(path, std::ios::binary) << text; }
        const unsigned char* data;
        size_t bytes;
        REQUIRE(read_file(path.c_str(), &data, &bytes).ok());
        { std::ofstream truncated(path); }
        CHECK(reinterpret_cast<uintptr_t>(data) % kReadAlign == 0);
        CHECK(std::string(reinterpret_cast<const char*>(data), bytes) == text);
        unmap_file(data, bytes);
    }
}

TEST_CASE("hash: in any pieces and on any number of threads it is the same") {
    std::mt19937 random(3);
    std::vector<unsigned char> data(3 * 256 * 1024 + 77);
    for (unsigned char& c : data)
        c = static_cast<unsigned char>(random());
    ThreadPool* pool;
    REQUIRE(ThreadPool::create(3, &pool).ok());
    for (size_t n : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{256 * 1024},
                     size_t{256 * 1024 + 1}, size_t{512 * 1024}, data.size()}) {
        uint64_t whole = hash64(data.data(), n);
        CHECK(hash64(data.data(), n, pool) == whole);
        Hash64 pieces;
        for (size_t at = 0; at < n;) {
            size_t take = std::min<size_t>(n - at, random() % 3000);
            pieces.update(data.data() + at, take);
            at += take;
        }
        CHECK(pieces.finish() == whole);
    }
    ThreadPool::destroy(pool);
}

TEST_CASE("hash: any changed bit, swapped chunk or lost tail changes it") {
    std::vector<unsigned char> data(2 * 256 * 1024 + 13, 0);
    uint64_t whole = hash64(data.data(), data.size());
    for (size_t at = 0; at < data.size(); at += 9973) {
        for (int bit = 0; bit < 8; bit++) {
            data[at] ^= static_cast<unsigned char>(1 << bit);
            CHECK(hash64(data.data(), data.size()) != whole);
            data[at] ^= static_cast<unsigned char>(1 << bit);
        }
    }
    for (size_t n = 0; n < 20; n++)
        CHECK(hash64(data.data(), data.size() - 1 - n) != whole);
    data[5] = 1;
    uint64_t first = hash64(data.data(), data.size());
    data[5] = 0;
    data[256 * 1024 + 5] = 1;
    CHECK(hash64(data.data(), data.size()) != first);
}
