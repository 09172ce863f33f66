// The table of gpt2: subcommands and flags. options.cpp has what several of them mean together.
#include <cstdint>

#include "common/program.h"
#include "common/text.h"
#include "gpt2/options.h"
#include "minigpt/version.h"

namespace minigpt::gpt2 {
namespace {

constexpr unsigned kReadsIds = kGenerate | kLogits | kScore | kCompare;
constexpr unsigned kReadsText = kReadsIds | kTokenize;
constexpr unsigned kRuns = kReadsIds | kBench;
constexpr unsigned kPredicts = kScore | kCompare;
constexpr uint64_t kMostSequences = 1024;
constexpr uint64_t kMostRepeats = 1000;
constexpr uint64_t kMostTokens = UINT32_MAX;

using A = Argument;

std::vector<Subcommand> subcommands() {
    return {
        {kGenerate, "generate", "[-m MODEL] [-p TEXT | -f FILE | --ids 1,2,3] [FLAGS]",
         "continue a prompt; gpt2 without a subcommand does this"},
        {kTokenize, "tokenize", "[-m MODEL] [-p TEXT | -f FILE] [--special]",
         "text to token ids, with spaces between and a newline at the end"},
        {kDetokenize, "detokenize", "[-m MODEL] [--ids 1,2,3]",
         "token ids to the bytes they stand for, nothing added"},
        {kLogits, "logits", "[-m MODEL] [-p TEXT | -f FILE | --ids 1,2,3] [--all] [FLAGS]",
         "the logits after the last token, as JSON: {\"ids\":[...],\"logits\":[...]}"},
        {kScore, "score", "[-m MODEL] [-p TEXT | -f FILE | --ids 1,2,3] [FLAGS]",
         "how well the model predicts a text: mean loss (nats), perplexity, bits per byte"},
        {kInspect, "inspect", "[-m MODEL] [--json] [FLAGS]",
         "configuration, parameters, tensors and memory of a model"},
        {kBench, "bench",
         "[-m MODEL] [-p 512] [-n 128] [-b 1,8] [--depth 10,500] [-r REPEATS] [FLAGS]",
         "how fast a model runs, and what part that is of what the machine can do"},
        {kCompare, "compare", "A.mgpt B.mgpt [-p TEXT | -f FILE | --ids 1,2,3] [FLAGS]",
         "how far B's predictions are from A's on a text: KL divergence, agreement, perplexity"},
        {kVerify, "verify", "-m MODEL [FLAGS]",
         "whether this machine computes the model's self-test to the bit: equal, or different: "
         "..."},
    };
}

std::vector<Option> prompt_options(Options& o) {
    return {
        {"-m", "MODEL", kAnyCommand & ~kCompare,
         "weight file (.mgpt); default: the small model inside gpt2", text_into(&o.model)},
        {"-p", "TEXT", kReadsText, "the prompt", [&o](const A& a) { o.text = a.text(); }},
        {"-f", "FILE", kReadsText,
         "read the prompt from this file, every byte of it; - is standard input, which is also "
         "read "
         "without -p, -f and --ids",
         text_into(&o.file)},
        {"--ids", "IDS", kReadsIds, "the prompt as token ids, with commas or spaces between",
         [&o](const A& a) { o.ids = a.ids(); }},
        {"--ids", "IDS", kDetokenize,
         "token ids, with commas or spaces between; default: from standard input",
         [&o](const A& a) { o.ids = a.ids(); }},
        {"--special", nullptr, kReadsText,
         "read <|endoftext|> in the text as the token, not as plain text", turn_on(&o.special)},
    };
}

std::vector<Option> sampling_options(Options& o) {
    return {
        {"-n", "N", kGenerate, "write at most N tokens (200)",
         whole_into(&o.n_new, 0, kMostTokens)},
        {"--temp", "T", kGenerate, "temperature; 0 always takes the likeliest token (1)",
         real_into(&o.sampler.temperature, 0, 1e6)},
        {"--top-k", "K", kGenerate, "sample from the K likeliest tokens; 0 is off (0)",
         whole_into(&o.sampler.top_k, 0, kMostTokens)},
        {"--top-p", "P", kGenerate,
         "sample from the smallest set of tokens whose probabilities sum to P; 1 is off (1)",
         real_into(&o.sampler.top_p, 0, 1)},
        {"--min-p", "P", kGenerate,
         "drop tokens less likely than P times the likeliest; 0 is off (0)",
         real_into(&o.sampler.min_p, 0, 1)},
        {"--repeat-penalty", "R", kGenerate,
         "above 1: make tokens that are already in the text less likely (1)",
         real_into(&o.sampler.repeat_penalty, 0, 1e6, true)},
        {"-s", "SEED", kGenerate,
         "seed of the random numbers; default: the system chooses one, printed on stderr",
         [&o](const A& a) { o.seed = a.whole(0, UINT64_MAX); }},
        {"--stop", "TEXT", kGenerate, "end before this text; may be given several times",
         [&o](const A& a) { o.stops.push_back(a.nonempty_text()); }, true},
        {"--overflow", "stop|slide", kGenerate,
         "when the context is full: stop, or go on from its last half (stop)",
         choice_into(&o.overflow)},
        {"--ignore-eos", nullptr, kGenerate, "do not end at <|endoftext|>", turn_on(&o.ignore_eos)},
    };
}

std::vector<Option> output_options(Options& o) {
    return {
        {"--echo", nullptr, kGenerate, "print the prompt first", turn_on(&o.echo)},
        {"--print-ids", nullptr, kGenerate, "print the new token ids instead of text",
         turn_on(&o.print_ids)},
        {"--json", nullptr, kGenerate,
         "print a JSON object: prompt_ids, ids, text, seed, finish (length, eos, stop, context); "
         "bytes that are not UTF-8 become U+FFFD in text, ids are exact",
         turn_on(&o.json)},
        {"--json", nullptr, kPredicts | kInspect | kBench, "print JSON", turn_on(&o.json)},
        {"--all", nullptr, kLogits, "print the logits of every position, an array for each",
         turn_on(&o.all_positions)},
        {"--per-token", nullptr, kScore, "print each predicted token and its log probability, too",
         turn_on(&o.per_token)},
    };
}

std::vector<Option> measure_options(Options& o) {
    return {
        {"--bos", nullptr, kPredicts,
         "put <|endoftext|> in front, so that the first token is predicted, too", turn_on(&o.bos)},
        {"--stride", "N", kPredicts,
         "read a text longer than n_ctx in windows of n_ctx tokens that begin N apart; each token "
         "is scored once, in the first window that contains it (n_ctx)",
         [&o](const A& a) { o.stride = static_cast<size_t>(a.whole(1, kMostTokens)); }},
        {"-p", "N", kBench, "tokens of a prefill (512)", whole_into(&o.n_prefill, 1, kMostTokens)},
        {"-n", "N", kBench, "tokens of a decode (128)", whole_into(&o.n_decode, 1, kMostTokens)},
        {"-b, --batch", "LIST", kBench,
         "decode this many sequences together; each number is a measurement",
         [&o](const A& a) { o.batch = a.sizes(1, kMostSequences); }},
        {"--depth", "LIST", kBench, "decode after this many tokens; each number is a measurement",
         [&o](const A& a) { o.depth = a.sizes(0, kMostTokens); }},
        {"-r", "REPEATS", kBench, "measure everything this many times, in turns (5)",
         whole_into(&o.repeats, 1, kMostRepeats)},
    };
}

std::vector<Option> machine_options(Options& o) {
    return {
        {"-t", "THREADS", kAnyCommand,
         "threads; the result never depends on it (all physical cores)",
         whole_into(&o.n_threads, 1, Compute::kMaxThreads)},
        {"--isa", "NAME", kRuns | kInspect | kVerify,
         "kernels; gpt2 --version lists them (the best). sse2 and vfp, for CPUs without fused "
         "multiply-add, have bits of their own; all others have the same bits",
         text_into(&o.isa)},
        {"--no-cache", nullptr, kReadsIds & ~kCompare,
         "compute everything again for each token (same bits, slow)", turn_off(&o.use_cache)},
        {"--chunk", "N", kRuns | kInspect, "rows computed together in prefill (256)",
         whole_into(&o.chunk, 1, kMostTokens)},
        {"--kv", "f32|f16|q8", kRuns | kInspect, "element type of the KV cache (f32)",
         choice_into(&o.kv)},
        {"--load", nullptr, kRuns,
         "read the model into memory, in huge pages: faster over a long run", turn_on(&o.load)},
        {"--no-check", nullptr, kAnyCommand & ~kVerify,
         "do not compare the model with its checksums", turn_off(&o.check_weights)},
    };
}

std::string version_text() {
    std::string out = format("%s %s (libminigpt); kernels:", program_name().c_str(), kVersion);
    bool present = false;
    for (size_t i = 0; const char* name = isa_name(i, &present); i++) {
        Compute compute;
        bool own_bits = compute.create(1, name).ok() && !compute.bit_exact();
        out += format(" %s%s", name,
                      !present   ? " (not on this CPU)"
                      : own_bits ? " (bits of its own)"
                                 : "");
    }
    return out + '\n';
}

}  // namespace

Program program(Options& o) {
    Program p;
    p.usage = {"[SUBCOMMAND] [FLAGS]"};
    p.about = "Runs GPT-2 models.";
    p.subcommands = subcommands();
    p.has_default = true;
    p.groups = {{"Model and prompt", prompt_options(o)},
                {"Sampling and length", sampling_options(o)},
                {"Measuring", measure_options(o)},
                {"Output", output_options(o)},
                {"Machine", machine_options(o)}};
    p.notes =
        "Results go to stdout, all else to stderr. An empty prompt begins with <|endoftext|>. The "
        "same model, prompt, flags and seed give the same text on every machine, except on CPUs "
        "whose kernels have bits of their own, as --version says.\n\n"
        "Exit status: 0 done, 1 the input or model was refused, 2 the command line was wrong.";
    p.version = version_text;
    p.take_word = [&o](const std::string& word, unsigned command) { take_word(word, command, &o); };
    return p;
}

const char* name_of(Command command) {
    static const std::vector<Subcommand> all = subcommands();
    size_t i = 0;
    while (all[i].bit != command)
        i++;
    return all[i].name;
}

}  // namespace minigpt::gpt2
