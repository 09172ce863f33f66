// UTF-8 for JSON and vocabularies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace minigpt::tools {

// The next piece of a text: a well-formed sequence (Unicode 15, table 3-7), or else the longest
// beginning of one, at least one byte: a maximal subpart (table 3-8).
struct Utf8Piece {
    size_t n_bytes;
    bool is_valid;
};
Utf8Piece utf8_piece(std::string_view text, size_t at);  // at < text.size()

// Whether the whole text is well-formed.
bool is_utf8(std::string_view text);

// Appends a code point (below 0x110000) to a UTF-8 string.
void append_utf8(uint32_t code, std::string* text);

// Reads the code point at text[*at ...], a valid UTF-8 string, and moves past it.
uint32_t next_code_point(const std::string& text, size_t* at);

}  // namespace minigpt::tools
