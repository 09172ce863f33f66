// convert: a checkpoint in, a weight file out. The command line.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <string>

#include "common/error.h"
#include "common/file.h"
#include "common/progress.h"
#include "common/signals.h"
#include "convert/convert.h"
#include "convert/write/emit.h"

namespace {

using minigpt::convert::Failure;
using minigpt::convert::Options;
using minigpt::convert::Report;

std::string g_program = "convert";  // as it is installed: minigpt-convert

std::string usage() {
    return "usage: " + g_program +
           " SRC -o OUT.mgpt [--type f32|f16|bf16|q8|q4] [--vocab PATH] [--n-head N]\n"
           "               [--activation gelu_tanh|gelu_erf] [--force]\n"
           "       " +
           g_program +
           " SRC -o OUT.safetensors [--force]\n"
           "       " +
           g_program +
           " --list SRC\n"
           "       " +
           g_program + " --emit c|obj MODEL.mgpt -o OUT [--target CPU] [--symbol NAME]\n";
}

constexpr char kHelp[] =
    "\n"
    "Reads a GPT-2 checkpoint and writes it as one weight file for gpt2.\n"
    "\n"
    "  SRC           a folder as Hugging Face saves it, or its model.safetensors or\n"
    "                model.safetensors.index.json; config.json and the vocabulary lie beside;\n"
    "                PyTorch's pytorch_model.bin, .pt or .pth, as nanoGPT and others save it;\n"
    "                OpenAI's TensorFlow checkpoint (the folder, its .index or model.ckpt), with\n"
    "                hparams.json beside; llm.c's, GGUF and older ggml files; NumPy's .npz; a\n"
    "                weight file. The content tells which, not the name\n"
    "  -o OUT.mgpt   the file to write; one that is there is replaced when the new is complete\n"
    "  -o OUT.safetensors\n"
    "                the way back: with config.json and the vocabulary beside it, as Hugging Face\n"
    "                saves them, in SRC's type; for a weight file a folder will do, too\n"
    "  --list        show SRC's kind, configuration and tensors; write nothing\n"
    "  --type TYPE   how matrices are stored; default: as in SRC, or f32 if they differ there\n"
    "  --vocab PATH  vocab.json, merges.txt, tokenizer.json, meta.pkl, gpt2_tokenizer.bin or\n"
    "                their folder; default: beside SRC\n"
    "  --n-head N    attention heads, where SRC does not say them\n"
    "  --activation  gelu_tanh or gelu_erf, where SRC does not say it\n"
    "  --emit c|obj  a weight file as something to link in: the array NAME, 64-byte aligned, and\n"
    "                the size_t NAME_bytes, in C, or as an object file for CPU\n"
    "  --target CPU  x86_64, i386, aarch64, arm or riscv64; default: this one\n"
    "  --symbol NAME default: minigpt_model\n"
    "  --force       accept NaN and infinite weights; replace another config.json or vocabulary\n"
    "                beside OUT.safetensors\n"
    "\n"
    "Exit status: 0 done, 1 SRC was refused, 2 the command line was wrong.\n";

void say(const std::string& path, const std::string& what) {
    minigpt::tools::print_line(path + ": " + what, g_program.c_str());
}

// To stdout; the exit status. Whoever closed the pipe wants to hear no more.
int print(const std::string& text) {
    if (fputs(text.c_str(), stdout) >= 0 && fflush(stdout) == 0)
        return 0;
    if (errno != EPIPE)
        say("standard output", strerror(errno));
    return 1;
}

int wrong_usage(const char* what, const char* argument) {
    minigpt::tools::print_line(std::string(what) + argument, g_program.c_str());
    fputs(usage().c_str(), stderr);
    return 2;
}

constexpr const char* kWithValue[] = {"-o",           "--type", "--vocab",  "--n-head",
                                      "--activation", "--emit", "--target", "--symbol"};

// -1: go on; else the exit status.
int set_value(const std::string& option, const char* value, Options* options) {
    if (option == "-o") {
        options->output = value;
    } else if (option == "--type") {
        options->type = minigpt::convert::type_of_name(value);
        if (!options->type)
            return wrong_usage("unknown --type ", value);
    } else if (option == "--n-head") {
        size_t n_digits = strspn(value, "0123456789");
        if (n_digits > 9 || value[n_digits] != '\0' || value[0] == '0')
            return wrong_usage("no number of heads: ", value);
        options->n_head = strtoul(value, nullptr, 10);
    } else if (option == "--activation") {
        options->activation = minigpt::convert::given_activation(value);
        if (!options->activation)
            return wrong_usage("unknown --activation ", value);
    } else if (option == "--emit") {
        options->emit = value;
        if (!minigpt::convert::is_emit_kind(value))
            return wrong_usage("unknown --emit ", value);
    } else if (option == "--target") {
        options->target = value;
        if (!minigpt::convert::is_emit_target(value))
            return wrong_usage("unknown --target ", value);
    } else if (option == "--symbol") {
        options->symbol = value;
        if (!minigpt::convert::is_symbol(value))
            return wrong_usage("no name that C and C++ leave free: ", value);
    } else {
        options->vocab = value;
    }
    return -1;
}

// An option that would mean nothing beside the others; nullptr: there is none.
const char* ignored(const Options& o) {
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
            return option.what;
    }
    return nullptr;
}

