// convert: a checkpoint in, a weight file out. The command line.
#include <string>

#include "common/error.h"
#include "common/options.h"
#include "common/output.h"
#include "common/program.h"
#include "common/progress.h"
#include "common/text.h"
#include "convert/convert.h"
#include "convert/write/emit.h"

namespace minigpt::convert {
namespace {

// Each option of `o` is checked when it is read.
std::vector<Option> options_of(Options& o) {
    return {
        {"-o", "OUT", 0,
         "the file to write; an existing one is replaced when the new one is complete. OUT.mgpt is "
         "a weight file. OUT.safetensors is the way back: it is written with config.json and the "
         "vocabulary beside it, as Hugging Face saves them, in SRC's type; for a weight file a "
         "folder will do, too: an existing one, or a name without an ending",
         text_into(&o.output)},
        {"--list", nullptr, 0, "show SRC's format, configuration and tensors; write nothing",
         turn_on(&o.list)},
        {"--type", kElementTypes, 0,
         "how matrices are stored (as in SRC, or f32 if they differ there)", choice_into(&o.type)},
        {"--vocab", "PATH", 0,
         "vocab.json, merges.txt, tokenizer.json, meta.pkl, gpt2_tokenizer.bin, or their folder "
         "(beside SRC)",
         text_into(&o.vocab)},
        {"--n-head", "N", 0, "attention heads, where SRC does not say how many",
         [&o](const Argument& a) { o.n_head = a.whole(1, 999999999); }},
        {"--activation", "gelu_tanh|gelu_erf", 0, "where SRC does not say which",
         [&o](const Argument& a) {
             o.activation = given_activation(a.text());
             if (!o.activation)
                 a.unexpected("gelu_tanh or gelu_erf");
         }},
        {"--force", nullptr, 0,
         "accept NaN and infinite weights; replace another config.json or vocabulary beside "
         "OUT.safetensors",
         turn_on(&o.force)},
    };
}

std::vector<Option> emit_options(Options& o) {
    return {
        {"--emit", "c|obj", 0,
         "write a weight file as something to link in: the array NAME, 64-byte aligned, and the "
         "size_t NAME_bytes, in C, or as an object file",
         [&o](const Argument& a) {
             (void)a.choice();
             o.emit = a.text();
         }},
        {"--target", "CPU", 0, "x86_64, i386, aarch64, arm or riscv64 (this machine's)",
         [&o](const Argument& a) {
             if (!is_emit_target(a.text()))
                 a.unexpected("x86_64, i386, aarch64, arm or riscv64");
             o.target = a.text();
         }},
        {"--symbol", "NAME", 0, "the array's name (minigpt_model)",
         [&o](const Argument& a) {
             if (!is_symbol(a.text()))
                 misuse("no name that C and C++ leave free: %s", a.text().c_str());
             o.symbol = a.text();
         }},
    };
}

// Refuses an option that would mean nothing beside the others, and what is missing.
void check_together(const Options& o) {
    if (o.source.empty())
        misuse("SRC is missing");
    const bool emits = !o.emit.empty();
    const struct {
        bool is_given, means_something;
        const char* what;
    } all[] = {
        {!o.output.empty(), !o.list, "--list writes nothing: not with -o"},
        {o.type.has_value(), !o.list, "--list writes nothing: not with --type"},
        {o.force, !o.list, "--list writes nothing: not with --force"},
        {emits, !o.list, "--list writes nothing: not with --emit"},
        {o.type.has_value(), !emits, "--emit takes a weight file as it is: not with --type"},
        {!o.vocab.empty(), !emits, "--emit takes a weight file as it is: not with --vocab"},
        {o.n_head.has_value(), !emits, "--emit takes a weight file as it is: not with --n-head"},
        {o.activation.has_value(), !emits,
         "--emit takes a weight file as it is: not with --activation"},
        {o.force, !emits, "--emit takes a weight file as it is: not with --force"},
        {!o.symbol.empty(), emits, "--symbol is the name that --emit gives: only with it"},
        {!o.target.empty(), o.emit == "obj", "--target is for --emit obj: only with it"}};
    for (const auto& option : all) {
        if (option.is_given && !option.means_something)
            misuse("%s", option.what);
    }
    if (o.output.empty() && !o.list)
        misuse("-o OUT.mgpt is missing");
    if (std::string what = o.list ? "" : wrong_output(o); !what.empty())
        misuse("%s", what.c_str());
    if (o.emit == "obj" && o.target.empty() && own_target().empty())
        misuse("--target is missing");
}

Program program(Options& o) {
    Program p;
    p.usage = {"SRC -o OUT.mgpt [FLAGS]", "SRC -o OUT.safetensors [--force]", "--list SRC",
               "--emit c|obj MODEL.mgpt -o OUT [--target CPU] [--symbol NAME]"};
    p.about = "Reads a GPT-2 checkpoint and writes it as one weight file for gpt2.";
    p.words_title = "SRC, whose format is detected from the content, not from the name";
    p.words = {
        {"Hugging Face",
         "a folder, or its model.safetensors or model.safetensors.index.json; config.json and the "
         "vocabulary lie beside it"},
        {"PyTorch", "pytorch_model.bin, .pt or .pth, as nanoGPT and others save it"},
        {"TensorFlow",
         "OpenAI's checkpoint: the folder, its .index or model.ckpt, with hparams.json beside it"},
        {"others",
         "llm.c's files, GGUF and older ggml files, NumPy's .npz, a weight file (.mgpt)"}};
    p.groups = {{"Flags", options_of(o)}, {"A model to link in", emit_options(o)}};
    p.notes = "Exit status: 0 done, 1 SRC was refused, 2 the command line was wrong.";
    p.usage_after_error = true;
    p.take_word = [&o](const std::string& word, unsigned) {
        if (!o.source.empty())
            misuse("a second SRC (OUT follows -o): %s", word.c_str());
        if (word.empty())
            misuse("SRC is empty");
        o.source = word;
    };
    p.check = [&o](const CommandLine&) { check_together(o); };
    return p;
}

int run(const std::vector<std::string>& args) {
    Options options;
    const Program table = program(options);
    const CommandLine line = parse(table, args);
    if (line.answer) {
        print(*line.answer);
        return kDone;
    }
    if (options.emit == "obj" && options.target.empty())
        options.target = own_target();
    if (options.symbol.empty())
        options.symbol = "minigpt_model";
    Report report;
    Failure failure;
    std::string listing;
    if (options.list) {
        failure = list(options, &listing);
    } else if (!options.emit.empty()) {
        failure = emit(options, &listing);
    } else {
        ProgressLine progress;
        auto show = [&](uint64_t done, uint64_t total) { progress.show(done, total); };
        failure = convert(options, show, &report);
    }
    if (!failure.status.ok())
        throw Error{kRefused, failure.path + ": " + failure.status.message()};
    if (listing.empty())
        listing = text_of(report, options);
    if (!report.advice.empty())
        print_line(options.source + ": " + report.advice);
    print(listing);
    return kDone;
}

}  // namespace
}  // namespace minigpt::convert

int main(int argc, char** argv) {
    return minigpt::tools::run_main(argc, argv, "convert", minigpt::convert::run);
}
