// How much of a grid a run does: under an emulator (MINIGPT_QUICK) every kind of case and fewer of
// each.
#pragma once

#include <cstddef>
#include <cstdlib>

inline bool is_quick() {
    const char* value = getenv("MINIGPT_QUICK");
    return value != nullptr && *value != '\0';
}

inline size_t if_quick(size_t quick, size_t otherwise) {
    return is_quick() ? quick : otherwise;
}
