// Reading a command line by the tables of flags.cpp.
#include "gpt2/options.h"

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "common/error.h"
#include "common/text.h"

namespace minigpt::gpt2 {
namespace {

constexpr size_t kHelpColumn = 25;

bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_digits(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

const Flag* find_flag(const std::string& name, unsigned commands) {
    for (size_t i = 0; i < kNumFlags; i++) {
        if (kFlags[i].name == name && (kFlags[i].commands & commands) != 0)
            return &kFlags[i];
    }
    return nullptr;
}

// A model or a text stands here as if its place said what it is: the flags that say it.
[[noreturn]] void misplaced(const std::string& word, const char* what, Command command,
                            const char* subcommand) {
    std::string flags;
    for (const char* name : {"-m", "-p", "-f", "--ids"}) {
        const Flag* flag = find_flag(name, command);
        if (flag != nullptr && strcmp(flag->value, "N") != 0)  // bench's -p is a number
            flags += std::string(flags.empty() ? "" : ", ") + name + " " + flag->value;
    }
    misuse("%s: %s before it (%s); see gpt2 %s--help", word.c_str(), what, flags.c_str(),
           subcommand);
}

[[noreturn]] void unknown_flag(const std::string& name, Command command) {
    const char* subcommand = info(command).name;
    if (find_flag(name, kAnyCommand) != nullptr) {
        misuse("%s: not a flag of %s; see gpt2 %s --help", name.c_str(), subcommand, subcommand);
    }
    misuse("%s: no such flag; see gpt2 %s --help", name.c_str(), subcommand);
}

// Takes args[*i], and args[*i + 1] when that is its value.
void take_flag(const std::vector<std::string>& args, size_t* i, Options* options) {
    std::string name = args[*i];
    std::optional<std::string> value;
    size_t equals = name.find('=');
    if (name.compare(0, 2, "--") == 0 && equals != std::string::npos) {
        value = name.substr(equals + 1);
        name.resize(equals);
    }
    if (name == "-h")
        name = "--help";
    const Flag* flag = find_flag(name, options->command);
    if (flag == nullptr)
        unknown_flag(name, options->command);
    if (flag->value == nullptr && value)
        misuse("%s: takes no value", flag->name);
    if (flag->value != nullptr && !value) {
        if (*i + 1 == args.size())
            misuse("%s: its value (%s) is missing", flag->name, flag->value);
        value = args[++*i];
    }
    flag->set(*options, Argument(flag->name, value.value_or("")));
}

// What no flag can see by itself.
void check_together(const Options& options) {
    int n_prompts = options.text.has_value() + options.file.has_value() + options.ids.has_value();
    if (n_prompts > 1)
        misuse("-p, -f, --ids: only one of them can be the prompt");
    if (options.command == kCompare && options.compared.size() < 2)
        misuse("found %zu model%s, expected two; see gpt2 compare --help", options.compared.size(),
               plural(options.compared.size()));
    if (options.json && options.print_ids)
        misuse("--json, --print-ids: only one of them");
    if (options.json && options.echo)
        misuse("--json, --echo: the JSON holds the prompt anyway");
}

void append_flag(const Flag& flag, std::string* out) {
    std::string left = std::string("  ") + flag.name;
    if (flag.value != nullptr)
        left += std::string(" ") + flag.value;
    left.resize(std::max(left.size() + 1, kHelpColumn), ' ');
    *out += left;
    for (const char* c = flag.help; *c != '\0'; c++) {
        *out += *c;
        if (*c == '\n')
            out->append(kHelpColumn, ' ');
    }
    *out += '\n';
}

}  // namespace

std::string Argument::nonempty_text() const {
    if (value_.empty())
        misuse("%s: its value is empty", flag_);
    return value_;
}

uint64_t Argument::whole(uint64_t least, uint64_t most) const {
    errno = 0;
    uint64_t number = strtoull(value_.c_str(), nullptr, 10);
    if (!is_digits(value_) || errno == ERANGE || number < least || number > most) {
        misuse("%s: found %s, expected a whole number from %" PRIu64 " to %" PRIu64, flag_,
               value_.empty() ? "nothing" : value_.c_str(), least, most);
    }
    return number;
}

float Argument::real(double least, double most, bool open) const {
    // strtod would take hexadecimal, "inf" and leading white space too.
    bool plain =
        !value_.empty() && value_.find_first_not_of("0123456789.eE+-") == std::string::npos;
    char* end = nullptr;
    double number = strtod(value_.c_str(), &end);
    float rounded = static_cast<float>(number);
    bool inside = number >= least && number <= most && !(open && rounded <= least);
    if (!plain || *end != '\0' || !inside) {
        misuse("%s: found %s, expected a number %s %g and at most %g", flag_,
               value_.empty() ? "nothing" : value_.c_str(), open ? "above" : "of at least", least,
               most);
    }
    return rounded;
}

std::vector<int64_t> Argument::ids() const {
    std::vector<int64_t> ids;
    std::string wrong = parse_ids(value_, &ids);
    if (!wrong.empty())
        misuse("%s: found %s, expected a token id", flag_, wrong.c_str());
    return ids;
}

std::vector<size_t> Argument::sizes(uint64_t least, uint64_t most) const {
    std::vector<int64_t> found;
    std::string wrong = parse_ids(value_, &found);
    if (!wrong.empty() || found.empty())
        misuse("%s: found %s, expected whole numbers", flag_,
               wrong.empty() ? "nothing" : wrong.c_str());
    std::vector<size_t> sizes;
    for (int64_t number : found) {
        if (number < 0 || static_cast<uint64_t>(number) < least ||
            static_cast<uint64_t>(number) > most) {
            misuse("%s: found %" PRId64 ", expected whole numbers from %" PRIu64 " to %" PRIu64,
                   flag_, number, least, most);
        }
        sizes.push_back(static_cast<size_t>(number));
    }
    return sizes;
}

size_t Argument::choice(const char* const* words, size_t n) const {
    std::string expected;
    for (size_t i = 0; i < n; i++) {
        if (value_ == words[i])
            return i;
        expected += std::string(i == 0 ? "" : " or ") + words[i];
    }
    misuse("%s: found %s, expected %s", flag_, value_.c_str(), expected.c_str());
}

std::string parse_ids(const std::string& text, std::vector<int64_t>* ids) {
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

Options parse(const std::vector<std::string>& args) {
    Options options;
    size_t i = 0;
    if (!args.empty() && args[0] == "--version") {
        options.version = true;
        return options;
    }
    if (!args.empty() && (args[0].empty() || args[0][0] != '-')) {
        size_t c = 0;
        while (c < kNumCommands && args[0] != kCommands[c].name)
            c++;
        if (c == kNumCommands)
            misplaced(args[0], "no such subcommand, and no flag", kGenerate, "");
        options.command = kCommands[c].command;
        i = 1;
    }
    for (; i < args.size(); i++) {
        if (args[i].size() < 2 || args[i][0] != '-') {
            if (options.command == kCompare && !args[i].empty() && options.compared.size() < 2) {
                options.compared.push_back(args[i]);
                continue;
            }
            misplaced(args[i], "no flag", options.command,
                      (info(options.command).name + std::string(" ")).c_str());
        }
        take_flag(args, &i, &options);
        if (options.help)
            return options;
    }
    check_together(options);
    return options;
}

std::string help_text(Command command, bool named) {
    const CommandInfo& about = info(command);
    std::string out;
    if (named) {
        out = format("usage: gpt2 %s %s\n%s\n\n", about.name, about.usage, about.summary);
    } else {
        out = "usage: gpt2 [SUBCOMMAND] [FLAGS]\nRuns GPT-2 models. The subcommands:\n\n";
        for (size_t i = 0; i < kNumCommands; i++) {
            out += format("  %-12s %s\n", kCommands[i].name, kCommands[i].summary);
        }
        out += "\ngpt2 SUBCOMMAND --help lists its flags, gpt2 --version the kernels. Flags of ";
        out += format("%s:\n\n", about.name);
    }
    for (size_t i = 0; i < kNumFlags; i++) {
        if ((kFlags[i].commands & command) != 0)
            append_flag(kFlags[i], &out);
    }
    if (command == kGenerate) {
        out +=
            "\nText goes to stdout as it is made, all else to stderr. An empty prompt begins "
            "with\n<|endoftext|>. The same model, prompt, flags and seed give the same text "
            "everywhere,\nbut for CPUs whose kernels have bits of their own, as --version says.\n";
    }
    out +=
        "\nExit status: 0 done, 1 the input or model was refused, 2 the command line was "
        "wrong.\n";
    return out;
}

}  // namespace minigpt::gpt2
