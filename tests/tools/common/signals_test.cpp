// What would end gpt2 and convert without a word: a full file, a closed pipe, a mapped file cut
// short.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/tools/convert/maker.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt::test;

namespace {

// No file may grow beyond n_bytes meanwhile.
class FileLimit {
public:
    explicit FileLimit(rlim_t n_bytes) {
        REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
        rlimit small = before_;
        small.rlim_cur = n_bytes;
        REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    }
    ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_;
};

bool is_one_line(const std::string& text, const std::string& begin) {
    return text.compare(0, begin.size(), begin) == 0 &&
           std::count(text.begin(), text.end(), '\n') == 1 && text.back() == '\n';
}

// Whether the process has a handler for the signal.
bool catches(pid_t pid, int number) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.compare(0, 7, "SigCgt:") == 0)
            return (strtoull(line.c_str() + 7, nullptr, 16) >> (number - 1) & 1) != 0;
    }
    return false;
}

}  // namespace

TEST_CASE("programs: a file that may not grow is an error with a line, and status 1") {
    TempFolder folder, out;
    small_model().write(folder.path());
    std::string text(10000, 'a'), path = folder / "text";
    write_file(path, text);
    Ran converted, listed, tokenized, trained;
    {
        FileLimit limit(4096);
        converted = run_program("convert", {folder.path(), "-o", out / "m.mgpt"});
        trained = run_program("train", {path, "-o", out / "t.mgpt", "--layers", "1", "--embd", "16",
                                        "--ctx", "8", "--iters", "2", "--sample", "0"});
        tokenized = gpt2({"tokenize", "-f", path}, "", out / "ids");
    }
    CHECK(converted.exit_status == 1);
    CHECK(is_one_line(converted.err, "convert: " + (out / "m.mgpt") + ": cannot be written: "));
    CHECK(!std::filesystem::exists(out / "m.mgpt"));
    CHECK(tokenized.exit_status == 1);
    CHECK(is_one_line(tokenized.err, "gpt2: standard output: "));
    CHECK(trained.exit_status == 1);
    CHECK(trained.err.find("train: ") != std::string::npos);
    CHECK(!std::filesystem::exists(out / "t.mgpt"));
}

TEST_CASE("programs: each hears that its standard output is full") {
    const std::vector<std::vector<std::string>> all = {{"gpt2", "--help"},
                                                       {"convert", "--help"},
                                                       {"lesson", "--help"},
                                                       {"train", "--help"},
                                                       {"train", "--returns-desk", "100"}};
    for (const auto& words : all) {
        CAPTURE(words[0]);
        Ran ran = run_program(words[0], {words.begin() + 1, words.end()}, "", "/dev/full");
        CHECK(ran.exit_status == 1);
        CHECK(is_one_line(ran.err, words[0] + ": standard output: "));
    }
}

TEST_CASE("programs: convert hears that its standard output is full") {
    TempFolder folder, out;
    small_model().write(folder.path());
    const std::vector<std::vector<std::string>> all = {
        {"--help"}, {"--list", folder.path()}, {folder.path(), "-o", out / "m.mgpt"}};
    for (const auto& args : all) {
        Ran ran = run_program("convert", args, "", "/dev/full");
        CHECK(ran.exit_status == 1);
        CHECK(is_one_line(ran.err, "convert: standard output: "));
    }
}

TEST_CASE("programs: no file gets the number of a closed stream, and what is printed with it") {
    if (getenv("EMULATOR") != nullptr) {
        MESSAGE("skipped: an emulator opens files of its own");
        return;
    }
    TempFolder folder;
    const char* build = getenv("MINIGPT_BUILD");
    const std::string programs = std::string(build == nullptr ? "build" : build) + "/";
    write_file(folder / "text", std::string(200, 'a') + std::string(200, 'b'));
    for (std::string closed : {"<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", "<&- >&- 2>&-"}) {
        CAPTURE(closed);
        const std::string model = folder / "m", other = folder / "other.mgpt";
        std::string command = programs + "train " + folder / "text" + " -o " + model +
                              " --layers 1 --embd 16 --ctx 16 --iters 4 --eval-every 1 --no-mask";
        int status = system((command + " 2>/dev/null >/dev/null " + closed).c_str());
        CHECK(WEXITSTATUS(status) ==
              (closed.find(" >") == std::string::npos && closed[0] != '>' ? 0 : 1));
        command = programs + "train " + folder / "text" + " -o " + model + " --resume " + model +
                  ".state 2>/dev/null >/dev/null";
        CHECK(system(command.c_str()) == 0);
        command = programs + "convert " + model + " -o ";
        CHECK(system((command + other + " >/dev/null").c_str()) == 0);
        (void)!system((command + folder / "third.mgpt 2>/dev/null >/dev/null " + closed).c_str());
        CHECK(read_file(folder / "third.mgpt") == read_file(other));
        CHECK(read_file(other).size() > 1000);
        std::filesystem::remove(folder / "third.mgpt");
    }
}

TEST_CASE("programs: convert and gpt2 refuse a FIFO at once, by name") {
    TempFolder folder, out;
    std::string path = folder / "fifo";
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    check_fails(gpt2({"inspect", "-m", path}), 1, {path, "not a regular file"});
    check_fails(gpt2({"--load", "-m", path, "-p", "a"}), 1, {path, "not a regular file"});
    for (const std::string& source : {path, folder.path()}) {
        Ran ran = run_program("convert", {source, "-o", out / "m.mgpt"});
        CHECK(ran.exit_status == 1);
        CHECK(is_one_line(ran.err, "convert: " + source + ": "));
    }
}

TEST_CASE("programs: a mapped file that is cut short (SIGBUS) ends them with a line") {
    if (getenv("EMULATOR") != nullptr || !std::filesystem::exists("/proc/self/status")) {
        MESSAGE("skipped: no /proc of the program's own");
        return;
    }
    TempFolder folder;
    const char* build = getenv("MINIGPT_BUILD");
    // It waits for its prompt, and the signal comes from outside: the moment of a cut is chance.
    std::string program = std::string(build == nullptr ? "build" : build) + "/gpt2";
    std::string err = folder / "err";
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int errors = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
        if (dup2(ends[0], 0) < 0 || dup2(errors, 2) < 0)
            _exit(126);
        execl(program.c_str(), "gpt2", static_cast<char*>(nullptr));
        _exit(127);
    }
    // Once the beginning of the prompt is read, the program is past its start.
    REQUIRE(write(ends[1], "A", 1) == 1);
    int unread = 1;
    for (int i = 0; i < 1000 && unread != 0; i++) {
        usleep(10000);
        REQUIRE(ioctl(ends[0], FIONREAD, &unread) == 0);
    }
    REQUIRE(unread == 0);
    REQUIRE(catches(child, SIGBUS));
    kill(child, SIGBUS);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    close(ends[0]);
    close(ends[1]);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 1);
    CHECK(is_one_line(read_file(err), "gpt2: memory: cannot be read any more"));
}
