// GPT-2's pattern, which divides text into words before merging.
#pragma once

#include <cstddef>

namespace minigpt {

// Returns the length of the first word of text ... end (text < end), at least 1. The word is the
// first match of
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// (openai/gpt-2, encoder.py). A byte that is not part of a UTF-8 character counts as one character
// that is no letter, number or white space.
size_t word_length(const char* text, const char* end);

}  // namespace minigpt
