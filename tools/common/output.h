// Standard output with error checks.
#pragma once

#include <cstddef>
#include <string>

namespace minigpt::tools {

// Standard output that never fails silently: a full disk throws an Error, a closed pipe throws
// ClosedPipe (error.h). Call finish() at the end. Without it, text after the last flush may be
// lost.
class Output {
public:
    void write(const char* bytes, size_t n_bytes);
    void write(const std::string& text) { write(text.data(), text.size()); }
    void flush();
    void finish() { flush(); }
    // Whether nothing was written yet, or the last character was a newline.
    bool is_at_line_start() const { return last_ == '\n'; }

private:
    char last_ = '\n';
};

// Writes a text that is the program's whole output.
void print(const std::string& text);

}  // namespace minigpt::tools
