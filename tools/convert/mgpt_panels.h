// The weight file's panels as matrices again; models/FORMAT.md draws them.
#pragma once

#include "minigpt/model.h"

namespace minigpt::convert {

// A tensor in panels as a row-major array of its shape: f32, f16 and bf16 as they are, q8 and q4
// as the f32 that their groups stand for, exactly.
//
//   to  [shape[0], shape[1]]  out; any alignment
void unpack_panels(const TensorInfo& tensor, unsigned char* to);

}  // namespace minigpt::convert
