// UTF-8, as JSON and vocabularies need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace minigpt::convert {

// The length of the well-formed sequence that p[0 ... n - 1] begins with (Unicode 15, table 3-7);
// 0 where it is none. n > 0.
size_t utf8_length(const unsigned char* p, size_t n);

// Whether all of it is well formed.
bool is_utf8(std::string_view text);

// Appends a code point (below 0x110000) to a UTF-8 string.
void append_utf8(uint32_t code, std::string* text);

// Reads the code point at text[*at ...], a valid UTF-8 string, and moves past it.
uint32_t next_code_point(const std::string& text, size_t* at);

}  // namespace minigpt::convert
