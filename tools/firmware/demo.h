// What the firmware shows, apart from where it runs: a board, or a desktop to compare with.
#pragma once

#include <cstddef>

namespace minigpt {

// A model and working memory that a program of fixed addresses has anyway.
struct Place {
    const void* model;  // a .mgpt image, 64-byte aligned
    size_t model_bytes;
    void* memory;  // 64-byte aligned
    size_t memory_bytes;
    const char* isa = nullptr;  // as Compute::create takes it
};

// Verifies the model and writes greedily. Prints through print(); takes no memory but the place's
// and the stack. *needed becomes the bytes of the place's memory that were used.
bool run_demo(const Place& place, size_t* needed);

// Given by each place.
void print(const char* text);

}  // namespace minigpt
