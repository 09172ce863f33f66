// What a process is born with: signals that would end it without a word, and its standard streams.
#pragma once

#include <string>

namespace minigpt::tools {

// A closed pipe and a file that may not grow become errors of write: what is open can be finished
// or taken back first. A mapped
// file that is cut short while it is used (SIGBUS) ends the program with one line and status 1. A
// standard stream that is closed stays so: no file that is opened later gets its number, and what
// is printed with it. Every program's main calls this first; `program` is what the line begins
// with.
void take_signals(const std::string& program);

// Ends the program as the system does when a pipe is closed, without a word. Where there is no such
// signal it returns.
void end_by_closed_pipe();
// Whether whoever reads standard output, a pipe, is gone.
bool is_output_closed();

// The file that such a line names; empty: none.
void set_mapped_file(const std::string& path);

// For a program that has something to save: from here on Ctrl-C, SIGTERM and a terminal that goes
// away ask it to stop, and only the second of a kind ends it at once. What the caller has ignored
// (nohup, or sh for a job in the background) stays ignored.
void catch_interrupts();
// Whether it has been asked to.
bool is_interrupted();
// All is saved: those signals end the program again.
void release_interrupts();

}  // namespace minigpt::tools
