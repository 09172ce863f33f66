// Weights in panels, and their sizes by element type; models/FORMAT.md draws them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/element_types.h"

namespace minigpt {

inline size_t panel_count(size_t n_out) {
    return (n_out + kPanel - 1) / kPanel;
}

inline size_t group_count(size_t n_in) {
    return (n_in + kGroup - 1) / kGroup;
}

inline const ElementTraits& traits_of(ElementType type) {
    return kElementTypes[static_cast<size_t>(type)];
}

inline bool is_grouped(ElementType type) {
    return traits_of(type).bytes == 0;
}

// Bytes of the first n_in inputs of a panel. For grouped types n_in is rounded up to whole groups.
inline uint64_t panel_bytes(ElementType type, size_t n_in) {
    const ElementTraits& t = traits_of(type);
    return uint64_t{t.group_bytes} * ((n_in + t.group - 1) / t.group);
}

// A weight matrix in place: panels of 16 outputs, [n_out / 16, n_in, 16], the last one padded with
// zeros. q8 and q4 are in groups, see models/FORMAT.md. `data` is 64-byte aligned. If n_out is
// smaller than the tensor's, only the first n_out outputs are used.
struct PanelMatrix {
    const void* data;
    ElementType type;
    size_t n_in, n_out;
};

}  // namespace minigpt
