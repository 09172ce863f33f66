// Reads the prompt from -p, -f, --ids or standard input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpt2/options.h"

namespace minigpt::gpt2 {

// A prompt before it is encoded.
struct Input {
    bool is_text = true;
    std::string text;          // the bytes of the input, unchanged
    std::vector<int64_t> ids;  // from --ids; for detokenize also from standard input
    std::string name;          // the source's name for messages: "-p", a path, ...
};

// Reads the source that the command line names. Without one it reads standard input; if that is a
// terminal, this is a misuse. At most 1 GiB. Throws Error.
Input read_input(const Options& options);

}  // namespace minigpt::gpt2
