#include "common/error.h"

#include <cstdarg>
#include <cstdio>

namespace minigpt::cli {
namespace {

std::string format_list(const char* pattern, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(nullptr, 0, pattern, args);
    std::string text(length > 0 ? static_cast<size_t>(length) + 1 : 1, '\0');
    vsnprintf(&text[0], text.size(), pattern, again);
    va_end(again);
    text.pop_back();
    return text;
}

}  // namespace

std::string format(const char* pattern, ...) {
    va_list args;
    va_start(args, pattern);
    std::string text = format_list(pattern, args);
    va_end(args);
    return text;
}

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

void print_line(const std::string& message, const char* program) {
    std::string line = std::string(program) + ": " + message;
    for (char& c : line) {
        unsigned char byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f)
            c = '?';
    }
    line += '\n';
    fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace minigpt::cli
