// The command line of gpt2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/options.h"
#include "common/text.h"
#include "minigpt/generate.h"

namespace minigpt::gpt2 {

using namespace tools;

// The subcommands, as bits: a flag says which of them take it.
enum Command : unsigned {
    kGenerate = 1,
    kTokenize = 2,
    kDetokenize = 4,
    kLogits = 8,
    kScore = 16,
    kInspect = 32,
    kBench = 64,
    kCompare = 128,
    kVerify = 256,
};
constexpr unsigned kAnyCommand = 511;

// The words of --kv, in KvType's order.
constexpr const char* kKvTypes[] = {"f32", "f16", "q8"};

// What the command line asked for.
struct Options {
    Command command = kGenerate;
    std::optional<std::string> answer;  // help or version: to print, instead of all else

    std::optional<std::string> model;  // none: the model inside gpt2
    bool check_weights = true;
    bool load = false;

    // The prompt, from one of these; none: standard input.
    std::optional<std::string> text;
    std::optional<std::string> file;  // "-": standard input
    std::optional<std::vector<int64_t>> ids;
    bool special = false;  // <|endoftext|> in the text is the token

    size_t n_threads = 0;            // 0: one per physical core
    std::optional<std::string> isa;  // none: the best
    bool use_cache = true;
    size_t chunk = 256;
    KvType kv = KvType::f32;

    size_t n_new = 200;
    SamplerOptions sampler;
    std::optional<uint64_t> seed;  // none: from the system
    std::vector<std::string> stops;
    Overflow overflow = Overflow::stop;
    bool ignore_eos = false;
    bool echo = false;
    bool print_ids = false;
    bool json = false;

    bool all_positions = false;
    bool bos = false;
    bool per_token = false;
    std::optional<size_t> stride;

    std::vector<std::string> compared;  // compare's two models
    size_t n_prefill = 512, n_decode = 128;
    size_t repeats = 5;
    std::vector<size_t> batch, depth;
};

// The table of options; what is given goes into `options`.
Program program(Options& options);

const char* name_of(Command command);

// A word that is no flag: one of compare's models, or a misuse that names the flags that may have
// been forgotten. command: 0 where the word is no subcommand.
void take_word(const std::string& word, unsigned command, Options* options);

// args: what follows the program's name. Throws Error.
Options parse(const std::vector<std::string>& args);

}  // namespace minigpt::gpt2
