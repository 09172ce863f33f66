// The argument checks of the public ops, and helpers for their messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/buffer.h"
#include "minigpt/status.h"

namespace minigpt {

// The most floats an array can have: its bytes, with some room, fit a pointer difference.
constexpr size_t kMaxFloats = (static_cast<size_t>(-1) / 2 - 4096) / sizeof(float);

// *product = a * b. Returns false if an array cannot have that many floats.
inline bool fits(size_t a, size_t b, size_t* product) {
    return !__builtin_mul_overflow(a, b, product) && *product <= kMaxFloats;
}

// Adds a name to a list for a message: "f32, q8".
template <size_t kSize>
void add_name(char (&list)[kSize], const char* name) {
    size_t n = strlen(list);
    snprintf(list + n, kSize - n, "%s%s", n == 0 ? "" : ", ", name);
}

// Checks an array of n elements: it may be nullptr only if n is 0.
inline Status check_pointer(const char* name, const void* p, size_t n = 1) {
    if (p != nullptr || n == 0)
        return Status();
    return Status::error(Code::bad_argument, "%s: nullptr", name);
}

// Checks rows of `columns` elements that lie `ld` apart.
inline Status check_matrix(const char* name, size_t rows, size_t columns, size_t ld) {
    size_t n;
    if (ld < columns) {
        return Status::error(Code::bad_shape, "%s: leading dimension %zu, expected at least %zu",
                             name, ld, columns);
    }
    if (!fits(rows, ld, &n)) {
        return Status::error(Code::bad_shape, "%s: %zu rows of %zu overflow", name, rows, ld);
    }
    return Status();
}

inline Status check_workspace(const void* workspace, size_t found, size_t expected) {
    if (expected == 0)
        return Status();
    if (workspace == nullptr) {
        return Status::error(Code::bad_argument, "workspace: nullptr; expected %zu bytes",
                             expected);
    }
    if (found < expected) {
        return Status::error(Code::bad_argument, "workspace: found %zu bytes, expected %zu", found,
                             expected);
    }
    size_t off = reinterpret_cast<uintptr_t>(workspace) % kAlign;
    if (off != 0) {
        return Status::error(Code::bad_argument,
                             "workspace: found %zu past a multiple of %zu bytes, expected 0", off,
                             kAlign);
    }
    return Status();
}

}  // namespace minigpt
