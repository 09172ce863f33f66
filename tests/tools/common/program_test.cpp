// What programs do with a closed pipe, and by what names they call themselves and each other.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/temp_folder.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt::test;
namespace fs = std::filesystem;

namespace {

std::string build() {
    const char* path = getenv("MINIGPT_BUILD");
    return std::string(path == nullptr ? "build" : path) + "/";
}

std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

// Runs it with a standard output that nobody reads.
Ran into_closed_pipe(const std::vector<std::string>& words) {
    TempFolder folder;
    const std::string program = build() + words[0], err = folder / "err";
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    close(ends[0]);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int errors = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
        if (dup2(ends[1], 1) < 0 || dup2(errors, 2) < 0)
            _exit(126);
        std::vector<char*> argv;
        for (const std::string& word : words)
            argv.push_back(const_cast<char*>(word.c_str()));
        argv.push_back(nullptr);
        execv(program.c_str(), argv.data());
        _exit(127);
    }
    close(ends[1]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    Ran ran;
    ran.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.err = contents(err);
    return ran;
}

bool is_emulated() {
    if (getenv("EMULATOR") == nullptr)
        return false;
    MESSAGE("skipped: an emulator has pipes and names of its own");
    return true;
}

}  // namespace

TEST_CASE("programs: a closed pipe ends each as it ends other programs, without a word") {
    if (is_emulated())
        return;
    TempFolder folder;
    const std::string model = "models/shakespeare.mgpt", out = folder / "m.mgpt";
    const std::vector<std::vector<std::string>> all = {
        {"gpt2", "--help"},           {"gpt2", "-p", "a", "-s", "1", "-n", "20", "-t", "1"},
        {"gpt2", "inspect"},          {"convert", "--help"},
        {"convert", "--list", model}, {"convert", model, "-o", out},
        {"train", "--help"},          {"train", "--returns-desk", "5"},
        {"lesson", "--help"},         {"lesson", "count"},
        {"bench", "--help"}};
    for (const std::vector<std::string>& words : all) {
        CAPTURE(words[0]);
        CAPTURE(words[1]);
        Ran ran = into_closed_pipe(words);
        CHECK(ran.exit_status == 128 + SIGPIPE);
        CHECK(ran.err.find("ipe") == std::string::npos);
        CHECK(ran.err.find("standard output") == std::string::npos);
    }
    CHECK(gpt2({"verify", "-m", out}).exit_status == 0);  // it is whole
}

TEST_CASE("programs: train goes on when nobody reads its output, and all its files are written") {
    if (is_emulated())
        return;
    TempFolder folder;
    const std::string text = folder / "text", a = folder / "a", b = folder / "b";
    std::ofstream(text) << std::string(200, 'a') + std::string(200, 'b');
    auto words = [&](const std::string& model) {
        return std::vector<std::string>{"train",   text, "-o",    model, "--layers",     "1",
                                        "--embd",  "16", "--ctx", "16",  "--iters",      "6",
                                        "--heads", "1",  "-t",    "1",   "--eval-every", "2"};
    };
    Ran ran = into_closed_pipe(words(a));
    CHECK(ran.exit_status == 128 + SIGPIPE);
    CHECK(ran.err == "");
    std::vector<std::string> again = words(b);
    REQUIRE(run_program("train", {again.begin() + 1, again.end()}).exit_status == 0);
    CHECK(contents(a) == contents(b));
    CHECK(contents(a + ".state") == contents(b + ".state"));
    CHECK(contents(a + ".svg").size() > 100);
    CHECK(contents(a).size() > 1000);
}

TEST_CASE("programs: each is called by the name under which it was installed") {
    if (is_emulated() || !fs::exists("/proc/self/exe"))
        return;
    TempFolder folder;
    const std::string text = folder / "text", before = build();
    std::ofstream(text) << "no model";
    Ran built = run_program("gpt2", {"inspect", "-m", text});
    check_fails(built, 1, {"no .mgpt file; if it is a checkpoint, convert " + text + " -o"});
    fs::copy_file(before + "gpt2", folder / "gpt2");
    fs::copy_file(before + "convert", folder / "minigpt-convert");
    setenv("MINIGPT_BUILD", folder.path().c_str(), 1);
    Ran installed = run_program("gpt2", {"inspect", "-m", text});
    Ran converts = run_program("minigpt-convert", {text, "-o", folder / "m.mgpt"});
    Ran help = run_program("minigpt-convert", {"--help"});
    setenv("MINIGPT_BUILD", before.c_str(), 1);
    check_fails(installed, 1, {"if it is a checkpoint, minigpt-convert " + text + " -o"});
    check_fails(converts, 1, {}, "minigpt-convert");
    CHECK(help.out.find("usage: minigpt-convert SRC -o OUT.mgpt") == 0);
}
