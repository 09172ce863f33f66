#include "base/element_types.h"

namespace minigpt {
namespace {

constexpr bool rows_are_sound() {
    for (size_t i = 0; i < kElementTypeCount; i++) {
        const ElementTraits& t = kElementTypes[i];
        if (static_cast<size_t>(t.type) != i)
            return false;
        if (t.bytes != 0 && (t.group != 1 || t.group_bytes != t.bytes * kPanel))
            return false;
        // What is stored in place of this type has no such place itself.
        const ElementTraits& positions = kElementTypes[static_cast<size_t>(t.positions)];
        const ElementTraits& tables = kElementTypes[static_cast<size_t>(t.tables)];
        if (positions.bytes == 0 || tables.tables != t.tables)
            return false;
    }
    return true;
}
static_assert(rows_are_sound(), "a row is out of order, or contradicts itself");

}  // namespace

const char* name_of(ElementType type) {
    size_t i = static_cast<size_t>(type);
    return i < kElementTypeCount ? kElementTypes[i].name : "?";
}

size_t bytes_of(ElementType type) {
    size_t i = static_cast<size_t>(type);
    return i < kElementTypeCount ? kElementTypes[i].bytes : 0;
}

}  // namespace minigpt
