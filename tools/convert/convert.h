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
    std::optional<uint64_t> n_head;  // for sources that do not state it
    std::optional<Activation> activation;
    std::optional<ElementType> type;  // unset: the source's own
    bool force = false;               // accept NaN and infinities; replace other files
    bool list = false;                // list() instead of convert()
    std::string emit;                 // "c", "obj", see emit.h; empty: none
    std::string target;               // for "obj"
    std::string symbol;               // the name of the emitted array
};

// What was found and written.
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
    std::string output;  // the files written, if more than a weight file
    std::vector<std::string> notes;
    std::string advice;  // a line about a better command line, or empty
};

// An error, and the file or folder in which it occurred.
struct Failure {
    Status status;
    std::string path;
};

// Makes a Failure for `path`. If the message begins with the file's own name, that is removed.
Failure about(const std::string& path, const Status& status);

// Converts a checkpoint, to a Hugging Face folder if the output asks for it (export.h). Calls
// `on_progress` with the bytes of the source that are done, and all bytes. The output appears only
// after success.
Failure convert(const Options& options,
                const std::function<void(uint64_t done, uint64_t total)>& on_progress,
                Report* report);

// Lists the contents of a checkpoint without converting it: the format, the configuration, and for
// each tensor its type, its shape and our name for it. If the checkpoint can be opened but not
// converted, it is listed, too, and a line says why.
Failure list(const Options& options, std::string* text);

// Says why options.output cannot be the output; empty if it can.
std::string wrong_output(const Options& options);

// Fills in the report about a checkpoint, and about report->plan if there is one, but not the
// output.
void describe(const Checkpoint& checkpoint, Report* report);

// text_of: the report as lines for the user. report_line: one such line. config_text and
// vocabulary_text: the values of two of the lines. Characters that would end or hide a line become
// '?'.
std::string text_of(const Report& report, const Options& options);
std::string report_line(const char* name, std::string value);
std::string config_text(const Config& config);
std::string vocabulary_text(const Report& report);

// Accepts "gelu_tanh", "gelu_erf" and transformers' names of them; nothing for other texts.
std::optional<Activation> given_activation(const std::string& name);

}  // namespace minigpt::convert
