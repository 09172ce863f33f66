// The flags of train, one by one; options.cpp has what several of them mean together.
#pragma once

#include <cstddef>
#include <string>

#include "train/options.h"

namespace minigpt::train {

// Which runs a flag is for.
enum : unsigned {
    kNew = 1,   // what a run begins with: not with --resume
    kGpt = 2,   // not with --model mlp
    kMlp = 4,   // only with it
    kText = 8,  // with --returns-desk, too
    kOnce = 16  // not repeated when the run goes on
};

struct Flag {
    const char* name;
    const char* value;  // what --help calls it; nullptr: a switch
    unsigned use;
    const char* help;
    // Takes the value into the options; false: it is none of what the flag takes.
    bool (*read)(Options& options, const char* value);
};

extern const Flag kFlags[];
extern const size_t kNumFlags;

// nullptr: there is none of that name.
const Flag* find_flag(const std::string& name);

// The value that it takes, as a message calls it.
std::string expected(const Flag& flag);

}  // namespace minigpt::train
