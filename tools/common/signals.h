// The process's signals and standard streams.
#pragma once

#include <string>

namespace minigpt::tools {

// Every program's main calls this first.
//
// Writing to a closed pipe, or past a file's size limit, becomes an error of write. Then open files
// can be completed or removed first. If a mapped file is truncated while it is used (SIGBUS), the
// program prints one line, which begins with `program`, and ends with status 1. A standard stream
// that is closed stays closed: a file that is opened later gets neither its number nor its output.
void take_signals(const std::string& program);

// Ends the program silently, as the system does when a pipe is closed. Returns if the system has no
// such signal.
void end_by_closed_pipe();
// Whether standard output is a pipe whose reader is gone.
bool is_output_closed();

// Sets the file that the line about SIGBUS names; empty: none.
void set_mapped_file(const std::string& path);

// For a program that has something to save. From here on Ctrl-C, SIGTERM and SIGHUP (the terminal
// was closed) only ask it to stop. The second signal of a kind ends it at once. Signals that the
// caller ignores stay ignored (nohup, or sh for a job in the background).
void catch_interrupts();
// Whether the program was asked to stop.
bool is_interrupted();
// Everything is saved: from here on those signals end the program again.
void release_interrupts();

}  // namespace minigpt::tools
