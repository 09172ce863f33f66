// Weights as groups of q8 and q4; models/FORMAT.md draws them.
#pragma once

#include <cstddef>

#include "base/panel.h"

namespace minigpt {

// One group of a panel, 32 inputs by 16 outputs. Elements outside the matrix are 0.
struct WeightGroup {
    alignas(64) float x[kGroup][kPanel];
};

// Quantizes one group to y [kQ8GroupBytes] or y [kQ4GroupBytes]. In q8 an output's scale is the
// largest magnitude / 127. In q4 it is the candidate with the least squared error. Numbers are
// rounded to the nearest multiple of the scale, ties to even. The scale is NaN if one of the
// output's numbers is not finite or the scale overflows f16. Returns the first such output, or
// kPanel if there is none.
//
// Both use the caller's rounding mode, which must be round-to-nearest.
size_t quantize_q8(unsigned char* y, const WeightGroup& group);
size_t quantize_q4(unsigned char* y, const WeightGroup& group);

}  // namespace minigpt
