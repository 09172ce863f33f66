// The subcommands. Each writes to stdout and throws Error if it fails.
#pragma once

#include "gpt2/options.h"

namespace minigpt::gpt2 {

void generate(const Options& options);
void tokenize(const Options& options);
void detokenize(const Options& options);
void logits(const Options& options);
void score(const Options& options);
void inspect(const Options& options);
void bench(const Options& options);
void compare(const Options& options);
void verify(const Options& options);

}  // namespace minigpt::gpt2
