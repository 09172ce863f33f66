// Standard output, checked.
#pragma once

#include <cstddef>
#include <string>

namespace minigpt::tools {

// Standard output that cannot fail unnoticed: a full disk throws an Error, a closed pipe throws
// ClosedPipe (error.h). finish() must be called in the end; what is written after the last flush
// may be lost without.
class Output {
public:
    void write(const char* bytes, size_t n_bytes);
    void write(const std::string& text) { write(text.data(), text.size()); }
    void flush();
    void finish() { flush(); }
    // Nothing was written, or a newline last.
    bool is_at_line_start() const { return last_ == '\n'; }

private:
    char last_ = '\n';
};

// Writes a text that is all there is to say.
void print(const std::string& text);

}  // namespace minigpt::tools
