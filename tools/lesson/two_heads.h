// Two heads of four words, small enough to follow.
#pragma once

#include "lesson/page.h"

namespace minigpt::lesson {

// As modules and as one product, and what keeps the two heads apart: the softmax of each.
void show_two_heads(Page& page);

}  // namespace minigpt::lesson
