// One table of options from which a program's parser and help are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace minigpt::tools {

struct CommandLine;

// A flag's value as it was typed. Each reader throws a misuse that names the flag and the value.
class Argument {
public:
    Argument(std::string flag, const char* expected, std::string value)
        : flag_(std::move(flag)), expected_(expected), value_(std::move(value)) {}

    const std::string& flag() const { return flag_; }
    const std::string& text() const { return value_; }
    std::string nonempty_text() const;
    // Digits only, in [least, most].
    uint64_t whole(uint64_t least = 0, uint64_t most = UINT64_MAX) const;
    // A finite decimal number in [least, most]; if `open`, not `least` itself.
    double real(double least, double most, bool open = false) const;
    double real() const;  // any finite number
    std::vector<int64_t> ids() const;
    // At least one whole number in [least, most], separated by commas or spaces.
    std::vector<size_t> sizes(uint64_t least, uint64_t most) const;
    // The index of the value in the table's list of words, "f32|f16|q8".
    size_t choice() const;
    // Refuses the value; the message says what is allowed.
    [[noreturn]] void unexpected(const std::string& expected) const;

private:
    std::string flag_;
    const char* expected_;
    std::string value_;
};

using Setter = std::function<void(const Argument& argument)>;

// Stores a flag's value, or for a switch that it was given.
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
// T: an enum class with its values in the order of the words, or std::optional of one.
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
    const char* names;  // "-b, --batch"; messages use the first
    const char* value;  // its name in help, or the words to choose from: "a|b"; nullptr: a switch
    unsigned takers;    // bits of the subcommands, or of other cases that the program defines
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
    const char* usage;  // what follows the name
    const char* summary;
};

// A word that is not a flag, or a name for such words, and its meaning.
struct Word {
    std::string name, help;
};

struct Program {
    std::vector<const char*> usage;  // what follows the program's name, one string for each line
    std::string about;               // paragraphs
    std::vector<Subcommand> subcommands;
    bool has_default = false;  // without a subcommand the first one runs
    const char* words_title = "";
    std::vector<Word> words;
    std::vector<OptionGroup> groups;
    std::string notes;                     // paragraphs after the flags
    bool usage_after_error = false;        // print the usage after a misuse
    std::function<std::string()> version;  // empty: the program's name and kVersion
    // Takes a word that is not a flag. subcommand: its bit; 0 if there is none.
    std::function<void(const std::string& word, unsigned subcommand)> take_word;
    // Checks flags against each other. Not called if help was asked for.
    std::function<void(const CommandLine& line)> check;
};

// A parsed command line. The values are stored in the program's own options.
struct CommandLine {
    const Subcommand* subcommand = nullptr;
    struct Given {
        const Option* option;
        std::string value;
    };
    std::vector<Given> given;           // in the order of the command line
    std::optional<std::string> answer;  // the text of help or version to print; then do nothing

    bool has(const char* name) const;
};

// args: the words after the program's name. Accepts -n 5, -n5, --flag value, --flag=value, help and
// version, and -- before words that begin with a dash. Throws an Error of status kMisused.
CommandLine parse(const Program& program, const std::vector<std::string>& args);

// What --help prints for a subcommand, or for the program if it is nullptr.
std::string help_text(const Program& program, const Subcommand* subcommand = nullptr);
// "usage: NAME ..." lines.
std::string usage_text(const Program& program);

// The names of an option: {"-b", "--batch"}.
std::vector<std::string> names_of(const Option& option);
// The option with this name that at least one of these takers accepts; nullptr: none.
const Option* find_option(const Program& program, const std::string& name, unsigned takers);

// The word in `words` that is most similar to a wrong one; empty: none is similar.
std::string nearest(const std::string& wrong, const std::vector<std::string>& words);

// Reads whole numbers separated by commas or white space; the list may be empty. An id too large
// for int64 becomes its limit, which is outside any vocabulary, too. Returns the first word that is
// not a number, or "" if all are.
std::string parse_ids(const std::string& text, std::vector<int64_t>* ids);

}  // namespace minigpt::tools
