#include "options.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "../convert/file.h"

namespace minigpt::train {
namespace {

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

struct Flag {
    const char* name;
    const char* value;  // what --help calls it; nullptr: a switch
    bool of_run;        // fixed for a whole run: not to be given with --resume
    const char* help;
    Read read;
};

#define READ(expression) [](Options& o, const char* v) { return (expression); }
const Flag kFlags[] = {
    {"-o", "MODEL.mgpt", false, "the weight file; MODEL.mgpt.state and MODEL.mgpt.svg lie beside",
     READ(text(&o.output, v))},
    {"--resume", "MODEL.mgpt.state", false, "go on where that run stopped, to the same bits",
     READ(text(&o.resume, v))},
    {"--type", "TYPE", false, "of the weight file: f32 (default), f16, bf16, q8, q4", element_type},
    {"-t", "THREADS", false, "default: all physical cores; changes no bit",
     READ(whole(&o.n_threads, v))},
    {"--isa", "NAME", false, "the kernels: scalar, avx2, ...; changes no bit",
     READ(text(&o.isa, v))},
    {"--sample", "N", false, "tokens of text that each evaluation shows; default 100",
     READ(whole(&o.n_sample, v))},
    {"--stop-after", "N", false, "stop after N iterations as Ctrl-C does",
     READ(whole(&o.stop_after, v))},
    {"--vocab", "char|FILE.mgpt", true,
     "the text's own characters (default), or that file's vocabulary", READ(text(&o.vocab, v))},
    {"--layers", "N", true, "default 4", READ(whole(&o.config.n_layer, v))},
    {"--heads", "N", true, "default 4", READ(whole(&o.config.n_head, v))},
    {"--embd", "N", true, "the width; default 128", READ(whole(&o.config.n_embd, v))},
    {"--ctx", "N", true, "tokens of a sequence; default 128", READ(whole(&o.config.n_ctx, v))},
    {"--batch", "N", true, "sequences an iteration; default 16", READ(whole(&o.config.n_batch, v))},
    {"--iters", "N", true, "default 2000", READ(whole(&o.config.n_iters, v))},
    {"--lr", "X", true, "the learning rate; default 0.002", READ(real(&o.config.lr, v))},
    {"--lr-end", "X", true, "the last one's part of it; default 0.1",
     READ(real(&o.config.lr_end, v))},
    {"--warmup", "N", true, "iterations up to it; default 100", READ(whole(&o.config.n_warmup, v))},
    {"--weight-decay", "X", true, "default 0.1", READ(real(&o.config.weight_decay, v))},
    {"--clip", "X", true, "the gradient's norm at most; default 1", READ(real(&o.config.clip, v))},
    {"--dropout", "X", true, "default 0", READ(real(&o.config.dropout, v))},
    {"--seed", "N", true, "default 1", READ(whole(&o.config.seed, v))},
    {"--val", "X", true, "the part of the text, its end, that is held back; default 0.1",
     READ(real(&o.config.val, v))},
    {"--eval-every", "N", true, "iterations; default 250", READ(whole(&o.config.eval_every, v))},
    {"--eval-windows", "N", true, "sequences of held-back text at most; default 256",
     READ(whole(&o.config.eval_windows, v))},
    {"--model", "gpt|mlp", true, "mlp: a perceptron that reads a few tokens; no weight file",
     architecture},
    {"--window", "N", true, "how many it reads; default 8", READ(whole(&o.config.window, v))},
    {"--no-mask", nullptr, true, "let every position see what follows it, to show the leak",
     [](Options& o, const char*) { return !(o.config.mask = false); }},
    {"--returns-desk", "N", true,
     "print a text to learn from instead, N customer-service replies of the seed",
     READ(whole(&o.n_replies, v))},
    {"--help", nullptr, false, "this text", [](Options& o, const char*) { return o.help = true; }},
};
#undef READ

const Flag* find(const std::string& name) {
    for (const Flag& flag : kFlags) {
        if (name == flag.name || (name == "-h" && strcmp(flag.name, "--help") == 0))
            return &flag;
    }
    return nullptr;
}

// What no single flag can see.
std::string misuse(const Options& options, const std::string& of_run) {
    if (options.help || options.n_replies > 0)
        return "";
    if (options.text.empty())
        return "TEXT is missing";
    if (options.output.empty())
        return "-o MODEL.mgpt is missing";
    if (!options.resume.empty() && !of_run.empty())
        return of_run + " is what the run began with: not with --resume";
    Status status = check(options.config);
    return status.ok() ? "" : std::string("--") + status.message();
}

}  // namespace

Options parse(const std::vector<std::string>& args, std::string* error) {
    Options options;
    std::string of_run;
    error->clear();
    for (size_t i = 0; i < args.size() && error->empty(); ++i) {
        const Flag* flag = find(args[i]);
        if (flag == nullptr) {
            if (args[i].size() > 1 && args[i][0] == '-') {
                *error = "unknown option " + convert::shown(args[i]);
            } else if (!options.text.empty() || args[i].empty()) {
                *error = "one TEXT, please: " + convert::shown(args[i]);
            }
            options.text = args[i];
            continue;
        }
        if (flag->of_run)
            of_run = flag->name;
        const char* value = "";
        if (flag->value != nullptr) {
            if (++i == args.size()) {
                *error = std::string("a value is missing after ") + flag->name;
                break;
            }
            value = args[i].c_str();
        }
        if (!flag->read(options, value)) {
            *error = std::string(flag->name) + ": found " + convert::shown(value) + ", expected " +
                     flag->value;
        }
    }
    if (error->empty())
        *error = misuse(options, of_run);
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
        "130 stopped by Ctrl-C.\n";
    return help;
}

}  // namespace minigpt::train
