// GPT-2's pattern: where text is cut into words before they are merged.
#pragma once

#include <cstddef>

namespace minigpt {

// The length of the first word of text ... end (text < end), at least 1: the first match of
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// (openai/gpt-2, encoder.py). A byte that is no part of a UTF-8 character counts as a character
// that is neither letter, number nor white space.
size_t word_length(const char* text, const char* end);

}  // namespace minigpt
