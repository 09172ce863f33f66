// Arrows point one way: tools -> text, model -> ops -> kernels, and base lies under all. Among the
// tools: programs -> networks -> common.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"src/base", {"base", "minigpt"}},
    {"src/kernels", {"kernels", "base", "minigpt"}},
    {"src/ops", {"ops", "kernels", "base", "minigpt"}},
    {"src/model", {"model", "ops", "base", "minigpt"}},
    {"src/text", {"text", "base", "minigpt"}},
    {"include/minigpt", {"minigpt"}},
    {"tools/common", {"common", "minigpt"}},
    {"tools/networks", {"networks", "common", "minigpt"}},
    {"tools/gpt2", {"gpt2", "common", "minigpt"}},
    {"tools/convert", {"convert", "common", "minigpt"}},
    {"tools/train", {"train", "networks", "common", "minigpt"}},
    {"tools/lesson", {"lesson", "networks", "common", "minigpt"}},
    {"tools/bench", {"bench", "common", "minigpt"}},
};

// In convert, a room may include itself and these; what lies beside the rooms may include all.
const std::map<std::string, std::set<std::string>> kRooms = {
    {"codecs", {}},  // know no model
    {"vocabulary", {"codecs"}},
    {"formats", {"codecs", "vocabulary"}},
    {"write", {"vocabulary"}},
};

// Calls f(line) for each line of each source file below a folder.
template <typename F>
size_t for_each_line(const std::string& folder, F f) {
    size_t n_files = 0;
    for (auto& entry : fs::recursive_directory_iterator(folder)) {
        std::string extension = entry.path().extension();
        if (extension != ".cpp" && extension != ".h" && extension != ".inc")
            continue;
        n_files++;
        std::ifstream in(entry.path());
        for (std::string line; std::getline(in, line);)
            f(entry.path().string(), line);
    }
    return n_files;
}

}  // namespace

TEST_CASE("layers: no include crosses the house's table") {
    std::regex include("^\\s*#\\s*include \"([a-z0-9_]+)/.*");
    for (auto& entry : kMayInclude) {
        const std::set<std::string>& allowed = entry.second;
        size_t n =
            for_each_line(entry.first, [&](const std::string& file, const std::string& line) {
                std::smatch match;
                if (!std::regex_match(line, match, include))
                    return;
                CAPTURE(file);
                CAPTURE(line);
                CHECK(allowed.count(match[1]) == 1);
            });
        CHECK(n > 0);
    }
}

TEST_CASE("layers: no include of convert crosses the table of its rooms") {
    std::regex include("^\\s*#\\s*include \"convert/(?:([a-z0-9_]+)/)?[a-z0-9_.]+\".*");
    for (auto& room : kRooms) {
        size_t n = for_each_line(
            "tools/convert/" + room.first, [&](const std::string& file, const std::string& line) {
                std::smatch match;
                if (!std::regex_match(line, match, include))
                    return;
                std::string of = match[1];
                CAPTURE(file);
                CAPTURE(line);
                bool is_above = of.empty();  // convert's own, which codecs do not need
                bool is_allowed = is_above ? room.first == "formats" || room.first == "write"
                                           : of == room.first || room.second.count(of) == 1;
                CHECK(is_allowed);
            });
        CHECK(n > 0);
    }
}

TEST_CASE("layers: an include in tools/ is a path from there, or a public header") {
    const std::regex include("^\\s*#\\s*include \"([^\"]*)\".*");
    size_t n = for_each_line("tools", [&](const std::string& file, const std::string& line) {
        std::smatch match;
        // Boards' compilers have the library's folders alone.
        if (file.compare(0, 15, "tools/firmware/") == 0 || !std::regex_match(line, match, include))
            return;
        const std::string path = match[1];
        CAPTURE(file);
        CAPTURE(path);
        CHECK(path.find("..") == std::string::npos);
        CHECK(path.find('/') != std::string::npos);
        const char* folder = path.compare(0, 8, "minigpt/") == 0 ? "include/" : "tools/";
        CHECK(fs::is_regular_file(folder + path));
    });
    CHECK(n > 0);
}

TEST_CASE("layers: the library neither prints, exits, aborts, throws nor reads the environment") {
    std::regex forbidden(
        "\\b(printf|puts|putchar|perror|exit|_exit|abort|getenv|secure_getenv|assert|throw)\\s*\\(|"
        "std::(cout|cerr|clog|string|vector|map|function|thread|unique_ptr)\\b|\\bstderr\\b");
    std::regex comment("//.*|\"[^\"]*\"");
    for (const char* folder : {"src", "include"}) {
        for_each_line(folder, [&](const std::string& file, const std::string& line) {
            std::string code = std::regex_replace(line, comment, "");
            CAPTURE(file);
            CAPTURE(line);
            CHECK(!std::regex_search(code, forbidden));
        });
    }
}
