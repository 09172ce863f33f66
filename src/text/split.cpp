#include "text/split.h"

#include <cstdint>

#include "text/utf8.h"

namespace minigpt {
namespace {

// The classes of ASCII; kWide says that the table cannot tell.
constexpr unsigned char kWide = 0xff;

struct AsciiClasses {
    unsigned char of[256];

    constexpr AsciiClasses() : of() {
        for (int c = 0; c < 256; c++)
            of[c] = kWide;
        for (int c = 0; c < 0x80; c++)
            of[c] = kOther;
        for (int c = 'a'; c <= 'z'; c++)
            of[c] = of[c - 'a' + 'A'] = kLetter;
        for (int c = '0'; c <= '9'; c++)
            of[c] = kNumber;
        for (int c = '\t'; c <= '\r'; c++)
            of[c] = kSpace;
        of[int{' '}] = kSpace;
    }
};
constexpr AsciiClasses kAscii;

// The class of the character at p, and its length.
inline unsigned classify(const char* p, const char* end, size_t* length) {
    unsigned c = kAscii.of[static_cast<unsigned char>(*p)];
    *length = 1;
    if (c != kWide)
        return c;
    uint32_t code_point;
    size_t n = decode_utf8(p, end, &code_point);
    if (n == 0)
        return kOther;
    *length = n;
    return class_of(code_point);
}

// The length of 's 't 're 've 'm 'll 'd at p, which is an apostrophe; 0: none of them.
size_t contraction(const char* p, const char* end) {
    size_t left = static_cast<size_t>(end - p);
    if (left < 2)
        return 0;
    char a = p[1];
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    if (left < 3)
        return 0;
    char b = p[2];
    return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

}  // namespace

size_t word_length(const char* text, const char* end) {
    if (*text == '\'') {
        if (size_t n = contraction(text, end); n > 0)
            return n;
    }
    const char* p = text;
    size_t length;
    unsigned c = classify(p, end, &length);
    if (*p == ' ' && p + 1 < end) {
        size_t length_after;
        unsigned after = classify(p + 1, end, &length_after);
        if (after != kSpace) {
            c = after;
            length = length_after + 1;
        }
    }
    const char* last = p;  // where the last character of the run begins
    p += length;
    while (p < end) {
        unsigned here = kAscii.of[static_cast<unsigned char>(*p)];
        length = 1;
        if (here == kWide)
            here = classify(p, end, &length);
        if (here != c)
            break;
        last = p;
        p += length;
    }
    // White space before something else leaves its last character to it, if it has another.
    if (c == kSpace && p < end && last > text)
        p = last;
    return static_cast<size_t>(p - text);
}

}  // namespace minigpt
