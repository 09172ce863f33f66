// The shape of weights in panels, for the weight file, the ops and the kernels. Kernel files
// include this, so it has constants only.
#pragma once

#include <cstddef>

#include "base/strict_math.h"

namespace minigpt {

// Outputs in a panel: one AVX-512, two AVX, or four NEON registers of f32.
constexpr size_t kPanel = 16;

// Inputs that share a scale in a panel of q8 or q4. The last group of a panel is padded.
constexpr size_t kGroup = 32;

// A group of q8: 16 scales as f16, then 32 inputs, each with 16 outputs as int8.
constexpr size_t kQ8Scales = 2 * kPanel;
constexpr size_t kQ8GroupBytes = kQ8Scales + kGroup * kPanel;

// A group of q4: 16 scales as f16, then four blocks of 64 bytes. Byte [o][i] of block j, with o one
// of 16 outputs and i of 0 ... 3, has input 4 j + i in its low half and 16 + 4 j + i in its high
// half. The stored halves are 0 ... 15 and mean -8 ... 7.
constexpr size_t kQ4Scales = 2 * kPanel;
constexpr size_t kQ4BlockBytes = 4 * kPanel;
constexpr size_t kQ4Blocks = 4;
constexpr size_t kQ4GroupBytes = kQ4Scales + kQ4Blocks * kQ4BlockBytes;
constexpr int kQ4Zero = 8;

}  // namespace minigpt
