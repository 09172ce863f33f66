// The weight file's panels as matrices again; models/FORMAT.md draws them.
#pragma once

#include "minigpt/model.h"

namespace minigpt::convert {

// How many panels a tensor lies in, and the bytes of each.
size_t n_panels(const TensorInfo& tensor);
size_t panel_bytes(const TensorInfo& tensor);

// Panels first ... first + n - 1 of a tensor as their part of a row-major array of its shape: f32,
// f16 and bf16 as they are, q8 and q4 as the f32 that their groups stand for, exactly. Returns
// where the panels begin.
//
//   to  [shape[0], shape[1]]  out, of the whole tensor; any alignment
const unsigned char* unpack_panels(const TensorInfo& tensor, size_t first, size_t n,
                                   unsigned char* to);

}  // namespace minigpt::convert
