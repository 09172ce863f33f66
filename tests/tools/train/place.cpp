#include "tests/tools/train/place.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace minigpt::test {

AtWork::AtWork(const Place& place, const std::vector<std::string>& more, int ignores) {
    const char* build = getenv("MINIGPT_BUILD");
    const char* emulator = getenv("EMULATOR");
    // "$@" are train's words; exec, so that the process is train itself.
    std::string script = std::string("exec ") + (emulator == nullptr ? "" : emulator) + " " +
                         (build == nullptr ? "build" : build) + "/train \"$@\" >" +
                         (folder_ / "out") + " 2>" + (folder_ / "err");
    std::vector<std::string> words = {"sh", "-c", script, "sh", place.text, "-o", place.model};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ != 0)
        return;
    for (int number : {SIGINT, SIGTERM, SIGHUP})
        ::signal(number, number == ignores ? SIG_IGN : SIG_DFL);
    execv("/bin/sh", argv.data());
    _exit(127);
}

AtWork::~AtWork() {
    if (pid_ < 0)
        return;
    kill(pid_, SIGKILL);
    wait();
}

void AtWork::await(const std::string& words) const {
    for (int i = 0; i < 1500 && out().find(words) == std::string::npos; i++)
        usleep(20000);
    CAPTURE(words);
    CAPTURE(err());
    REQUIRE(out().find(words) != std::string::npos);
}

void AtWork::signal(int number) const {
    REQUIRE(kill(pid_, number) == 0);
}

int AtWork::wait() {
    int status = 0;
    REQUIRE(waitpid(pid_, &status, 0) == pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace minigpt::test
