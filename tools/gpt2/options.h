// The command line of gpt2: one table of flags, from which come parsing, errors and --help.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/error.h"
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

struct CommandInfo {
    Command command;
    const char* name;
    const char* usage;    // what follows "gpt2 name"
    const char* summary;  // one line
};

// What the command line asked for. A flag given twice counts as it was given last, but --stop,
// which adds a text each time.
// The words of --kv, in KvType's order.
constexpr const char* kKvTypes[] = {"f32", "f16", "q8"};

struct Options {
    Command command = kGenerate;
    bool help = false;
    bool version = false;

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

// A flag's value, still as typed. Each reader throws the misuse that names flag and value.
class Argument {
public:
    Argument(const char* flag, std::string value) : flag_(flag), value_(std::move(value)) {}

    const char* flag() const { return flag_; }
    const std::string& text() const { return value_; }
    std::string nonempty_text() const;
    // Digits only, in [least, most].
    uint64_t whole(uint64_t least, uint64_t most) const;
    // A finite decimal number in [least, most]; `open` leaves `least` itself out.
    float real(double least, double most, bool open = false) const;
    std::vector<int64_t> ids() const;
    // At least one whole number in [least, most], commas or spaces between.
    std::vector<size_t> sizes(uint64_t least, uint64_t most) const;
    // The index of the value in a list of words, [n].
    size_t choice(const char* const* words, size_t n) const;

private:
    const char* flag_;
    std::string value_;
};

struct Flag {
    const char* name;
    const char* value;  // what --help calls its value; nullptr: a switch
    unsigned commands;  // who takes it
    const char* help;
    void (*set)(Options& options, const Argument& argument);
};

extern const CommandInfo kCommands[];
extern const size_t kNumCommands;
extern const Flag kFlags[];
extern const size_t kNumFlags;

const CommandInfo& info(Command command);

// Whole numbers with commas or white space between; none is a list too. An id too large for
// int64 becomes its limit: both are outside of any vocabulary. Returns the first word that is no
// number, or "" when all are.
std::string parse_ids(const std::string& text, std::vector<int64_t>* ids);

// args: what follows the program's name. Throws Error.
Options parse(const std::vector<std::string>& args);

// What `gpt2 --help` (no subcommand named) and `gpt2 NAME --help` print.
std::string help_text(Command command, bool named);

}  // namespace minigpt::gpt2
