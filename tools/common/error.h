// Errors of programs: one line on stderr and an exit status.
#pragma once

#include <string>

#include "minigpt/status.h"

namespace minigpt::tools {

constexpr int kDone = 0;
constexpr int kRefused = 1;  // the input or the model was refused
constexpr int kMisused = 2;  // the command line was wrong

// Any function in these folders may throw it. Only the function that main calls first catches it.
struct Error {
    int exit_status;
    std::string message;     // names the thing first: "PATH: what is wrong"
    std::string usage = {};  // lines printed after the message as they are
};

// Thrown when standard output is a closed pipe. Only run_main() catches it.
struct ClosedPipe {};

// printf-like; throw an Error of status kRefused or kMisused.
[[noreturn]] void refuse(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void misuse(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

// Throws kRefused if the library returned an error: the thing's name, then the library's message.
void require(const Status& status, const std::string& thing);

// Writes "program: message" as one line on stderr, printable (text.h).
void print_line(const std::string& message);

}  // namespace minigpt::tools
