#include "common/options.h"
#include "minigpt/version.h"

#include <algorithm>
#include <cerrno>
#include <cfloat>
#include <cinttypes>
#include <cstdlib>
#include <cstring>

#include "common/error.h"
#include "common/program.h"
#include "common/text.h"

namespace minigpt::tools {
namespace {

std::string hint(const Subcommand* subcommand) {
    std::string name = subcommand == nullptr ? "" : std::string(" ") + subcommand->name;
    return "see " + program_name() + name + " --help";
}

std::string did_you_mean(const std::string& word) {
    return word.empty() ? "" : "; did you mean " + word + "?";
}

bool is_digits(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

class Parser {
public:
    Parser(const Program& program, const std::vector<std::string>& args)
        : program_(program), args_(args) {}

    CommandLine run() {
        if (!program_.subcommands.empty() && take_subcommand())
            return line_;
        bool all_words = false;
        for (; at_ < args_.size() && !line_.answer; at_++) {
            const std::string& word = args_[at_];
            if (word == "--" && !all_words) {
                all_words = true;
            } else if (all_words || word.size() < 2 || word[0] != '-') {
                program_.take_word(word, bit());
            } else {
                take_flag(word);
            }
        }
        return line_;
    }

private:
    unsigned bit() const { return line_.subcommand == nullptr ? 0 : line_.subcommand->bit; }

    const Subcommand* named(const std::string& name) const {
        for (const Subcommand& each : program_.subcommands) {
            if (name == each.name)
                return &each;
        }
        return nullptr;
    }

    std::string nearest_subcommand(const std::string& word) const {
        std::vector<std::string> names = {"help", "version"};
        for (const Subcommand& each : program_.subcommands)
            names.push_back(each.name);
        return nearest(word, names);
    }

    // The first word; true: it was answered.
    bool take_subcommand() {
        const std::string first = args_.empty() ? "" : args_[0];
        if (program_.has_default)
            line_.subcommand = &program_.subcommands[0];
        if (first == "help" || first == "version")
            return answer(first);
        if (first == "-h" || first == "--help" || first == "-v" || first == "--version")
            return answer(first.find('h') < first.find('v') ? "help" : "version");
        if (args_.empty() || (!first.empty() && first[0] == '-')) {
            if (!program_.has_default)
                misuse("a subcommand is missing; %s", hint(nullptr).c_str());
            return false;
        }
        line_.subcommand = named(first);
        if (line_.subcommand == nullptr)
            unknown_subcommand(first);
        at_ = 1;
        return false;
    }

    [[noreturn]] void unknown_subcommand(const std::string& word) const {
        std::string meant = nearest_subcommand(word);
        if (meant.empty() && program_.has_default)
            program_.take_word(word, 0);  // throws: it knows what may have been forgotten
        misuse("%s: no such subcommand%s %s", word.c_str(),
               meant.empty() ? ";" : did_you_mean(meant).c_str(), hint(nullptr).c_str());
    }

    bool answer(const std::string& what) {
        if (what == "version") {
            line_.answer = program_.version
                               ? program_.version()
                               : format("%s %s (libminigpt)\n", program_name().c_str(), kVersion);
            return true;
        }
        const Subcommand* about = nullptr;
        if (args_.size() > 1 && args_[0] == "help" && args_[1][0] != '-') {
            about = named(args_[1]);
            if (about == nullptr)
                unknown_subcommand(args_[1]);
        }
        line_.answer = help_text(program_, about);
        return true;
    }

    [[noreturn]] void unknown_flag(const std::string& name) const {
        const std::string see = hint(line_.subcommand);
        if (line_.subcommand != nullptr && find_option(program_, name, ~0u) != nullptr)
            misuse("%s: not a flag of %s; %s", name.c_str(), line_.subcommand->name, see.c_str());
        std::vector<std::string> all = {"--help", "--version"};
        for (const OptionGroup& group : program_.groups) {
            for (const Option& option : group.options) {
                if (bit() == 0 || (option.takers & bit()) != 0) {
                    for (const std::string& each : names_of(option))
                        all.push_back(each);
                }
            }
        }
        std::string meant = nearest(name[1] == '-' ? name : "-" + name, all);
        misuse("%s: no such flag%s %s", name.c_str(),
               meant.empty() ? ";" : did_you_mean(meant).c_str(), see.c_str());
    }

    const Option* find(const std::string& name) const {
        return find_option(program_, name, bit() == 0 ? ~0u : bit());
    }

    // A flag, and its value: beside it, after =, or the next word.
    void take_flag(const std::string& word) {
        std::string name = word;
        std::optional<std::string> value;
        size_t equals = word.find('=');
        if (word.compare(0, 2, "--") == 0) {
            if (equals != std::string::npos)
                name = word.substr(0, equals), value = word.substr(equals + 1);
        } else if (word.size() > 2 && find(word) == nullptr && find("-" + word) == nullptr) {
            const Option* attached = find(word.substr(0, 2));
            if (attached != nullptr && attached->value != nullptr)
                name = word.substr(0, 2), value = word.substr(2);
        }
        if (!value && (name == "-h" || name == "--help")) {
            line_.answer = help_text(program_, line_.subcommand);
            return;
        }
        if (!value && (name == "-v" || name == "--version")) {
            answer("version");
            return;
        }
        const Option* option = find(name);
        if (option == nullptr)
            unknown_flag(name);
        take_value(*option, name, value);
    }

    void take_value(const Option& option, const std::string& name,
                    std::optional<std::string> value) {
        if (option.value == nullptr && value)
            misuse("%s: takes no value", name.c_str());
        if (option.value != nullptr && !value) {
            if (at_ + 1 == args_.size())
                misuse("%s: its value (%s) is missing", name.c_str(), option.value);
            value = args_[++at_];
        }
        if (!option.repeats && line_.has(name.c_str()))
            misuse("%s: given twice; %s", name.c_str(), hint(line_.subcommand).c_str());
        option.set(Argument(name, option.value, value.value_or("")));
        line_.given.push_back({&option, value.value_or("")});
    }

    const Program& program_;
    const std::vector<std::string>& args_;
    CommandLine line_;
    size_t at_ = 0;
};

}  // namespace

std::string Argument::nonempty_text() const {
    if (value_.empty())
        misuse("%s: its value is empty", flag_.c_str());
    return value_;
}

void Argument::unexpected(const std::string& expected) const {
    misuse("%s: found %s, expected %s", flag_.c_str(),
           value_.empty() ? "nothing" : shown(value_).c_str(), expected.c_str());
}

uint64_t Argument::whole(uint64_t least, uint64_t most) const {
    errno = 0;
    uint64_t number = strtoull(value_.c_str(), nullptr, 10);
    if (!is_digits(value_) || errno == ERANGE || number < least || number > most) {
        unexpected("a whole number" +
                   (most == UINT64_MAX ? (least == 0 ? "" : format(" of at least %" PRIu64, least))
                                       : format(" from %" PRIu64 " to %" PRIu64, least, most)));
    }
    return number;
}

double Argument::real(double least, double most, bool open) const {
    // strtod would take hexadecimal, "inf" and leading white space too.
    bool plain =
        !value_.empty() && value_.find_first_not_of("0123456789.eE+-") == std::string::npos;
    char* end = nullptr;
    double number = strtod(value_.c_str(), &end);
    bool inside = number >= least && number <= most &&
                  !(open && static_cast<float>(number) <= static_cast<float>(least));
    if (!plain || *end != '\0' || !inside) {
        unexpected(most >= FLT_MAX ? "a number"
                                   : format("a number %s %g and at most %g",
                                            open ? "above" : "of at least", least, most));
    }
    return number;
}

double Argument::real() const {
    return real(-FLT_MAX, FLT_MAX);
}

std::vector<int64_t> Argument::ids() const {
    std::vector<int64_t> ids;
    std::string wrong = parse_ids(value_, &ids);
    if (!wrong.empty())
        misuse("%s: found %s, expected a token id", flag_.c_str(), wrong.c_str());
    return ids;
}

std::vector<size_t> Argument::sizes(uint64_t least, uint64_t most) const {
    std::vector<int64_t> found;
    std::string wrong = parse_ids(value_, &found);
    if (!wrong.empty() || found.empty()) {
        misuse("%s: found %s, expected whole numbers", flag_.c_str(),
               wrong.empty() ? "nothing" : wrong.c_str());
    }
    std::vector<size_t> sizes;
    for (int64_t number : found) {
        if (number < 0 || static_cast<uint64_t>(number) < least ||
            static_cast<uint64_t>(number) > most) {
            misuse("%s: found %" PRId64 ", expected whole numbers from %" PRIu64 " to %" PRIu64,
                   flag_.c_str(), number, least, most);
        }
        sizes.push_back(static_cast<size_t>(number));
    }
    return sizes;
}

size_t Argument::choice() const {
    const std::string words = std::string(expected_) + "|";
    std::string expected;
    size_t n = 0, i = 0;
    for (size_t end; (end = words.find('|', i)) != std::string::npos; i = end + 1, n++) {
        std::string word = words.substr(i, end - i);
        if (value_ == word)
            return n;
        bool is_last = end + 1 == words.size();
        expected += (n == 0 ? "" : is_last ? " or " : ", ") + word;
    }
    unexpected(expected);
}

Setter turn_on(bool* to) {
    return [=](const Argument&) { *to = true; };
}

Setter turn_off(bool* to) {
    return [=](const Argument&) { *to = false; };
}

Setter text_into(std::string* to) {
    return [=](const Argument& a) { *to = a.nonempty_text(); };
}

Setter text_into(std::optional<std::string>* to) {
    return [=](const Argument& a) { *to = a.nonempty_text(); };
}

bool CommandLine::has(const char* name) const {
    return std::any_of(given.begin(), given.end(), [&](const Given& each) {
        std::vector<std::string> names = names_of(*each.option);
        return std::find(names.begin(), names.end(), name) != names.end();
    });
}

CommandLine parse(const Program& program, const std::vector<std::string>& args) {
    try {
        CommandLine line = Parser(program, args).run();
        if (program.check && !line.answer)
            program.check(line);
        return line;
    } catch (Error& error) {
        if (program.usage_after_error)
            error.usage = usage_text(program);
        throw;
    }
}

std::vector<std::string> names_of(const Option& option) {
    std::vector<std::string> names;
    std::string all = option.names;
    for (size_t at = 0; at < all.size();) {
        size_t end = std::min(all.find(", ", at), all.size());
        names.push_back(all.substr(at, end - at));
        at = end + 2;
    }
    return names;
}

const Option* find_option(const Program& program, const std::string& name, unsigned takers) {
    for (const OptionGroup& group : program.groups) {
        for (const Option& option : group.options) {
            std::vector<std::string> names = names_of(option);
            bool is_it = std::find(names.begin(), names.end(), name) != names.end();
            // A row that all take has no bits to compare where the program has no subcommands.
            if (is_it && (takers == ~0u || (option.takers & takers) != 0))
                return &option;
        }
    }
    return nullptr;
}

std::string parse_ids(const std::string& text, std::vector<int64_t>* ids) {
    auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    size_t at = 0;
    auto skip_space = [&] {
        while (at < text.size() && is_space(text[at]))
            at++;
    };
    for (skip_space(); at < text.size(); skip_space()) {
        if (!ids->empty() && text[at] == ',')
            at++;
        skip_space();
        size_t begin = at;
        while (at < text.size() && text[at] != ',' && !is_space(text[at]))
            at++;
        std::string word = text.substr(begin, at - begin);
        if (!is_digits(word[0] == '-' ? word.substr(1) : word))
            return "\"" + word + "\"";
        ids->push_back(strtoll(word.c_str(), nullptr, 10));
    }
    return "";
}

}  // namespace minigpt::tools