// What the options are worth together; the same.
int complete(Options* options) {
    if (options->source.empty())
        return wrong_usage("SRC is missing", "");
    if (const char* what = ignored(*options))
        return wrong_usage(what, "");
    if (options->output.empty() && !options->list)
        return wrong_usage("-o OUT.mgpt is missing", "");
    if (options->emit == "obj" && options->target.empty())
        options->target = minigpt::convert::own_target();
    if (options->emit == "obj" && options->target.empty())
        return wrong_usage("--target is missing", "");
    if (options->symbol.empty())
        options->symbol = "minigpt_model";
    return -1;
}

int parse(int argc, char** argv, Options* options) {
    for (int i = 1; i < argc; i++) {
        const std::string arg = argv[i];
        bool has_value =
            std::find(std::begin(kWithValue), std::end(kWithValue), arg) != std::end(kWithValue);
        if (arg == "--help" || arg == "-h") {
            return print(usage() + kHelp);
        }
        if (arg == "--force") {
            options->force = true;
        } else if (arg == "--list") {
            options->list = true;
        } else if (has_value) {
            if (++i == argc || argv[i][0] == '\0')
                return wrong_usage("a value is missing after ", arg.c_str());
            int exit_status = set_value(arg, argv[i], options);
            if (exit_status >= 0)
                return exit_status;
        } else if (arg[0] == '-' && arg != "-") {
            return wrong_usage("unknown option ", arg.c_str());
        } else if (!options->source.empty()) {
            return wrong_usage("a second SRC (OUT follows -o): ", arg.c_str());
        } else {
            options->source = arg;
        }
    }
    return complete(options);
}

int run(const Options& options) {
    Report report;
    Failure failure;
    std::string listing;
    if (options.list) {
        failure = minigpt::convert::list(options, &listing);
    } else if (!options.emit.empty()) {
        failure = minigpt::convert::emit(options, &listing);
    } else {
        minigpt::tools::ProgressLine line;
        auto show = [&](uint64_t done, uint64_t total) { line.show(done, total); };
        failure = minigpt::convert::convert(options, show, &report);
    }
    if (!failure.status.ok()) {
        say(failure.path, failure.status.message());
        return 1;
    }
    if (listing.empty())
        listing = minigpt::convert::text_of(report, options);
    if (!report.advice.empty())
        say(options.source, report.advice);
    return print(listing);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 0 && argv[0][0] != '\0')
        g_program = minigpt::tools::name_of_path(argv[0]);
    minigpt::tools::take_signals(g_program);
    Options options;
    try {
        int status = parse(argc, argv, &options);
        return status >= 0 ? status : run(options);
    } catch (const std::bad_alloc&) {
        say(options.source, "out of memory");
        return 1;
    }
}
