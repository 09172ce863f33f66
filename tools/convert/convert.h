// The conversion of one checkpoint to one weight file.
#pragma once

#include <functional>
#include <string>

#include "convert/checkpoint.h"
#include "convert/plan.h"

namespace minigpt::convert {

struct Options {
    std::string source;
    std::string output;
    std::string vocab;               // empty: beside the source
    std::optional<uint64_t> n_head;  // where the source does not say it
    std::optional<Activation> activation;
    std::optional<ElementType> type;  // unset: the source's own
    bool force = false;               // accept NaN and infinities; replace other files
    bool list = false;                // list() instead of convert()
    std::string emit;                 // "c", "obj"; empty: no, see emit.h
    std::string target;               // of "obj"
    std::string symbol;               // the name of what is emitted
};

// What was found and made.
struct Report {
    std::string source_format;
    Plan plan;
    TokenizerKind vocabulary_kind = TokenizerKind::none;
    std::string vocabulary_source;
    size_t n_tokens = 0, n_merges = 0, n_specials = 0;
    ElementType type = ElementType::f32;
    uint64_t n_source_bytes = 0;  // of the tensors taken
    uint64_t n_output_bytes = 0;
    uint64_t n_subnormal = 0;
    std::string output;  // what was written, where it is more than a weight file
    std::vector<std::string> notes;
    std::string advice;  // what another command line would do better; a line, or empty
};

// An error, and the file or folder that it is about.
struct Failure {
    Status status;
    std::string path;
};

// The failure of `path`; a message that begins with a file's own name loses it.
Failure about(const std::string& path, const Status& status);

// Converts; to a Hugging Face folder where the output asks for it (export.h). `on_progress` hears
// how many of how many bytes of the source are done. The output appears only when everything went
// well.
Failure convert(const Options& options,
                const std::function<void(uint64_t done, uint64_t total)>& on_progress,
                Report* report);

// What a checkpoint holds, without converting it: the format, the configuration and every tensor
// with its type, its shape and our name for it, as lines for a reader. A checkpoint that can be
// opened is listed even where it cannot be converted; a line says why.
Failure list(const Options& options, std::string* text);

// Why options.output is no name for what is to be written; empty: it is one.
std::string wrong_output(const Options& options);

// What a report says of a checkpoint, and of report->plan where that is made: all but the output.
void describe(const Checkpoint& checkpoint, Report* report);

// The report as lines for a reader, one of them, and two of the values. Characters that would end
// or hide a line become '?'.
std::string text_of(const Report& report, const Options& options);
std::string report_line(const char* name, std::string value);
std::string config_text(const Config& config);
std::string vocabulary_text(const Report& report);

// "gelu_tanh", "gelu_erf" or transformers' names of them; nothing for other texts.
std::optional<Activation> given_activation(const std::string& name);

}  // namespace minigpt::convert
