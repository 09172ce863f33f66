#include "options.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "../convert/file.h"
#include "minigpt/compute.h"

namespace minigpt::train {
namespace {

constexpr size_t kMaxSample = 100000;    // tokens, some minutes
constexpr size_t kMaxReplies = 1000000;  // 200 MB

// Reads a flag's value into the options; false: it is none of what the flag takes.
using Read = bool (*)(Options& options, const char* value);

// Digits only.
template <typename T>
bool whole(T* to, const char* value) {
    errno = 0;
    char* end;
    unsigned long long n = strtoull(value, &end, 10);
    *to = static_cast<T>(n);
    return value[0] >= '0' && value[0] <= '9' && *end == '\0' && errno == 0 &&
           static_cast<unsigned long long>(*to) == n;
}

template <typename T>
bool real(T* to, const char* value) {
    char* end;
    double x = strtod(value, &end);
    *to = static_cast<T>(x);
    return end != value && *end == '\0' && std::isfinite(*to);
}

bool text(std::string* to, const char* value) {
    *to = value;
    return !to->empty();
}

bool architecture(Options& options, const char* value) {
    options.config.architecture = strcmp(value, "mlp") == 0 ? Architecture::mlp : Architecture::gpt;
    return strcmp(value, "mlp") == 0 || strcmp(value, "gpt") == 0;
}

bool element_type(Options& options, const char* value) {
    for (ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::q8,
                             ElementType::q4}) {
        if (strcmp(name_of(type), value) != 0)
            continue;
        options.type = type;
        return true;
    }
    return false;
}

// Which runs a flag is for.
enum : unsigned {
    kNew = 1,   // what a run begins with: not with --resume
    kGpt = 2,   // not with --model mlp
    kMlp = 4,   // only with it
    kText = 8,  // with --returns-desk, too
    kOnce = 16  // not repeated when the run goes on
};

struct Flag {
    const char* name;
    const char* value;  // what --help calls it; nullptr: a switch
    unsigned use;
    const char* help;
    Read read;
};

#define READ(expression) [](Options& o, const char* v) { return (expression); }
const Flag kFlags[] = {
    {"-o", "MODEL.mgpt", 0, "the weight file; MODEL.mgpt.state and MODEL.mgpt.svg lie beside",
     READ(text(&o.output, v))},
    {"--resume", "MODEL.mgpt.state", kOnce, "go on where that run stopped, to the same bits",
     READ(text(&o.resume, v))},
    {"--force", nullptr, kOnce, "begin anew, though an unfinished run's MODEL.mgpt.state is there",
     [](Options& o, const char*) { return o.force = true; }},
    {"--type", "TYPE", kGpt, "of the weight file: f32 (default), f16, bf16, q8, q4", element_type},
    {"-t", "THREADS", 0, "default: all physical cores; changes no bit",
     READ(whole(&o.n_threads, v))},
    {"--isa", "NAME", 0, "the kernels: scalar, avx2, ...; changes no bit, but muladd has its own",
     READ(text(&o.isa, v))},
    {"--sample", "N", 0, "tokens of text that each evaluation shows; default 100",
     READ(whole(&o.n_sample, v))},
    {"--stop-after", "N", kOnce, "stop after iteration N as Ctrl-C does",
     READ(whole(&o.stop_after, v))},
    {"--vocab", "char|FILE.mgpt", kNew,
     "the text's own characters (default), or that file's vocabulary", READ(text(&o.vocab, v))},
    {"--layers", "N", kNew | kGpt, "default 4", READ(whole(&o.config.n_layer, v))},
    {"--heads", "N", kNew | kGpt, "default 4", READ(whole(&o.config.n_head, v))},
    {"--embd", "N", kNew, "the width; default 128", READ(whole(&o.config.n_embd, v))},
    {"--ctx", "N", kNew, "tokens of a sequence; default 128", READ(whole(&o.config.n_ctx, v))},
    {"--batch", "N", kNew, "sequences an iteration; default 16", READ(whole(&o.config.n_batch, v))},
    {"--iters", "N", kNew, "iterations; default 2000", READ(whole(&o.config.n_iters, v))},
    {"--lr", "X", kNew, "the learning rate; default 0.002", READ(real(&o.config.lr, v))},
    {"--lr-end", "X", kNew, "the last one's part of it; default 0.1",
     READ(real(&o.config.lr_end, v))},
    {"--warmup", "N", kNew, "iterations up to it, at most a tenth of all; default 100",
     READ(whole(&o.config.n_warmup, v))},
    {"--weight-decay", "X", kNew, "default 0.1", READ(real(&o.config.weight_decay, v))},
    {"--clip", "X", kNew, "the gradient's norm at most; default 1", READ(real(&o.config.clip, v))},
    {"--dropout", "X", kNew | kGpt, "default 0", READ(real(&o.config.dropout, v))},
    {"--seed", "N", kNew | kText, "of all random numbers; default 1",
     READ(whole(&o.config.seed, v))},
    {"--val", "X", kNew, "the part of the text, its end, that is held back; default 0.1",
     READ(real(&o.config.val, v))},
    {"--eval-every", "N", kNew, "iterations; default 250", READ(whole(&o.config.eval_every, v))},
    {"--eval-windows", "N", kNew, "sequences of held-back text at most; default 256",
     READ(whole(&o.config.eval_windows, v))},
    {"--model", "gpt|mlp", kNew, "mlp: a perceptron that reads a few tokens; no weight file",
     architecture},
    {"--window", "N", kNew | kMlp, "how many the perceptron reads; default 8",
     READ(whole(&o.config.window, v))},
    {"--no-mask", nullptr, kNew | kGpt, "let every position see what follows it, to show the leak",
     [](Options& o, const char*) { return !(o.config.mask = false); }},
    {"--returns-desk", "N", kNew | kText,
     "print a text to learn from instead, N customer-service replies of the seed",
     READ(whole(&o.n_replies, v))},
    {"--help", nullptr, kText, "this text", [](Options& o, const char*) { return o.help = true; }},
};
#undef READ

const Flag* find(const std::string& name) {
    for (const Flag& flag : kFlags) {
        if (name == flag.name || (name == "-h" && strcmp(flag.name, "--help") == 0))
            return &flag;
    }
    return nullptr;
}

using Given = std::vector<const Flag*>;

bool is_given(const Given& given, const char* name) {
    return std::find(given.begin(), given.end(), find(name)) != given.end();
}

// A flag that is not for the run that the others ask for; empty: there is none.
std::string misplaced(const Options& options, const Given& given) {
    const bool is_mlp = options.config.architecture == Architecture::mlp;
    const bool is_text = is_given(given, "--returns-desk");
    if (is_text && !options.text.empty())
        return "--returns-desk makes a text and takes none: " + convert::shown(options.text);
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
    const TrainConfig& c = options.config;
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

// The value of a flag as a message calls it.
std::string expected(const Flag& flag) {
    std::string value = flag.value;
    return value == "N" || value == "THREADS" ? "a whole number"
           : value == "X"                     ? "a number"
                                              : value;
}

// One word, or a flag and its value: i moves to the last of them.
std::string take(const std::vector<std::string>& args, size_t* i, Options* options, Given* given) {
    const std::string& word = args[*i];
    const Flag* flag = find(word);
    if (flag == nullptr) {
        if (word.size() > 1 && word[0] == '-')
            return "unknown option " + convert::shown(word);
        if (!options->text.empty() || word.empty())
            return "one TEXT, please: " + convert::shown(word);
        options->text = word;
    } else {
        given->push_back(flag);
        if (flag->value != nullptr && ++*i == args.size())
            return std::string("a value is missing after ") + flag->name;
        const char* value = flag->value == nullptr ? "" : args[*i].c_str();
        if (!flag->read(*options, value)) {
            std::string found = value[0] == '\0' ? "nothing" : convert::shown(value);
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
    for (const Flag& flag : kFlags) {
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
