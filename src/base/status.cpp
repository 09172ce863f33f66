#include "minigpt/status.h"

#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace minigpt {
namespace {

// Formats like vsnprintf, which on newlib, as microcontrollers have it, knows no %zu unless it was
// built for C99 and then takes the next argument for it: there a size_t is as wide as an unsigned.
void format_line(char* to, size_t size, const char* format, va_list args) {
#if defined(_NEWLIB_VERSION) && !defined(_WANT_IO_C99_FORMATS)
    static_assert(sizeof(size_t) == sizeof(unsigned), "%u has to take what %zu takes");
    char plain[320];
    size_t n = 0;
    bool in_directive = false;
    for (const char* p = format; *p != '\0' && n + 1 < sizeof plain; p++) {
        if (!(in_directive && *p == 'z'))
            plain[n++] = *p;
        in_directive = *p == '%' && !in_directive;
    }
    plain[n] = '\0';
    format = plain;
#endif
    vsnprintf(to, size, format, args);
}

}  // namespace

Status Status::error(Code code, const char* format, ...) {
    Status status;
    status.code_ = code;
    va_list args;
    va_start(args, format);
    format_line(status.message_, sizeof status.message_, format, args);
    va_end(args);
    for (char* p = status.message_; *p != '\0'; p++) {
        unsigned char c = static_cast<unsigned char>(*p);
        if (c < 0x20 || c == 0x7f)
            *p = '?';
    }
    return status;
}

}  // namespace minigpt
