// A folder with a text to learn, and a run that takes no time.
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/temp_folder.h"
#include "tests/tools/gpt2/program.h"

namespace minigpt::test {

inline std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

inline void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

struct Place {
    TempFolder folder;
    std::string text = folder / "text.txt", model = folder / "m.mgpt";

    Place() {
        std::string all;
        for (int i = 0; i < 40; ++i)
            all += "the cat sat on the mat. \xc3\xa9t\xc3\xa9 " + std::to_string(i * i) + "\n";
        write(text, all);
    }
    Ran train(const std::vector<std::string>& more, const std::string& output = "") const {
        std::vector<std::string> args = {text, "-o", output.empty() ? model : output};
        args.insert(args.end(), more.begin(), more.end());
        return run_program("train", args);
    }
};

inline std::vector<std::string> small(std::vector<std::string> more) {
    const std::vector<std::string> flags = {
        "--layers", "1", "--heads", "2",  "--embd", "16",   "--ctx",        "16",
        "--batch",  "4", "--iters", "12", "--lr",   "0.01", "--eval-every", "5"};
    more.insert(more.begin(), flags.begin(), flags.end());
    return more;
}

inline void check_refused(const Ran& ran, int status, const std::string& words) {
    CAPTURE(ran.out);
    CAPTURE(ran.err);
    CAPTURE(words);
    CHECK(ran.exit_status == status);
    CHECK(ran.err.find("train: ") == 0);
    CHECK(ran.err.find(words) != std::string::npos);
    if (status == 1)
        CHECK(ran.err.find('\n') == ran.err.size() - 1);
}

// train at work beside the test; killed with it.
class AtWork {
public:
    // `ignores`: a signal that it inherits as ignored.
    AtWork(const Place& place, const std::vector<std::string>& more, int ignores = 0);
    ~AtWork();
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

    // Waits until it has said these words on stdout, half a minute at most.
    void await(const std::string& words) const;
    void signal(int number) const;
    // Its exit status, or 128 + the signal that ended it.
    int wait();
    std::string out() const { return contents(folder_ / "out"); }
    std::string err() const { return contents(folder_ / "err"); }

private:
    TempFolder folder_;
    int pid_ = -1;
};

}  // namespace minigpt::test
