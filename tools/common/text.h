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

// The ending of a noun after this number, "" or "s": "token" + plural(n).
inline const char* plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

// The fewest digits from which the float is read back exactly: 1e-05 for 1e-5f.
std::string shortest(float number);

// [50257, 768]
std::string shape_text(const std::vector<uint64_t>& shape);

bool ends_with(const std::string& text, const char* ending);

// Makes a path, or any text from a file or a user, printable on one line of a terminal. Control
// characters, including C1, and bytes that are not UTF-8 become '?'. The rest is unchanged.
std::string printable(const std::string& text);

// The same, at most 80 bytes long; "..." replaces the rest.
std::string shown(const std::string& text);

// A word quoted for sh: unchanged if possible, else in single quotes.
std::string shell_word(const std::string& word);

}  // namespace minigpt::tools
