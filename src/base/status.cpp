#include "minigpt/status.h"

#include <cstdarg>
#include <cstdio>

namespace minigpt {

Status Status::error(Code code, const char* format, ...) {
    Status status;
    status.code_ = code;
    va_list args;
    va_start(args, format);
    vsnprintf(status.message_, sizeof status.message_, format, args);
    va_end(args);
    for (char* p = status.message_; *p != '\0'; p++) {
        unsigned char c = static_cast<unsigned char>(*p);
        if (c < 0x20 || c == 0x7f)
            *p = '?';
    }
    return status;
}

}  // namespace minigpt
