// What train writes, and what it must not write over.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/tools/train/place.h"

using namespace minigpt::test;
namespace fs = std::filesystem;

namespace {

// Everything in a folder: names, and what is in them.
std::vector<std::string> all_of(const TempFolder& folder) {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(folder.path()))
        all.push_back(entry.path().string() + ": " + contents(entry.path()));
    std::sort(all.begin(), all.end());
    return all;
}

// `name` becomes another name of a file.
void by_symbolic_link(const std::string& file, const std::string& name) {
    fs::create_symlink(file, name);
}
void by_hard_link(const std::string& file, const std::string& name) {
    fs::create_hard_link(file, name);
}
// The file itself goes by it.
void by_name(const std::string& file, const std::string& name) {
    fs::rename(file, name);
    fs::create_symlink(name, file);
}

}  // namespace

TEST_CASE("train places: what is read is not written over, by whatever name") {
    for (const auto& make : {by_name, by_symbolic_link, by_hard_link}) {
        for (std::string input : {"text.txt", "vocab.mgpt", "old.state"}) {
            for (std::string ending : {"", ".state", ".svg"}) {
                if (input == "old.state" && ending == ".state")
                    continue;  // what is resumed goes on there
                CAPTURE(input + ending);
                Place place;
                REQUIRE(place.train(small({}), place.folder / "vocab.mgpt").exit_status == 0);
                fs::rename(place.folder / "vocab.mgpt.state", place.folder / "old.state");
                make(place.folder / input, place.folder / ("n" + ending));
                std::vector<std::string> flags = small({});
                if (input == "vocab.mgpt")
                    flags = small({"--vocab", place.folder / "vocab.mgpt"});
                if (input == "old.state")
                    flags = {"--resume", place.folder / "old.state"};
                flags.push_back("--force");
                const std::vector<std::string> before = all_of(place.folder);
                check_refused(place.train(flags, place.folder / "n"), 1,
                              (place.folder / ("n" + ending)) + ": is the ");
                CHECK(all_of(place.folder) == before);
            }
        }
    }
}

TEST_CASE("train places: a state that is resumed goes on in its place, or behind a link") {
    Place place;
    REQUIRE(place.train(small({"--stop-after", "6"})).exit_status == 0);
    std::string state = place.model + ".state";
    fs::create_symlink(state, place.folder / "n.mgpt.state");
    REQUIRE(place.train({"--resume", state, "--stop-after", "8"}).exit_status == 0);
    REQUIRE(place.train({"--resume", state}, place.folder / "n.mgpt").exit_status == 0);
    CHECK(fs::is_symlink(place.folder / "n.mgpt.state"));
    CHECK(place.train({"--resume", state}).out.find("all 12 iterations are done already") !=
          std::string::npos);
}

TEST_CASE("train places: two of them that are one file are refused") {
    Place place;
    for (std::string one : {"m.mgpt", "m.mgpt.state", "m.mgpt.svg"}) {
        for (std::string other : {"m.mgpt", "m.mgpt.state", "m.mgpt.svg"}) {
            if (one == other)
                continue;
            write(place.folder / one, "old");
            fs::create_symlink(place.folder / one, place.folder / other);
            check_refused(place.train(small({"--force"})), 1, ": is also ");
            CHECK(contents(place.folder / one) == "old");
            fs::remove(place.folder / other);
            fs::remove(place.folder / one);
        }
    }
}

TEST_CASE("train places: where nothing can be written is said before the training") {
    for (std::string ending : {"", ".state", ".svg"}) {
        Place place;
        const std::string path = place.model + ending;
        auto refused = [&](const std::string& words) {
            Ran ran = place.train(small({"--force"}));
            check_refused(ran, 1, path + ": " + words);
            CHECK(ran.out.empty());
        };
        fs::create_directory(path);
        refused("exists and is not a regular file");
        fs::remove(path);
        fs::create_symlink("/dev/null", path);
        refused("exists and is not a regular file");
        fs::remove(path);
        fs::create_symlink(place.folder / "nothing", path);
        refused("cannot be written: a link to nothing");
        fs::remove(path);
        REQUIRE(mkfifo(path.c_str(), 0600) == 0);
        refused("exists and is not a regular file");
    }
    Place place;
    check_refused(place.train(small({}), place.folder / "none/m.mgpt"), 1,
                  "none/m.mgpt: cannot be written: No such file or directory");
    for (std::string folder : {place.text, std::string("/proc")})
        check_refused(place.train(small({}), folder + "/m.mgpt"), 1, "m.mgpt: cannot be written");
    check_refused(place.train(small({}), place.folder / std::string(252, 'm')), 1,
                  ".state: cannot be written: File name too long");
    if (geteuid() == 0) {
        MESSAGE("skipped: root may write into any folder");
        return;
    }
    fs::create_directory(place.folder / "locked");
    REQUIRE(chmod((place.folder / "locked").c_str(), 0500) == 0);
    check_refused(place.train(small({}), place.folder / "locked/m.mgpt"), 1,
                  "locked/m.mgpt: cannot be written: Permission denied");
}

TEST_CASE("train places: an unfinished run's state is not lost to a new run, unless forced") {
    Place place;
    const std::string state = place.model + ".state";
    REQUIRE(place.train(small({"--stop-after", "6"})).exit_status == 0);
    REQUIRE(place.train(small({"--seed", "2", "--stop-after", "7"}), place.folder / "n.mgpt")
                .exit_status == 0);
    std::vector<std::string> before = all_of(place.folder);
    check_refused(place.train(small({"--seed", "2"})), 1,
                  state +
                      ": a run that stopped after iteration 6 of 12: --resume goes on with "
                      "it, --force begins anew");
    check_refused(place.train({"--resume", place.folder / "n.mgpt.state"}), 1, "--force");
    CHECK(all_of(place.folder) == before);
    CHECK(place.train(small({"--seed", "2", "--force"})).exit_status == 0);
    CHECK(contents(state) != "");
    CHECK(place.train(small({})).exit_status == 0);  // that one had ended
    for (std::string other : {"my own notes", ""}) {
        write(state, other);
        check_refused(place.train(small({})), 1, "not a training state");
        CHECK(contents(state) == other);
    }
    CHECK(place.train(small({"--force", "--stop-after", "1"})).exit_status == 0);
    CHECK(place.train(small({"--force"})).exit_status == 0);
}

TEST_CASE("train places: of two trains with one output the second is refused") {
    Place place;
    const std::string taken = place.model + ".state: another train is writing it";
    {
        AtWork first(place, {"--layers", "1", "--embd", "16", "--heads", "2", "--ctx", "16",
                             "--eval-every", "50", "--iters", "100000000"});
        first.await("iteration 50: ");
        check_refused(place.train(small({"--force"})), 1, taken);
        first.await("iteration 100: ");  // it has saved its state again
        check_refused(place.train(small({"--force"})), 1, taken);
        first.signal(SIGKILL);
        CHECK(first.wait() == 128 + SIGKILL);
    }
    // It is dead: its state is there to go on with.
    check_refused(place.train(small({})), 1, "a run that stopped after iteration ");
    CHECK(place.train({"--resume", place.model + ".state", "--stop-after", "1"}).exit_status == 0);
    CHECK(place.train(small({"--force"})).exit_status == 0);
}
