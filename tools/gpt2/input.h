// Where the prompt comes from: -p, -f, --ids or standard input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpt2/options.h"

namespace minigpt::gpt2 {

// A prompt before the model has seen it.
struct Input {
    bool is_text = true;
    std::string text;          // the bytes as they came: nothing trimmed, nothing converted
    std::vector<int64_t> ids;  // from --ids, or for detokenize from standard input
    std::string name;          // of the source, for messages: "-p", a path, ...
};

// Reads the one source the command line names, else standard input unless that is a terminal
// (misuse). At most 1 GiB. Throws Error.
Input read_input(const Options& options);

}  // namespace minigpt::gpt2
