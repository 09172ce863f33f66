// What a checkpoint does not say, and its tensors show.
#pragma once

#include "convert/checkpoint.h"

namespace minigpt::convert {

// Sets the sizes that are unset from the shapes of the token table, the position table and layer
// 0's mlp.c_fc, and from the number of layers. Errors: bad_file where there is no token table.
Status infer_sizes(Checkpoint* checkpoint);

// Whether a head that is there is a copy of the token table, to the bit; sets config.tied.
// Nothing is done where it is set. Reads both. Errors: as read().
Status infer_tied(Checkpoint* checkpoint);

// Whether two tensors are the same to the bit. Holds both.
Status same_numbers(Checkpoint* checkpoint, size_t a, size_t b, bool* same);

}  // namespace minigpt::convert
