// One table of options makes a program's parser, its help, and what else describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace minigpt::tools {

struct CommandLine;

// A flag's value, still as typed. Each reader throws the misuse that names flag and value.
class Argument {
public:
    Argument(std::string flag, const char* expected, std::string value)
        : flag_(std::move(flag)), expected_(expected), value_(std::move(value)) {}

    const std::string& flag() const { return flag_; }
    const std::string& text() const { return value_; }
    std::string nonempty_text() const;
    // Digits only, in [least, most].
    uint64_t whole(uint64_t least = 0, uint64_t most = UINT64_MAX) const;
    // A finite decimal number in [least, most]; `open` leaves `least` itself out.
    double real(double least, double most, bool open = false) const;
    double real() const;  // any
    std::vector<int64_t> ids() const;
    // At least one whole number in [least, most], commas or spaces between.
    std::vector<size_t> sizes(uint64_t least, uint64_t most) const;
    // The index of the value among the words of the table's "f32|f16|q8".
    size_t choice() const;
    // Refuses the value, in the words that say what may stand there.
    [[noreturn]] void unexpected(const std::string& expected) const;

private:
    std::string flag_;
    const char* expected_;
    std::string value_;
};

using Setter = std::function<void(const Argument& argument)>;

// What a flag's value, or its being there, is put into.
Setter turn_on(bool* to);
Setter turn_off(bool* to);
Setter text_into(std::string* to);                 // not empty
Setter text_into(std::optional<std::string>* to);  // not empty
template <typename T>
Setter whole_into(T* to, uint64_t least, uint64_t most) {
    return [=](const Argument& a) { *to = static_cast<T>(a.whole(least, most)); };
}
template <typename T>
Setter real_into(T* to, double least, double most, bool open = false) {
    return [=](const Argument& a) { *to = static_cast<T>(a.real(least, most, open)); };
}
// T: an enum class whose values are in the order of the words, or an optional one.
template <typename T>
Setter choice_into(T* to) {
    return [=](const Argument& a) { *to = static_cast<T>(a.choice()); };
}
template <typename T>
Setter choice_into(std::optional<T>* to) {
    return [=](const Argument& a) { *to = static_cast<T>(a.choice()); };
}

// The words of --type, in ElementType's order.
constexpr char kElementTypes[] = "f32|f16|bf16|q8|q4";

struct Option {
    const char* names;  // "-b, --batch"; messages say the first
    const char* value;  // what help calls it; words to choose from: "stop|slide"; nullptr: a switch
    unsigned takers;    // bits of the subcommands, or of what the program tells apart
    std::string help;   // one paragraph
    Setter set;
    bool repeats = false;  // may be given several times
};

struct OptionGroup {
    const char* title;
    std::vector<Option> options;
};

struct Subcommand {
    unsigned bit;
    const char* name;
    const char* usage;  // what follows it
    const char* summary;
};

// A word that is no flag, or a name that can stand there, and what it means.
struct Word {
    std::string name, help;
};

struct Program {
    std::vector<const char*> usage;  // what follows the program's name, a line each
    std::string about;               // paragraphs
    std::vector<Subcommand> subcommands;
    bool has_default = false;  // the first subcommand is meant where none is named
    const char* words_title = "";
    std::vector<Word> words;
    std::vector<OptionGroup> groups;
    std::string notes;                     // paragraphs after the flags
    bool usage_after_error = false;        // a misuse is followed by the usage
    std::function<std::string()> version;  // empty: its name and kVersion
    // Takes a word that is no flag; subcommand: its bit, else 0.
    std::function<void(const std::string& word, unsigned subcommand)> take_word;
    // Refuses what no single flag can see; not called where help was asked for.
    std::function<void(const CommandLine& line)> check;
};

// A command line that was read: what it gave is in the program's own options.
struct CommandLine {
    const Subcommand* subcommand = nullptr;
    struct Given {
        const Option* option;
        std::string value;
    };
    std::vector<Given> given;           // in order
    std::optional<std::string> answer;  // help or version was asked for: print this, do nothing

    bool has(const char* name) const;
};

// args: what follows the program's name. Takes -n 5, -n5, --flag value, --flag=value, -- before
// words that begin with a dash, help and version. Throws an Error of status kMisused.
CommandLine parse(const Program& program, const std::vector<std::string>& args);

// What --help prints; subcommand: its own help, nullptr: the program's.
std::string help_text(const Program& program, const Subcommand* subcommand = nullptr);
// "usage: NAME ..." lines.
std::string usage_text(const Program& program);

// The names of an option: {"-b", "--batch"}.
std::vector<std::string> names_of(const Option& option);
// The option that has this name, and is for one of these takers; nullptr: there is none.
const Option* find_option(const Program& program, const std::string& name, unsigned takers);

// Of these words the one that was meant by a wrong one; empty: none is near.
std::string nearest(const std::string& wrong, const std::vector<std::string>& words);

// Whole numbers with commas or white space between; none is a list too. An id too large for
// int64 becomes its limit: both are outside of any vocabulary. Returns the first word that is no
// number, or "" when all are.
std::string parse_ids(const std::string& text, std::vector<int64_t>* ids);

}  // namespace minigpt::tools
