// The table of train's flags. options.cpp has what several of them mean together.
#include "train/flags.h"

namespace minigpt::train {
namespace {

using tools::Argument;
using tools::Option;
using tools::text_into;
using tools::turn_off;
using tools::turn_on;

// Any whole number that fits; check() and options.cpp know the limits.
template <typename T>
tools::Setter whole(T* to) {
    return tools::whole_into(to, 0, static_cast<T>(-1));
}

tools::Setter real(double* to) {
    return [=](const Argument& a) { *to = a.real(); };
}

tools::Setter real(float* to) {
    return [=](const Argument& a) { *to = static_cast<float>(a.real()); };
}

std::vector<Option> run_options(Options& o) {
    return {
        {"-o", "MODEL.mgpt", 0,
         "the weight file to write; MODEL.mgpt.state and MODEL.mgpt.svg appear beside it",
         text_into(&o.output)},
        {"--resume", "MODEL.mgpt.state", kOnce, "go on where that run stopped, to the same bits",
         text_into(&o.resume)},
        {"--force", nullptr, kOnce,
         "begin anew, and overwrite an unfinished run's MODEL.mgpt.state", turn_on(&o.force)},
        {"--type", tools::kElementTypes, kGpt, "how the weight file stores matrices (f32)",
         tools::choice_into(&o.type)},
        {"-t", "THREADS", 0, "threads; the result never depends on it (all physical cores)",
         whole(&o.n_threads)},
        {"--isa", "NAME", 0,
         "kernels: scalar, avx2, ...; all give the same bits, except sse2 and vfp, which have "
         "their own",
         text_into(&o.isa)},
        {"--sample", "N", 0, "tokens of text that each evaluation shows (100)", whole(&o.n_sample)},
        {"--stop-after", "N", kOnce, "stop after iteration N, as Ctrl-C does",
         whole(&o.stop_after)},
    };
}

std::vector<Option> model_options(Options& o) {
    networks::TrainConfig& c = o.config;
    return {
        {"--model", "gpt|mlp", kNew,
         "gpt, or mlp: a perceptron that reads a few tokens, without a weight file (gpt)",
         tools::choice_into(&c.architecture)},
        {"--vocab", "char|FILE.mgpt", kNew,
         "the vocabulary: the text's own characters, or that of a weight file (char)",
         text_into(&o.vocab)},
        {"--layers", "N", kNew | kGpt, "layers (4)", whole(&c.n_layer)},
        {"--heads", "N", kNew | kGpt, "attention heads (4)", whole(&c.n_head)},
        {"--embd", "N", kNew, "the width (128)", whole(&c.n_embd)},
        {"--ctx", "N", kNew, "tokens of a sequence (128)", whole(&c.n_ctx)},
        {"--window", "N", kNew | kMlp, "tokens that the perceptron reads (8)", whole(&c.window)},
        {"--no-mask", nullptr, kNew | kGpt,
         "let every position see what follows it, to show the leak", turn_off(&c.mask)},
    };
}

std::vector<Option> learning_options(Options& o) {
    networks::TrainConfig& c = o.config;
    return {
        {"--batch", "N", kNew, "sequences in an iteration (16)", whole(&c.n_batch)},
        {"--iters", "N", kNew, "iterations (2000)", whole(&c.n_iters)},
        {"--lr", "X", kNew, "the learning rate (0.002)", real(&c.lr)},
        {"--lr-end", "X", kNew, "the last learning rate, as a part of --lr (0.1)", real(&c.lr_end)},
        {"--warmup", "N", kNew,
         "iterations until the learning rate is reached, at most a tenth of all (100)",
         whole(&c.n_warmup)},
        {"--weight-decay", "X", kNew, "weight decay (0.1)", real(&c.weight_decay)},
        {"--clip", "X", kNew, "the largest norm of the gradient (1)", real(&c.clip)},
        {"--dropout", "X", kNew | kGpt, "dropout (0)", real(&c.dropout)},
        {"--seed", "N", kNew | kText, "seed of all random numbers (1)", whole(&c.seed)},
        {"--val", "X", kNew, "the part of the text, its end, that is held back (0.1)",
         real(&c.val)},
        {"--eval-every", "N", kNew, "iterations between evaluations (250)", whole(&c.eval_every)},
        {"--eval-windows", "N", kNew, "at most N sequences of held-back text are evaluated (256)",
         whole(&c.eval_windows)},
    };
}

}  // namespace

tools::Program program(Options& o) {
    tools::Program p;
    p.usage = {"TEXT -o MODEL.mgpt [options]", "TEXT -o MODEL.mgpt --resume MODEL.mgpt.state",
               "--returns-desk N [--seed N]"};
    p.about =
        "Trains a small GPT-2 on a text file and writes a weight file for gpt2. The same text and "
        "options give the same file, bit for bit, for any number of threads and on any machine. "
        "The file holds the model as it predicted the held-back text best. Losses are nats a "
        "token. Samples go on from the text's own beginning, after a bar.";
    p.groups = {{"The run", run_options(o)},
                {"The model", model_options(o)},
                {"Learning", learning_options(o)},
                {"A text to learn from",
                 {{"--returns-desk", "N", kNew | kText,
                   "print N customer-service replies of the seed, and do not train",
                   whole(&o.n_replies)}}}};
    p.notes =
        "Exit status: 0 done, 1 the text or a file was refused, 2 the command line was wrong, 130 "
        "stopped by Ctrl-C: all is saved, and the last line says how to go on.";
    p.usage_after_error = true;
    p.take_word = [&o](const std::string& word, unsigned) {
        if (word.empty() || (word[0] == '-' && word.size() == 1) || !o.text.empty())
            tools::misuse("one TEXT, please: %s", tools::shown(word).c_str());
        o.text = word;
    };
    return p;
}

}  // namespace minigpt::train
