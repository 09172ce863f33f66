#include "train/options.h"

#include <algorithm>
#include <cstdint>

#include "common/file.h"
#include "minigpt/compute.h"
#include "train/flags.h"

namespace minigpt::train {
namespace {

constexpr size_t kMaxSample = 100000;    // tokens, some minutes
constexpr size_t kMaxReplies = 1000000;  // 200 MB

using Given = std::vector<const Flag*>;

bool is_given(const Given& given, const char* name) {
    return std::find(given.begin(), given.end(), find_flag(name)) != given.end();
}

// A flag that is not for the run that the others ask for; empty: there is none.
std::string misplaced(const Options& options, const Given& given) {
    const bool is_mlp = options.config.architecture == networks::Architecture::mlp;
    const bool is_text = is_given(given, "--returns-desk");
    if (is_text && !options.text.empty())
        return "--returns-desk makes a text and takes none: " + tools::shown(options.text);
    for (const Flag* flag : given) {
        std::string name = flag->name;
        if (is_text && !(flag->use & kText))
            return "--returns-desk prints a text and does not train: not with " + name;
        if (!options.resume.empty() && flag->use & kNew)
            return name + " is what the run began with: not with --resume";
        if (is_mlp && flag->use & kGpt)
            return name + " is for a GPT: not with --model mlp";
        if (!is_mlp && flag->use & kMlp)
            return name + " is for a perceptron: only with --model mlp";
    }
    if (is_given(given, "--eval-windows") && options.config.val == 0)
        return "--eval-windows is of held-back text: not with --val 0";
    return "";
}

// A number that is given and is not what it may be; empty: there is none.
std::string out_of_range(const Options& options, const Given& given) {
    const networks::TrainConfig& c = options.config;
    const struct {
        const char* name;
        size_t value, least, most;
    } all[] = {{"-t", options.n_threads, 1, Compute::kMaxThreads},
               {"--sample", options.n_sample, 0, kMaxSample},
               {"--stop-after", options.stop_after, 1, SIZE_MAX},
               {"--returns-desk", options.n_replies, 1, kMaxReplies},
               {"--warmup", c.n_warmup, 0, c.n_iters / 10}};
    for (const auto& n : all) {
        if (is_given(given, n.name) && (n.value < n.least || n.value > n.most)) {
            return std::string(n.name) + ": found " + std::to_string(n.value) + ", expected " +
                   std::to_string(n.least) + " to " + std::to_string(n.most);
        }
    }
    Status status = check(c);
    return status.ok() ? "" : std::string("--") + status.message();
}

// What no single flag can see.
std::string misuse(const Options& options, const Given& given) {
    if (options.help)
        return "";
    std::string wrong = misplaced(options, given);
    const bool trains = !is_given(given, "--returns-desk");
    if (wrong.empty() && trains && options.text.empty())
        wrong = "TEXT is missing";
    if (wrong.empty() && trains && options.output.empty())
        wrong = "-o MODEL.mgpt is missing";
    return wrong.empty() ? out_of_range(options, given) : wrong;
}

// One word, or a flag and its value: i moves to the last of them.
std::string take(const std::vector<std::string>& args, size_t* i, Options* options, Given* given) {
    const std::string& word = args[*i];
    const Flag* flag = find_flag(word);
    if (flag == nullptr) {
        if (word.size() > 1 && word[0] == '-')
            return "unknown option " + tools::shown(word);
        if (!options->text.empty() || word.empty())
            return "one TEXT, please: " + tools::shown(word);
        options->text = word;
    } else {
        given->push_back(flag);
        if (flag->value != nullptr && ++*i == args.size())
            return std::string("a value is missing after ") + flag->name;
        const char* value = flag->value == nullptr ? "" : args[*i].c_str();
        if (!flag->read(*options, value)) {
            std::string found = value[0] == '\0' ? "nothing" : tools::shown(value);
            return std::string(flag->name) + ": found " + found + ", expected " + expected(*flag);
        }
    }
    if (flag == nullptr || !(flag->use & (kNew | kOnce)))
        options->again.insert(options->again.end(), &word, &args[*i] + 1);
    return "";
}

}  // namespace

Options parse(const std::vector<std::string>& args, std::string* error) {
    Options options;
    Given given;
    error->clear();
    for (size_t i = 0; i < args.size() && error->empty(); ++i)
        *error = take(args, &i, &options, &given);
    if (error->empty())
        *error = misuse(options, given);
    return options;
}

std::string help_text() {
    std::string help =
        "usage: train TEXT -o MODEL.mgpt [options]\n"
        "       train TEXT -o MODEL.mgpt --resume MODEL.mgpt.state\n"
        "       train --returns-desk N [--seed N]\n"
        "\n"
        "Trains a small GPT-2 on a text and writes it as a weight file for gpt2. The same text "
        "and\n"
        "options give the same file, bit for bit, for any number of threads and on any machine.\n"
        "Of what it was while it learnt, it is kept as it predicted the held-back text best.\n"
        "Losses are nats a token, and samples go on from the text's own beginning, after a bar.\n"
        "\n";
    for (size_t i = 0; i < kNumFlags; ++i) {
        const Flag& flag = kFlags[i];
        std::string left = std::string("  ") + flag.name;
        if (flag.value != nullptr)
            left += std::string(" ") + flag.value;
        left.resize(left.size() < 28 ? 28 : left.size() + 2, ' ');
        help += left + flag.help + "\n";
    }
    help +=
        "\n"
        "Exit status: 0 done, 1 the text or a file was refused, 2 the command line was wrong,\n"
        "130 stopped by Ctrl-C: all is saved, and the last line says how to go on.\n";
    return help;
}

}  // namespace minigpt::train
