#include "common/options.h"
#include "minigpt/version.h"

#include <doctest/doctest.h>

#include "common/error.h"
#include "common/program.h"
#include "tests/temp_folder.h"
#include "tests/tools/gpt2/program.h"

using namespace minigpt::tools;
using minigpt::test::check_fails;
using minigpt::test::Ran;
using minigpt::test::run_program;

namespace {

// A program with a subcommand that is meant where none is named, and another.
struct Given {
    std::string text;
    size_t n = 0;
    bool loud = false;
    std::vector<std::string> stops, words;
};

Program table(Given& g) {
    Program p;
    p.usage = {"[SUBCOMMAND] [FLAGS]"};
    p.about = "Tests the table.";
    p.subcommands = {{1, "paint", "[FLAGS]", "the first"}, {2, "polish", "[FLAGS]", "the second"}};
    p.has_default = true;
    p.groups = {{"What",
                 {{"-p, --phrase", "TEXT", 3, "a phrase", text_into(&g.text)},
                  {"-n", "N", 1, "a number", whole_into(&g.n, 0, 9)},
                  {"--loud", nullptr, 1, "louder", turn_on(&g.loud)},
                  {"--stop", "TEXT", 1, "stops",
                   [&g](const Argument& a) { g.stops.push_back(a.text()); }, true}}}};
    p.take_word = [&g](const std::string& word, unsigned command) {
        if (command == 0)
            misuse("%s: no such subcommand", word.c_str());
        g.words.push_back(word);
    };
    return p;
}

CommandLine read(Given* g, const std::vector<std::string>& args) {
    static Program p;
    p = table(*g);
    return parse(p, args);
}

std::string misuse_of(const std::vector<std::string>& args) {
    set_program_name("paint");
    Given g;
    try {
        read(&g, args);
    } catch (const Error& error) {
        CHECK(error.exit_status == kMisused);
        return error.message;
    }
    return "";
}

}  // namespace

TEST_CASE("options: a value stands beside its flag, after =, or follows it") {
    for (const std::vector<std::string>& args :
         std::vector<std::vector<std::string>>{{"-n", "5", "-p", "hi"},
                                               {"-n5", "-phi"},
                                               {"--phrase=hi", "-n5"},
                                               {"paint", "--phrase", "hi", "-n", "5"}}) {
        Given g;
        read(&g, args);
        CHECK(g.n == 5);
        CHECK(g.text == "hi");
    }
    Given g;
    read(&g, {"--phrase=a=b", "--", "-n", "--", "--loud"});
    CHECK(g.text == "a=b");
    CHECK(g.words == std::vector<std::string>{"-n", "--", "--loud"});
    CHECK(!g.loud);
    CHECK(misuse_of({"-n5x"}) == "-n: found 5x, expected a whole number from 0 to 9");
    CHECK(misuse_of({"-n"}) == "-n: its value (N) is missing");
    CHECK(misuse_of({"--loud=1"}) == "--loud: takes no value");
}

TEST_CASE("options: what is given twice and can be only once is refused, by either name") {
    CHECK(misuse_of({"-p", "A", "-p", "B"}) == "-p: given twice; see paint paint --help");
    CHECK(misuse_of({"-p", "A", "--phrase", "B"}).find("--phrase: given twice") == 0);
    CHECK(misuse_of({"--loud", "--loud"}).find("--loud: given twice") == 0);
    Given g;
    read(&g, {"--stop", "a", "--stop", "b"});
    CHECK(g.stops == std::vector<std::string>{"a", "b"});
}

TEST_CASE("options: a mistyped word is told the one that was meant") {
    CHECK(misuse_of({"--phrases", "A"}) ==
          "--phrases: no such flag; did you mean --phrase? see paint paint --help");
    CHECK(misuse_of({"--phr", "A"}).find("did you mean --phrase?") != std::string::npos);
    CHECK(misuse_of({"--luod"}).find("did you mean --loud?") != std::string::npos);
    CHECK(misuse_of({"-loud"}).find("did you mean --loud?") != std::string::npos);
    CHECK(misuse_of({"polis"}).find("did you mean polish?") != std::string::npos);
    CHECK(misuse_of({"help", "polihs"}).find("did you mean polish?") != std::string::npos);
    CHECK(misuse_of({"--xyz"}) == "--xyz: no such flag; see paint paint --help");
    CHECK(misuse_of({"-x"}) == "-x: no such flag; see paint paint --help");
    CHECK(misuse_of({"polish", "--loud"}) ==
          "--loud: not a flag of polish; see paint polish --help");
    CHECK(nearest("--temperature", {"--top-k", "--temp"}) == "--temp");
    CHECK(nearest("--tmp", {"--top-k", "--temp"}) == "--temp");
    CHECK(nearest("generat", {"generate", "tokenize"}) == "generate");
    CHECK(nearest("Hello", {"help", "generate"}) == "");
}

TEST_CASE("options: help and version are flags and words") {
    set_program_name("/usr/bin/paint");
    Given g;
    const Program p = table(g);
    for (const char* word : {"help", "--help", "-h"})
        CHECK(*read(&g, {word}).answer == help_text(p));
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"help", "polish"}, {"polish", "--help"}, {"polish", "-h", "--nonsense"}})
        CHECK(*read(&g, args).answer == help_text(p, &p.subcommands[1]));
    for (const char* word : {"version", "--version", "-v"})
        CHECK(*read(&g, {word}).answer ==
              std::string("paint ") + minigpt::kVersion + " (libminigpt)\n");
    CHECK(help_text(p).find("usage: paint [SUBCOMMAND] [FLAGS]\n") == 0);
    CHECK(help_text(p, &p.subcommands[1]).find("--loud") == std::string::npos);
    CHECK(help_text(p).find("\n  -p, --phrase TEXT       a phrase\n") != std::string::npos);
}

TEST_CASE("options: the help of each program fits 100 columns, and refuses nothing that it names") {
    for (const char* name : {"gpt2", "convert", "train", "lesson", "bench"}) {
        CAPTURE(name);
        Ran help = run_program(name, {"--help"});
        CHECK(help.exit_status == 0);
        CHECK(help.out.find(std::string("usage: ") + name) == 0);
        size_t begin = 0;
        for (size_t end; (end = help.out.find('\n', begin)) != std::string::npos; begin = end + 1)
            CHECK(end - begin <= 100);
        CHECK(run_program(name, {"-h"}).out == help.out);
        Ran version = run_program(name, {"-v"});
        CHECK(version.exit_status == 0);
        CHECK(version.out.find(std::string(name) + " " + minigpt::kVersion + " (libminigpt)") == 0);
        CHECK(run_program(name, {"--version"}).out == version.out);
        CHECK(run_program(name, {"--isaa", "x"}).exit_status == 2);
    }
}

TEST_CASE("options: each program refuses a flag given twice") {
    const std::vector<std::vector<std::string>> all = {
        {"gpt2", "-p", "A", "-p", "B"},
        {"convert", "a", "-o", "b", "-o", "c"},
        {"train", "a", "-o", "b", "--iters", "2", "--iters", "3"},
        {"lesson", "mask", "-t", "1", "-t", "2"},
        {"bench", "ops", "-r", "1", "-r", "2"}};
    for (const std::vector<std::string>& words : all) {
        CAPTURE(words[0]);
        Ran ran = run_program(words[0], {words.begin() + 1, words.end()});
        CHECK(ran.exit_status == 2);
        CHECK(ran.err.find(": given twice") != std::string::npos);
    }
}
