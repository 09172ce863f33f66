#include "tests/tools/gpt2/program.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/temp_folder.h"

namespace minigpt::test {
namespace {

std::string environment(const char* name, const char* otherwise) {
    const char* value = getenv(name);
    return value == nullptr || *value == '\0' ? otherwise : value;
}

std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

// In the child: never returns.
[[noreturn]] void become(const std::vector<std::string>& words, int in, const std::string& out,
                         const std::string& err) {
    std::vector<char*> argv;
    for (const std::string& word : words)
        argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    int to = open(out.c_str(), O_WRONLY | O_CREAT, 0600);
    int errors = err == out ? to : open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    if (to < 0 || errors < 0 || dup2(in, 0) < 0 || dup2(to, 1) < 0 || dup2(errors, 2) < 0)
        _exit(126);
    execvp(argv[0], argv.data());
    _exit(127);
}

void write_all(int fd, const std::string& text) {
    signal(SIGPIPE, SIG_IGN);  // the program may not read its input
    size_t at = 0;
    while (at < text.size()) {
        ssize_t n = write(fd, text.data() + at, text.size() - at);
        if (n <= 0)
            break;
        at += static_cast<size_t>(n);
    }
    close(fd);
}

}  // namespace

Ran run_program(const std::string& name, const std::vector<std::string>& args,
                const std::string& stdin_text, const std::string& out_path,
                const std::string& err_path) {
    TempFolder folder;
    std::vector<std::string> words;
    std::istringstream emulator(environment("EMULATOR", ""));
    for (std::string word; emulator >> word;)
        words.push_back(word);
    words.push_back(environment("MINIGPT_BUILD", "build") + "/" + name);
    words.insert(words.end(), args.begin(), args.end());
    std::string out = out_path.empty() ? folder / "out" : out_path;
    std::string err = err_path.empty() ? folder / "err" : err_path;

    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        become(words, ends[0], out, err);
    close(ends[0]);
    write_all(ends[1], stdin_text);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    Ran ran;
    ran.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.out = out_path.empty() ? contents(out) : "";
    ran.err = err_path.empty() ? contents(err) : "";
    return ran;
}

void check_fails(const Ran& ran, int exit_status, const std::vector<std::string>& words,
                 const std::string& program) {
    CAPTURE(ran.err);
    CHECK(ran.exit_status == exit_status);
    CHECK(ran.out == "");
    CHECK(ran.err.compare(0, program.size() + 2, program + ": ") == 0);
    CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
    for (const std::string& word : words) {
        CAPTURE(word);
        CHECK(ran.err.find(word) != std::string::npos);
    }
}

std::vector<int> ids_of(const std::string& line) {
    std::istringstream in(line);
    std::vector<int> ids;
    for (int id; in >> id;)
        ids.push_back(id);
    CHECK(in.eof());
    return ids;
}

std::string outside_data(const std::string& name) {
    std::string path = environment("MINIGPT_DATA", "../shared/data") + "/" + name;
    if (std::filesystem::exists(path))
        return path;
    MESSAGE("skipped: outside data not found");
    return "";
}

}  // namespace minigpt::test
