// The flags of train, one by one; options.cpp has what several of them mean together.
#pragma once

#include "common/error.h"
#include "common/options.h"
#include "common/text.h"
#include "train/options.h"

namespace minigpt::train {

// Which runs a flag is for: an option's `takers`.
enum : unsigned {
    kNew = 1,   // what a run begins with: not with --resume
    kGpt = 2,   // not with --model mlp
    kMlp = 4,   // only with it
    kText = 8,  // with --returns-desk, too
    kOnce = 16  // not repeated when the run goes on
};

// What is given goes into `options`.
tools::Program program(Options& options);

}  // namespace minigpt::train
