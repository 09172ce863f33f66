#include "common/utf8.h"

namespace minigpt::tools {

Utf8Piece utf8_piece(std::string_view text, size_t at) {
    auto byte = [&](size_t i) -> unsigned {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
    };
    const unsigned first = byte(0);
    if (first < 0x80)
        return {1, true};
    if (first < 0xc2 || first > 0xf4)
        return {1, false};
    const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    // No overlong forms, no surrogates, nothing past U+10FFFF.
    const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < low || byte(1) > high)
        return {1, false};
    size_t n = 2;
    while (n < length && (byte(n) & 0xc0) == 0x80)
        n++;
    return {n, n == length};
}

bool is_utf8(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        Utf8Piece piece = utf8_piece(text, at);
        if (!piece.is_valid)
            return false;
        at += piece.n_bytes;
    }
    return true;
}

void append_utf8(uint32_t code, std::string* text) {
    auto push = [&](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
        push(code);
    } else if (code < 0x800) {
        push(0xc0 | code >> 6);
        push(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        push(0xe0 | code >> 12);
        push(0x80 | (code >> 6 & 0x3f));
        push(0x80 | (code & 0x3f));
    } else {
        push(0xf0 | code >> 18);
        push(0x80 | (code >> 12 & 0x3f));
        push(0x80 | (code >> 6 & 0x3f));
        push(0x80 | (code & 0x3f));
    }
}

uint32_t next_code_point(const std::string& text, size_t* at) {
    unsigned char c = static_cast<unsigned char>(text[(*at)++]);
    if (c < 0x80)
        return c;
    size_t n_tail = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    uint32_t code = c & (0x3fu >> n_tail);
    for (; n_tail > 0 && *at < text.size(); n_tail--) {
        code = code << 6 | (static_cast<unsigned char>(text[(*at)++]) & 0x3f);
    }
    return code;
}

}  // namespace minigpt::tools
