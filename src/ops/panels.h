// Sizes of weights in panels, by element type; models/FORMAT.md draws them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/panel.h"
#include "minigpt/weights.h"

namespace minigpt {

inline size_t panel_count(size_t n_out) {
    return (n_out + kPanel - 1) / kPanel;
}

inline size_t group_count(size_t n_in) {
    return (n_in + kGroup - 1) / kGroup;
}

// Bytes of the first n_in inputs of a panel; of q8 and q4, of the groups they lie in.
inline uint64_t panel_bytes(ElementType type, size_t n_in) {
    switch (type) {
        case ElementType::q8:
            return uint64_t{kQ8GroupBytes} * group_count(n_in);
        case ElementType::q4:
            return uint64_t{kQ4GroupBytes} * group_count(n_in);
        default:
            return uint64_t{kPanel} * n_in * bytes_of(type);
    }
}

}  // namespace minigpt
