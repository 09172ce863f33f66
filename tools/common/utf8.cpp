#include "common/utf8.h"

namespace minigpt::convert {

size_t utf8_length(const unsigned char* p, size_t n) {
    auto tail = [&](size_t i, unsigned low, unsigned high) {
        return i < n && p[i] >= low && p[i] <= high;
    };
    unsigned c = p[0];
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c <= 0xdf)
        return tail(1, 0x80, 0xbf) ? 2 : 0;
    if (c >= 0xe0 && c <= 0xef) {
        bool ok = tail(1, c == 0xe0 ? 0xa0 : 0x80, c == 0xed ? 0x9f : 0xbf) && tail(2, 0x80, 0xbf);
        return ok ? 3 : 0;
    }
    if (c >= 0xf0 && c <= 0xf4) {
        bool ok = tail(1, c == 0xf0 ? 0x90 : 0x80, c == 0xf4 ? 0x8f : 0xbf) &&
                  tail(2, 0x80, 0xbf) && tail(3, 0x80, 0xbf);
        return ok ? 4 : 0;
    }
    return 0;
}

bool is_utf8(std::string_view text) {
    const unsigned char* p = reinterpret_cast<const unsigned char*>(text.data());
    for (size_t at = 0, n; at < text.size(); at += n) {
        n = utf8_length(p + at, text.size() - at);
        if (n == 0)
            return false;
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

}  // namespace minigpt::convert
