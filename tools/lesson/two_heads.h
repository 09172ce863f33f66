// Two heads of four words, small enough to follow.
#pragma once

#include "lesson/page.h"

namespace minigpt::lesson {

// Computes them as separate modules and as one product. Only the softmax is separate for each head.
void show_two_heads(Page& page);

}  // namespace minigpt::lesson
