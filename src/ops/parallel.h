// When work is worth dividing over a pool's threads.
#pragma once

#include <cstddef>

#include "ops/compute.h"

namespace minigpt {

// Numbers under which a pass over an array is not worth waking the pool.
constexpr size_t kSerialNumbers = 16384;
// The same of a product's multiplications: some microseconds, about what waking a thread takes.
constexpr size_t kSerialProducts = size_t{1} << 17;

}  // namespace minigpt
