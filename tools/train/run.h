// A whole run with the options of the command line.
#pragma once

#include "train/options.h"

namespace minigpt::train {

// Returns the exit status.
int run(const Options& options);

}  // namespace minigpt::train
