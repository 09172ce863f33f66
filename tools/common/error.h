// How programs give up: one line on stderr and an exit status.
#pragma once

#include <string>

#include "minigpt/status.h"

namespace minigpt::tools {

constexpr int kDone = 0;
constexpr int kRefused = 1;  // the input or the model
constexpr int kMisused = 2;  // the command line

// Thrown by anything in these folders; only what main calls first catches it.
struct Error {
    int exit_status;
    std::string message;     // names the thing first: "PATH: what is wrong"
    std::string usage = {};  // lines that follow it as they are
};

// Thrown when nobody reads standard output any more; only run_main() catches it.
struct ClosedPipe {};

// printf-like; throw an Error of status kRefused or kMisused.
[[noreturn]] void refuse(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void misuse(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

// Refuses when the library did, in its words after the thing's name.
void require(const Status& status, const std::string& thing);

// Writes "program: message" as one line on stderr, printable (text.h).
void print_line(const std::string& message);

}  // namespace minigpt::tools
