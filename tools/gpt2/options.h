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

// The subcommands, as bits. Each flag has the bits of the subcommands that take it.
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

// The options given on the command line.
struct Options {
    Command command = kGenerate;
    std::optional<std::string> answer;  // the text of help or version, printed instead of all else

    std::optional<std::string> model;  // none: the bundled model
    bool check_weights = true;
    bool load = false;

    // The prompt comes from one of these; none: standard input.
    std::optional<std::string> text;
    std::optional<std::string> file;  // "-": standard input
    std::optional<std::vector<int64_t>> ids;
    bool special = false;  // <|endoftext|> in the text becomes the token

    size_t n_threads = 0;            // 0: one per physical core
    std::optional<std::string> isa;  // none: the best
    bool use_cache = true;
    size_t chunk = 256;
    KvType kv = KvType::f32;

    size_t n_new = 200;
    SamplerOptions sampler;
    std::optional<uint64_t> seed;  // none: the system chooses
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

    std::vector<std::string> compared;  // the two models of compare
    size_t n_prefill = 512, n_decode = 128;
    size_t repeats = 5;
    std::vector<size_t> batch, depth;
};

// The table of options; values are stored in `options`.
Program program(Options& options);

const char* name_of(Command command);

// Takes a word that is not a flag. It is one of compare's models, or else a misuse; the error names
// flags that may have been forgotten. command: 0 if there is no subcommand.
void take_word(const std::string& word, unsigned command, Options* options);

// args: the words after the program's name. Throws Error.
Options parse(const std::vector<std::string>& args);

}  // namespace minigpt::gpt2
