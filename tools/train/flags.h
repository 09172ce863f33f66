// The single flags of train. options.cpp checks them against each other.
#pragma once

#include "common/error.h"
#include "common/options.h"
#include "common/text.h"
#include "train/options.h"

namespace minigpt::train {

// The runs that a flag is for, as bits of Option::takers.
enum : unsigned {
    kNew = 1,   // only when a run begins: not with --resume
    kGpt = 2,   // not with --model mlp
    kMlp = 4,   // only with --model mlp
    kText = 8,  // also with --returns-desk
    kOnce = 16  // not repeated when the run is resumed
};

// The table of options; values are stored in `options`.
tools::Program program(Options& options);

}  // namespace minigpt::train
