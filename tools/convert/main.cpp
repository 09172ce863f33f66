// convert: a checkpoint in, a weight file out. The command line.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "convert.h"
#include "list.h"
#include "progress.h"

namespace {

using minigpt::convert::Failure;
using minigpt::convert::Options;
using minigpt::convert::Report;

constexpr char kUsage[] =
    "usage: convert SRC -o OUT.mgpt [--type f32|f16|bf16|q8|q4] [--vocab PATH] [--n-head N]\n"
    "               [--activation gelu_tanh|gelu_erf] [--force]\n"
    "       convert SRC -o OUT.safetensors [--force]\n"
    "       convert --list SRC\n";

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
    "  --force       accept NaN and infinite weights; replace another config.json or vocabulary\n"
    "                beside OUT.safetensors\n"
    "\n"
    "Exit status: 0 done, 1 SRC was refused, 2 the command line was wrong.\n";

int wrong_usage(const char* what, const char* argument) {
    fprintf(stderr, "convert: %s%s\n%s", what, argument, kUsage);
    return 2;
}

// -1: go on; else the exit status.
int parse(int argc, char** argv, Options* options) {
    for (int i = 1; i < argc; i++) {
        const char* arg = argv[i];
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            printf("%s%s", kUsage, kHelp);
            return 0;
        }
        if (strcmp(arg, "--force") == 0) {
            options->force = true;
            continue;
        }
        if (strcmp(arg, "--list") == 0) {
            options->list = true;
            continue;
        }
        if (arg[0] != '-' || arg[1] == '\0') {
            if (!options->source.empty())
                return wrong_usage("a second SRC: ", arg);
            options->source = arg;
            continue;
        }
        bool is_output = strcmp(arg, "-o") == 0, is_type = strcmp(arg, "--type") == 0;
        bool is_heads = strcmp(arg, "--n-head") == 0, is_gelu = strcmp(arg, "--activation") == 0;
        if (!is_output && !is_type && !is_heads && !is_gelu && strcmp(arg, "--vocab") != 0) {
            return wrong_usage("unknown option ", arg);
        }
        if (++i == argc || argv[i][0] == '\0')
            return wrong_usage("a value is missing after ", arg);
        if (is_type) {
            options->type = minigpt::convert::type_of_name(argv[i]);
            if (!options->type)
                return wrong_usage("unknown --type ", argv[i]);
        } else if (is_heads) {
            size_t n_digits = strspn(argv[i], "0123456789");
            if (n_digits > 9 || argv[i][n_digits] != '\0' || argv[i][0] == '0')
                return wrong_usage("no number of heads: ", argv[i]);
            options->n_head = strtoul(argv[i], nullptr, 10);
        } else if (is_gelu) {
            options->activation = minigpt::convert::given_activation(argv[i]);
            if (!options->activation)
                return wrong_usage("unknown --activation ", argv[i]);
        } else {
            (is_output ? options->output : options->vocab) = argv[i];
        }
    }
    if (options->source.empty())
        return wrong_usage("SRC is missing", "");
    if (options->list && !options->output.empty())
        return wrong_usage("--list writes nothing: -o ", options->output.c_str());
    if (options->output.empty() && !options->list)
        return wrong_usage("-o OUT.mgpt is missing", "");
    return -1;
}

int run(const Options& options) {
    Report report;
    Failure failure;
    std::string listing;
    if (options.list) {
        failure = minigpt::convert::list(options, &listing);
    } else {
        minigpt::convert::ProgressLine line;
        auto show = [&](uint64_t done, uint64_t total) { line.show(done, total); };
        failure = minigpt::convert::convert(options, show, &report);
    }
    if (!failure.status.ok()) {
        for (char& c : failure.path) {
            if (static_cast<unsigned char>(c) < 0x20)
                c = '?';  // the error stays on its line
        }
        fprintf(stderr, "convert: %s: %s\n", failure.path.c_str(), failure.status.message());
        return 1;
    }
    if (!options.list)
        listing = minigpt::convert::text_of(report, options);
    fputs(listing.c_str(), stdout);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    try {
        int status = parse(argc, argv, &options);
        return status >= 0 ? status : run(options);
    } catch (const std::bad_alloc&) {
        fprintf(stderr, "convert: %s: out of memory\n", options.source.c_str());
        return 1;
    }
}
