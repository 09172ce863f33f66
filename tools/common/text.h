// Text for messages and reports.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace minigpt::tools {

// printf into a string.
std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format_list(const char* pattern, va_list args);

// 124439808 as 124,439,808.
std::string grouped(uint64_t number);

// The end of a noun that this number counts: "token" + plural(n).
inline const char* plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

// The fewest digits that give the float back: 1e-05 for 1e-5f.
std::string shortest(float number);

// [50257, 768]
std::string shape_text(const std::vector<uint64_t>& shape);

bool ends_with(const std::string& text, const char* ending);

// A path, or any text that a file or a user gave, on one line of a terminal: a byte that is a
// control character, or no UTF-8, becomes '?', as do C1 controls. The rest stays.
std::string printable(const std::string& text);

// The same of at most 80 bytes; "..." stands for more.
std::string shown(const std::string& text);

// A word of a command line as sh takes it: as it is, or in single quotes.
std::string shell_word(const std::string& word);

}  // namespace minigpt::tools
