#include "train/flags.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace minigpt::train {
namespace {

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
    options.config.architecture =
        strcmp(value, "mlp") == 0 ? networks::Architecture::mlp : networks::Architecture::gpt;
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

}  // namespace

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
    {"--isa", "NAME", 0, "the kernels: scalar, avx2, ...; sse2, vfp change bits",
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
const size_t kNumFlags = std::size(kFlags);

const Flag* find_flag(const std::string& name) {
    for (const Flag& flag : kFlags) {
        if (name == flag.name || (name == "-h" && strcmp(flag.name, "--help") == 0))
            return &flag;
    }
    return nullptr;
}

std::string expected(const Flag& flag) {
    const std::string value = flag.value;
    if (value == "N" || value == "THREADS")
        return "a whole number";
    if (value == "X")
        return "a number";
    return value == "TYPE" ? "f32, f16, bf16, q8 or q4" : value;
}

}  // namespace minigpt::train
