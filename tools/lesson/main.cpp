// lesson: attention by hand. This file only gives it standard output.
#include "common/output.h"
#include "common/program.h"
#include "lesson/lesson.h"

int main(int argc, char** argv) {
    minigpt::tools::Output out;
    auto write = [&](const std::string& text) {
        out.write(text);
        out.flush();
    };
    return minigpt::tools::run_main(argc, argv, "lesson", [&](const auto& args) {
        return minigpt::lesson::run(args, minigpt::lesson::kLessons, write);
    });
}
