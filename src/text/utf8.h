// UTF-8, and the character classes of GPT-2's pattern.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minigpt {

// The length and the code point of the character at text ... end (text < end). The length is 0 if
// the bytes are not a character: an overlong form, a surrogate, past U+10FFFF, or cut short.
size_t decode_utf8(const char* text, const char* end, uint32_t* code_point);

// What may follow a lead byte: the length of its characters (0: it is no lead byte), and the range
// of the second byte. This range rules out overlong forms, surrogates and code points that are too
// large. The bytes after that are 0x80 ... 0xbf.
struct LeadByte {
    unsigned char length, low, high;
};
LeadByte lead_byte(unsigned char byte);

// The classes of GPT-2's pattern: \p{L}, \p{N}, \s (the White_Space property), and the rest.
enum CharClass : unsigned char { kOther = 0, kLetter = 1, kNumber = 2, kSpace = 3 };

CharClass class_of(uint32_t code_point);

}  // namespace minigpt
