// Counts allocations, so that a test can hold the library to making none.
#pragma once

#include <cstddef>

namespace minigpt {

// False under a sanitizer, which needs malloc for itself.
bool allocations_are_counted();
// Calls of malloc, calloc, realloc and their aligned kin so far, operator new among them.
size_t n_allocations();

}  // namespace minigpt
