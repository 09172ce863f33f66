// The firmware's demo. It runs on a board, or on a desktop for comparison.
#pragma once

#include <cstddef>

namespace minigpt {

// A model and working memory, at addresses that the program already has.
struct Place {
    const void* model;  // a .mgpt image, 64-byte aligned
    size_t model_bytes;
    void* memory;  // 64-byte aligned
    size_t memory_bytes;
    const char* isa = nullptr;  // see Compute::create
};

// Verifies the model and generates text greedily. Prints through print(). Uses no memory but the
// place's and the stack. *needed becomes the number of bytes used of the place's memory.
bool run_demo(const Place& place, size_t* needed);

// Each place defines this.
void print(const char* text);

}  // namespace minigpt
