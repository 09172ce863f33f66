#include "train/options.h"

#include <cstdint>

#include "minigpt/compute.h"
#include "train/flags.h"

namespace minigpt::train {
namespace {

using tools::CommandLine;
using tools::misuse;

constexpr size_t kMaxSample = 100000;    // tokens, some minutes
constexpr size_t kMaxReplies = 1000000;  // 200 MB

// Refuses a flag that is not for the run that the others ask for.
void check_uses(const Options& options, const CommandLine& line) {
    const bool is_mlp = options.config.architecture == networks::Architecture::mlp;
    const bool is_text = line.has("--returns-desk");
    if (is_text && !options.text.empty()) {
        misuse("--returns-desk makes a text and takes none: %s",
               tools::shown(options.text).c_str());
    }
    for (const CommandLine::Given& given : line.given) {
        const char* name = given.option->names;
        const unsigned use = given.option->takers;
        if (is_text && !(use & kText))
            misuse("--returns-desk prints a text and does not train: not with %s", name);
        if (!options.resume.empty() && use & kNew)
            misuse("%s is what the run began with: not with --resume", name);
        if (is_mlp && use & kGpt)
            misuse("%s is for a GPT: not with --model mlp", name);
        if (!is_mlp && use & kMlp)
            misuse("%s is for a perceptron: only with --model mlp", name);
    }
    if (line.has("--eval-windows") && options.config.val == 0)
        misuse("--eval-windows is of held-back text: not with --val 0");
    if (!is_text && options.text.empty())
        misuse("TEXT is missing");
    if (!is_text && options.output.empty())
        misuse("-o MODEL.mgpt is missing");
}

// Refuses a number that is given and is not what it may be.
void check_ranges(const Options& options, const CommandLine& line) {
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
        if (line.has(n.name) && (n.value < n.least || n.value > n.most))
            misuse("%s: found %zu, expected %zu to %zu", n.name, n.value, n.least, n.most);
    }
    Status status = check(c);
    if (!status.ok())
        misuse("--%s", status.message());
}

}  // namespace

Options parse(const std::vector<std::string>& args) {
    Options options;
    tools::Program table = program(options);
    // What flags mean together is told with the usage, too.
    table.check = [&options](const CommandLine& line) {
        check_uses(options, line);
        check_ranges(options, line);
    };
    const CommandLine line = tools::parse(table, args);
    options.answer = line.answer;
    options.again = {options.text};
    for (const CommandLine::Given& given : line.given) {
        if (given.option->takers & (kNew | kOnce))
            continue;
        options.again.push_back(given.option->names);
        if (given.option->value != nullptr)
            options.again.push_back(given.value);
    }
    return options;
}

}  // namespace minigpt::train
