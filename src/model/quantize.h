// Weights as groups of q8 and q4; models/FORMAT.md draws them.
#pragma once

#include <cstddef>

#include "base/panel.h"

namespace minigpt {

// One group of a panel, 32 inputs by 16 outputs. What is past the matrix is 0.
struct WeightGroup {
    alignas(64) float x[kGroup][kPanel];
};

// y [kQ8GroupBytes], y [kQ4GroupBytes] = the group. An output's scale is the largest magnitude /
// 127 in q8 and what gives the least squared error of some candidates in q4; numbers are rounded
// to the nearest multiple of it, ties to even. An output with a number that is not finite, or
// whose scale overflows f16, gets the scale NaN; the first of them is returned, else kPanel.
//
// Both compute in the caller's rounding mode, which is to be the nearest.
size_t quantize_q8(unsigned char* y, const WeightGroup& group);
size_t quantize_q4(unsigned char* y, const WeightGroup& group);

}  // namespace minigpt
