// How much of a grid a run does: under an emulator (MINIGPT_QUICK) every kind of case and fewer of
// each.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "minigpt/compute.h"

inline bool is_quick() {
    const char* value = getenv("MINIGPT_QUICK");
    return value != nullptr && *value != '\0';
}

inline size_t if_quick(size_t quick, size_t otherwise) {
    return is_quick() ? quick : otherwise;
}

// Why a whole training or a whole text takes minutes here; "" where it does not. Their numbers are
// the same on every machine, so such a machine need not make them again.
inline const char* too_slow() {
    const char* emulator = getenv("EMULATOR");
    if (is_quick() || (emulator != nullptr && *emulator != '\0'))
        return "in an emulator";
    return strcmp(minigpt::bit_exact_isa(), "scalar") == 0 ? "with the scalar kernels" : "";
}
