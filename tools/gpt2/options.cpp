// What the flags of gpt2 mean together.
#include "gpt2/options.h"

#include <cstring>

#include "common/program.h"

namespace minigpt::gpt2 {

void take_word(const std::string& word, unsigned command, Options* options) {
    if (command == kCompare && !word.empty() && options->compared.size() < 2) {
        options->compared.push_back(word);
        return;
    }
    const unsigned takers = command == 0 ? kGenerate : command;
    Options unused;
    const Program table = program(unused);
    std::string flags;
    for (const char* name : {"-m", "-p", "-f", "--ids"}) {
        const Option* option = find_option(table, name, takers);
        if (option != nullptr && strcmp(option->value, "N") != 0)  // bench's -p is a number
            flags += std::string(flags.empty() ? "" : ", ") + name + " " + option->value;
    }
    const std::string subcommand =
        command == 0 ? "" : name_of(static_cast<Command>(command)) + std::string(" ");
    misuse("%s: %s before it (%s); see %s %s--help", word.c_str(),
           command == 0 ? "no such subcommand, and no flag" : "no flag", flags.c_str(),
           program_name().c_str(), subcommand.c_str());
}

namespace {

// What no flag can see by itself.
void check_together(const Options& options) {
    int n_prompts = options.text.has_value() + options.file.has_value() + options.ids.has_value();
    if (n_prompts > 1)
        misuse("-p, -f, --ids: only one of them can be the prompt");
    if (options.command == kCompare && options.compared.size() < 2) {
        misuse("found %zu model%s, expected two; see %s compare --help", options.compared.size(),
               plural(options.compared.size()), program_name().c_str());
    }
    if (options.json && options.print_ids)
        misuse("--json, --print-ids: only one of them");
    if (options.json && options.echo)
        misuse("--json, --echo: the JSON holds the prompt anyway");
}

}  // namespace

Options parse(const std::vector<std::string>& args) {
    Options options;
    const Program table = program(options);
    const CommandLine line = tools::parse(table, args);
    options.answer = line.answer;
    if (line.subcommand != nullptr)
        options.command = static_cast<Command>(line.subcommand->bit);
    if (!line.answer)
        check_together(options);
    return options;
}

}  // namespace minigpt::gpt2
