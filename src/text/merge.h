// Byte pair encoding of one word. Sennrich, Haddow, Birch 2016, "Neural Machine Translation of
// Rare Words with Subword Units"; over bytes as in GPT-2.
#pragma once

#include <cstddef>

#include "text/tables.h"

namespace minigpt {

// A word up to this length needs no memory but the stack.
constexpr size_t kShortWord = 256;

// Appends the tokens of word[0 ... n_bytes). As in GPT-2: while some pair of neighbours has a rank,
// all occurrences of the pair with the lowest rank are merged, from left to right.
//
// Time: n_bytes squared / 16 or so, up to kShortWord; for longer words n log n, and n if it has few
// different letters.
// Errors: bad_file, bad_argument (capacity), out_of_memory.
Status merge_word(const Tables& t, const char* word, size_t n_bytes, IdSink* sink);

// The two algorithms, for tests. Both give the same tokens. The first needs n_bytes <= kShortWord.
Status merge_short_word(const Tables& t, const char* word, size_t n_bytes, IdSink* sink);
Status merge_long_word(const Tables& t, const char* word, size_t n_bytes, IdSink* sink);

}  // namespace minigpt
