// A whole run, as the command line asks for it.
#pragma once

#include "train/options.h"

namespace minigpt::train {

// Returns the exit status.
int run(const Options& options);

}  // namespace minigpt::train
