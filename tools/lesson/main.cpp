// lesson: attention by hand. This file only gives it standard output.
#include "common/output.h"
#include "common/signals.h"
#include "lesson/lesson.h"

int main(int argc, char** argv) {
    minigpt::tools::take_signals("lesson");
    minigpt::tools::Output out;
    auto write = [&](const std::string& text) {
        out.write(text);
        out.flush();
    };
    return minigpt::lesson::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc),
                                minigpt::lesson::kLessons, write);
}
