// When work is worth dividing over a pool's threads.
#pragma once

#include <cstddef>

#include "ops/compute.h"

namespace minigpt {

// A pass over fewer numbers than this is not worth waking the pool.
constexpr size_t kSerialNumbers = 16384;
// The same for a product, in multiplications: they take some microseconds, about as long as waking
// a thread.
constexpr size_t kSerialProducts = size_t{1} << 17;

}  // namespace minigpt
