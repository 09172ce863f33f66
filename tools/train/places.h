// Where a run writes: what must not be lost there, and whether it can.
#pragma once

#include "train/options.h"

namespace minigpt::train {

struct Places {
    std::string model, state, chart;
};
Places places_of(const Options& options);

// To be called before anything is written. Errors, with the path first: bad_argument, if a place
// is what the run reads (but for the state, which may be the one that is resumed), whatever name
// or link it goes by; io, if it cannot be written.
Status check_places(const Options& options);

// What is learnt in a state that lies where another run begins is not to be lost. Errors, with the
// path first: bad_argument, unless it is that of a finished run or of one that has learnt nothing,
// or options.force. One that is resumed has its own state.
Status check_earlier_run(const Options& options);

}  // namespace minigpt::train
