// The line that shows how far a long job is.
#include "common/progress.h"

#include <doctest/doctest.h>

#include "tests/tools/common/terminal.h"

using namespace minigpt;
using namespace minigpt::test;

TEST_CASE("progress: how far a job is, in its name") {
    CHECK(tools::progress_text("attention", 450, 1000, 9) == "attention:  45%, 11 s left");
    CHECK(tools::progress_text("x", 0, 1000, 9) == "x:   0%");
    CHECK(tools::progress_text("x", 0, 0, 0) == "x: 100%");
    CHECK(tools::progress_text(250, 1000, 1).substr(0, 4) == " 25%");
}

TEST_CASE("progress: a line on a terminal, gone in the end; nothing elsewhere") {
    auto job = [] {
        tools::ProgressLine line;
        for (int i = 0; i < 4; i++) {
            line.show("job", 1, 2);
            usleep(60000);
        }
    };
    std::string shown = on_terminal(job);
    CAPTURE(shown);
    // At most ten times a second, and not before a tenth of a second has passed.
    CHECK(shown.find("\r\033[Kjob:  50%, 0 s left") == 0);
    CHECK(shown.size() < 3 * strlen("\r\033[Kjob:  50%, 0 s left"));
    CHECK(shown.substr(shown.size() - 4) == "\r\033[K");
    CHECK(on_file(job) == "");
}
