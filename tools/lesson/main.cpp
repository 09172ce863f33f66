// lesson: attention by hand. This file only gives it standard output.
#include <csignal>

#include "../gpt2/output.h"
#include "lesson.h"

int main(int argc, char** argv) {
    // A closed pipe or a file at its limit is then an error of write, told like any other.
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    minigpt::cli::Output out;
    auto write = [&](const std::string& text) {
        out.write(text);
        out.flush();
    };
    return minigpt::lesson::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc),
                                minigpt::lesson::kLessons, write);
}
