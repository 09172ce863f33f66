// Checks of the files that a run will write: nothing valuable is overwritten, and writing is
// possible.
#pragma once

#include "train/options.h"

namespace minigpt::train {

struct Places {
    std::string model, state, chart;
};
Places places_of(const Options& options);

// Call this before anything is written. Errors, with the path first: bad_argument, if an output is
// also an input of the run, by any name or link (except that the state may be the one that is
// resumed); io, if a file cannot be written.
Status check_places(const Options& options);

// Protects the state of another run at the place of the new one. Errors, with the path first:
// bad_argument, unless that run is finished or has learnt nothing, or options.force is set. A
// resumed run uses its own state.
Status check_earlier_run(const Options& options);

}  // namespace minigpt::train
