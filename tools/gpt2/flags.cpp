// The tables: subcommands and flags.
#include "gpt2/options.h"

#include <cstdint>

namespace minigpt::gpt2 {
namespace {

constexpr unsigned kReadsIds = kGenerate | kLogits | kScore | kCompare;
constexpr unsigned kReadsText = kReadsIds | kTokenize;
constexpr unsigned kRuns = kReadsIds | kBench;
constexpr unsigned kPredicts = kScore | kCompare;
constexpr uint64_t kMostSequences = 1024;
constexpr uint64_t kMostRepeats = 1000;
constexpr uint64_t kMostTokens = UINT32_MAX;

using O = Options;
using A = Argument;

}  // namespace

const CommandInfo kCommands[] = {
    {kGenerate, "generate", "[-m MODEL] [-p TEXT | -f FILE | --ids 1,2,3] [FLAGS]",
     "continue a prompt (what gpt2 does when no subcommand is named)"},
    {kTokenize, "tokenize", "[-m MODEL] [-p TEXT | -f FILE] [--special]",
     "text to token ids: spaces between, a newline at the end"},
    {kDetokenize, "detokenize", "[-m MODEL] [--ids 1,2,3]",
     "token ids to the bytes they stand for, nothing added"},
    {kLogits, "logits", "[-m MODEL] [-p TEXT | -f FILE | --ids 1,2,3] [--all] [FLAGS]",
     "the logits after the last token as JSON: {\"ids\":[...],\"logits\":[...]}"},
    {kScore, "score", "[-m MODEL] [-p TEXT | -f FILE | --ids 1,2,3] [FLAGS]",
     "how well the model predicts a text: mean loss (nats), perplexity, bits per byte"},
    {kInspect, "inspect", "[-m MODEL] [--json] [FLAGS]",
     "configuration, parameters, tensors and memory of a model"},
    {kBench, "bench", "[-m MODEL] [-p 512] [-n 128] [-b 1,8] [--depth 10,500] [-r REPEATS] [FLAGS]",
     "how fast a model runs, and what part that is of what the machine can do"},
    {kCompare, "compare", "A.mgpt B.mgpt [-p TEXT | -f FILE | --ids 1,2,3] [FLAGS]",
     "how far B's predictions are from A's on a text: KL divergence, agreement, perplexity"},
    {kVerify, "verify", "-m MODEL [FLAGS]",
     "whether this machine computes the model's self-test to the bit: equal, or different: ..."},
};
const size_t kNumCommands = sizeof kCommands / sizeof kCommands[0];

const Flag kFlags[] = {
    {"-m", "MODEL", kAnyCommand & ~kCompare,
     "weight file (.mgpt); without it the small model inside gpt2",
     [](O& o, const A& a) { o.model = a.nonempty_text(); }},

    {"-p", "TEXT", kReadsText, "this text", [](O& o, const A& a) { o.text = a.text(); }},
    {"-f", "FILE", kReadsText,
     "the text of this file, byte for byte (a last newline too); - is\nstandard input, as is no "
     "-p, -f or --ids",
     [](O& o, const A& a) { o.file = a.nonempty_text(); }},
    {"--ids", "IDS", kReadsIds, "these token ids, commas or spaces between",
     [](O& o, const A& a) { o.ids = a.ids(); }},
    {"--ids", "IDS", kDetokenize, "commas or spaces between; without it from standard input",
     [](O& o, const A& a) { o.ids = a.ids(); }},
    {"--special", nullptr, kReadsText, "<|endoftext|> in the text is the token, not plain text",
     [](O& o, const A&) { o.special = true; }},

    {"-p", "N", kBench, "tokens of a prefill (512)",
     [](O& o, const A& a) { o.n_prefill = static_cast<size_t>(a.whole(1, kMostTokens)); }},
    {"-n", "N", kBench, "tokens of a decode (128)",
     [](O& o, const A& a) { o.n_decode = static_cast<size_t>(a.whole(1, kMostTokens)); }},
    {"-b", "LIST", kBench, "decode this many sequences together; each number is a measurement",
     [](O& o, const A& a) { o.batch = a.sizes(1, kMostSequences); }},
    {"--batch", "LIST", kBench, "the same",
     [](O& o, const A& a) { o.batch = a.sizes(1, kMostSequences); }},
    {"--depth", "LIST", kBench, "decode after this many tokens; each number is a measurement",
     [](O& o, const A& a) { o.depth = a.sizes(0, kMostTokens); }},
    {"-r", "REPEATS", kBench, "measure everything this often, in turns (5)",
     [](O& o, const A& a) { o.repeats = static_cast<size_t>(a.whole(1, kMostRepeats)); }},

    {"-n", "N", kGenerate, "tokens to write at most (200)",
     [](O& o, const A& a) { o.n_new = static_cast<size_t>(a.whole(0, kMostTokens)); }},
    {"--temp", "T", kGenerate, "temperature; 0 is greedy (1)",
     [](O& o, const A& a) { o.sampler.temperature = a.real(0, 1e6); }},
    {"--top-k", "K", kGenerate, "sample from the K likeliest tokens; 0 is off (0)",
     [](O& o, const A& a) { o.sampler.top_k = static_cast<size_t>(a.whole(0, kMostTokens)); }},
    {"--top-p", "P", kGenerate, "sample from the smallest set that reaches P; 1 is off (1)",
     [](O& o, const A& a) { o.sampler.top_p = a.real(0, 1); }},
    {"--min-p", "P", kGenerate, "drop tokens less likely than P times the likeliest; 0 is off (0)",
     [](O& o, const A& a) { o.sampler.min_p = a.real(0, 1); }},
    {"--repeat-penalty", "R", kGenerate, "above 1 makes tokens that were there less likely (1)",
     [](O& o, const A& a) { o.sampler.repeat_penalty = a.real(0, 1e6, true); }},
    {"-s", "SEED", kGenerate, "seed of the sampling; without it one is chosen and told on stderr",
     [](O& o, const A& a) { o.seed = a.whole(0, UINT64_MAX); }},
    {"--stop", "TEXT", kGenerate, "end before this text; may be given several times",
     [](O& o, const A& a) { o.stops.push_back(a.nonempty_text()); }},
    {"--overflow", "stop|slide", kGenerate,
     "at a full context stop, or go on from its last half (stop)",
     [](O& o, const A& a) {
         static const char* const kWords[] = {"stop", "slide"};
         o.overflow = a.choice(kWords, 2) == 0 ? Overflow::stop : Overflow::slide;
     }},
    {"--ignore-eos", nullptr, kGenerate, "do not end at <|endoftext|>",
     [](O& o, const A&) { o.ignore_eos = true; }},
    {"--echo", nullptr, kGenerate, "print the prompt first", [](O& o, const A&) { o.echo = true; }},
    {"--print-ids", nullptr, kGenerate, "print the new token ids instead of text",
     [](O& o, const A&) { o.print_ids = true; }},
    {"--json", nullptr, kGenerate,
     "a JSON object: prompt_ids, ids, text, seed, finish (length, eos,\n"
     "stop, context); bytes that are not UTF-8 become U+FFFD, ids are exact",
     [](O& o, const A&) { o.json = true; }},

    {"--all", nullptr, kLogits, "one array a position instead of the last position's",
     [](O& o, const A&) { o.all_positions = true; }},

    {"--bos", nullptr, kPredicts,
     "put <|endoftext|> in front, so that the first token is predicted too",
     [](O& o, const A&) { o.bos = true; }},
    {"--per-token", nullptr, kScore, "each predicted token and its log probability, too",
     [](O& o, const A&) { o.per_token = true; }},
    {"--stride", "N", kPredicts,
     "a text longer than n_ctx goes through windows of n_ctx tokens that\n"
     "begin N apart; in each only the tokens it is first to have count (n_ctx)",
     [](O& o, const A& a) { o.stride = static_cast<size_t>(a.whole(1, kMostTokens)); }},
    {"--json", nullptr, kPredicts | kInspect | kBench, "print JSON",
     [](O& o, const A&) { o.json = true; }},

    {"-t", "THREADS", kAnyCommand, "threads; the text never depends on it (all physical cores)",
     [](O& o, const A& a) { o.n_threads = static_cast<size_t>(a.whole(1, Compute::kMaxThreads)); }},
    {"--isa", "NAME", kRuns | kInspect | kVerify,
     "kernels to use; --version lists them (the best); sse2 and vfp, for CPUs without\n"
     "fused multiply-add, have bits of their own; all others have the same bits",
     [](O& o, const A& a) { o.isa = a.nonempty_text(); }},
    {"--no-cache", nullptr, kReadsIds & ~kCompare,
     "recompute everything for each token (same bits, slow)",
     [](O& o, const A&) { o.use_cache = false; }},
    {"--chunk", "N", kRuns | kInspect, "rows computed together in prefill (256)",
     [](O& o, const A& a) { o.chunk = static_cast<size_t>(a.whole(1, kMostTokens)); }},
    {"--kv", "f32|f16|q8", kRuns | kInspect, "element type of the KV cache (f32)",
     [](O& o, const A& a) { o.kv = static_cast<KvType>(a.choice(kKvTypes, 3)); }},
    {"--load", nullptr, kRuns, "read the model into memory, in huge pages: faster over a long run",
     [](O& o, const A&) { o.load = true; }},
    {"--no-check", nullptr, kAnyCommand & ~kVerify, "do not compare the model with its checksums",
     [](O& o, const A&) { o.check_weights = false; }},
    {"--help", nullptr, kAnyCommand, "this text (also -h)", [](O& o, const A&) { o.help = true; }},
};
const size_t kNumFlags = sizeof kFlags / sizeof kFlags[0];

const CommandInfo& info(Command command) {
    size_t i = 0;
    while (kCommands[i].command != command)
        i++;
    return kCommands[i];
}

}  // namespace minigpt::gpt2
