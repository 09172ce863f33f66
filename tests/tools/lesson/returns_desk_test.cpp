// build/lesson returns-desk: three models, trained as a user would, and the figures they must
// reach. The same numbers on every machine, so where it takes minutes it need not be run again.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "lesson/returns_desk.h"
#include "tests/quick.h"
#include "tests/temp_folder.h"
#include "tests/tools/common/terminal.h"
#include "tests/tools/common/xml.h"
#include "tests/tools/gpt2/program.h"
#include "tests/tools/networks/small_run.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
    return __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer);
#else
    return false;
#endif
}

struct Figures {
    double train_loss, val_loss, right_next, least_next;
    int right, wrong, neither;
};

// The rows of the lesson's table, by their names.
std::map<std::string, Figures> figures_of(const std::string& text) {
    std::map<std::string, Figures> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        for (const char* name : {"    perceptron ", "    attention ", "    without mask "}) {
            Figures f = {};
            if (line.compare(0, strlen(name), name) == 0 &&
                sscanf(line.c_str() + strlen(name), "%lf %lf %lf %lf %d %d %d", &f.train_loss,
                       &f.val_loss, &f.right_next, &f.least_next, &f.right, &f.wrong,
                       &f.neither) == 7)
                all[name + 4] = f;
        }
    }
    return all;
}

}  // namespace

TEST_CASE("lesson progress: training says on a terminal how far it is, and elsewhere nothing") {
    networks::Corpus corpus;
    REQUIRE(networks::make_corpus(repeated(kVerse, 5), 0.2, &corpus).ok());
    Compute compute;
    auto train = [&] {
        auto trainer = made(small_config(), corpus, compute);
        tools::ProgressLine line;
        usleep(110000);  // a job that ends sooner needs no line
        lesson::train_until(10, "attention", trainer.get(), &line);
        CHECK(trainer->iteration() == 10);
        lesson::train_until(1000, "attention", trainer.get(), &line);
        CHECK(trainer->is_done());
    };
    CHECK(on_terminal(train).find("\r\033[Kattention:   0%") == 0);
    CHECK(on_file(train) == "");
}

TEST_CASE("lesson returns-desk: 8 characters guess, attention knows, without its mask it cheats") {
    std::string why = is_sanitized() ? "under sanitizers" : too_slow();
    if (!why.empty()) {
        MESSAGE("skipped: the returns desk takes minutes " << why);
        return;
    }
    TempFolder folder;
    Ran ran = run_program("lesson", {"returns-desk", "--svg", folder.path()});
    CAPTURE(ran.out);
    CHECK(ran.err == "");
    CHECK(ran.exit_status == 0);
    std::map<std::string, Figures> figures = figures_of(ran.out);
    REQUIRE(figures.size() == 3);
    const Figures mlp = figures["perceptron "], attention = figures["attention "],
                  unmasked = figures["without mask "];
    CHECK(mlp.right_next == doctest::Approx(0.5).epsilon(0.1));
    CHECK(mlp.right < 65);
    CHECK(attention.right_next >= 0.99);
    CHECK(attention.right >= 99);
    CHECK(unmasked.train_loss < 0.05);
    CHECK(unmasked.right <= 10);
    for (const Figures& each : {mlp, attention, unmasked})
        CHECK(each.right + each.wrong + each.neither == 100);

    std::ifstream in(folder / "returns-desk.svg");
    CHECK(xml_fault(std::string(std::istreambuf_iterator<char>(in), {})) == "");
}
