#include "common/error.h"

#include <cstdarg>
#include <cstdio>

#include "common/program.h"
#include "common/text.h"

namespace minigpt::tools {

void refuse(const char* pattern, ...) {
    va_list args;
    va_start(args, pattern);
    Error error{kRefused, format_list(pattern, args)};
    va_end(args);
    throw error;
}

void misuse(const char* pattern, ...) {
    va_list args;
    va_start(args, pattern);
    Error error{kMisused, format_list(pattern, args)};
    va_end(args);
    throw error;
}

void require(const Status& status, const std::string& thing) {
    if (!status.ok())
        throw Error{kRefused, thing + ": " + status.message()};
}

void print_line(const std::string& message) {
    std::string line = printable(program_name() + ": " + message) + '\n';
    fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace minigpt::tools
